"""Every environment by its name on the command line and in recipes."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from orchestrace.envs.joint import batch_voting, briefing
from orchestrace.envs.parameters import Parameter, complete, nearest
from orchestrace.envs.protocol import Env
from orchestrace.envs.stop import pandora, sequential_voting, unknown_voters
from orchestrace.envs.table_env import Grade
from orchestrace.errors import RecipeError


class Entry(NamedTuple):
    """One environment of the catalog."""

    make: Callable[..., Env]
    """Takes every setting, and `grade`."""
    parameters: Mapping[str, Parameter]
    about: str


ENVIRONMENTS: Mapping[str, Entry] = {
    "batch-voting": Entry(
        batch_voting.batch_voting,
        batch_voting.PARAMETERS,
        "E5f (O1, O5): how many voters to ask at once, and when to stop",
    ),
    "briefing": Entry(
        briefing.briefing,
        briefing.PARAMETERS,
        "Ours (O1, O2, O5): look before you delegate; where orchestrators collapse",
    ),
    "pandora": Entry(
        pandora.pandora,
        pandora.PARAMETERS,
        "E5a (O2, O5): which attempt to order next, and when the best is good enough",
    ),
    "sequential-voting": Entry(
        sequential_voting.sequential_voting,
        sequential_voting.PARAMETERS,
        "E5c (O5): when to stop asking voters of known competence",
    ),
    "unknown-voters": Entry(
        unknown_voters.unknown_voters,
        unknown_voters.PARAMETERS,
        "E5d (O5): when to stop asking voters of unknown competence",
    ),
}
NAMES: tuple[str, ...] = tuple(ENVIRONMENTS)


def by_name(name: str, settings: Mapping[str, float] | None = None, *, grade: Grade = "outcome") -> Env:
    """The environment of that name; settings not given have their defaults.

    Args:
      name: one of `NAMES`.
      settings: values by parameter key; see `ENVIRONMENTS[name].parameters`.
      grade: what `step` pays for an answer: `outcome` (right or wrong, sampled) or `posterior` (its mean).

    Raises:
      RecipeError: no such environment or setting, or a value out of range.
    """
    if name not in ENVIRONMENTS:
        raise RecipeError(f"there is no environment {name!r}", place="env", remedy=nearest(name, ENVIRONMENTS))
    if grade not in ("outcome", "posterior"):
        raise RecipeError(f"{grade!r} is neither 'outcome' nor 'posterior'", place="grade")
    entry = ENVIRONMENTS[name]
    return entry.make(complete(settings or {}, entry.parameters), grade=grade)
