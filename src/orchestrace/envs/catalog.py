"""Every environment by its name on the command line and in recipes."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from orchestrace.envs.aggregate import estimates, many_options, weighted_vote
from orchestrace.envs.communicate import message_length, messages, reporting, what_to_include
from orchestrace.envs.delegate import assignment, bandit, cascade, sequential_assignment
from orchestrace.envs.joint import batch_voting, briefing, inquiry
from orchestrace.envs.parameters import Parameter, complete, nearest
from orchestrace.envs.protocol import Env
from orchestrace.envs.spawn import makespan, spawn_or_not, split, stages
from orchestrace.envs.stop import pandora, repair, search, secretary, sequential_voting, unknown_voters
from orchestrace.envs.table_env import Grade
from orchestrace.errors import RecipeError


class Entry(NamedTuple):
    """One environment of the catalog."""

    make: Callable[..., Env]
    """Takes every setting, and `grade`."""
    parameters: Mapping[str, Parameter]
    about: str


ENVIRONMENTS: Mapping[str, Entry] = {
    "assignment": Entry(
        assignment.assignment,
        assignment.PARAMETERS,
        "E2a (O2): which agent does which job, all agents choosing at once",
    ),
    "bandit": Entry(
        bandit.bandit,
        bandit.PARAMETERS,
        "E2d (O2): whom to give each task while it is not known who is good",
    ),
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
    "cascade": Entry(
        cascade.cascade,
        cascade.PARAMETERS,
        "E2c (O2, O5): whom to try next, and when to give up",
    ),
    "estimates": Entry(
        estimates.estimates,
        estimates.PARAMETERS,
        "E4d (O4): how to combine numbers from agents who err alike",
    ),
    "inquiry": Entry(
        inquiry.inquiry,
        inquiry.PARAMETERS,
        "E6 (O1 to O5): all five decisions in one episode",
    ),
    "makespan": Entry(
        makespan.makespan,
        makespan.PARAMETERS,
        "E1b (O1): which jobs to put on which agent, to be done early",
    ),
    "many-options": Entry(
        many_options.many_options,
        many_options.PARAMETERS,
        "E4b (O4): one of K answers from voters of different competence",
    ),
    "message-length": Entry(
        message_length.message_length,
        message_length.PARAMETERS,
        "E3b (O3): how many bits a report may have",
    ),
    "messages": Entry(
        messages.messages,
        messages.PARAMETERS,
        "E3a (O3): whose message is worth its price",
    ),
    "pandora": Entry(
        pandora.pandora,
        pandora.PARAMETERS,
        "E5a (O2, O5): which attempt to order next, and when the best is good enough",
    ),
    "repair": Entry(
        repair.repair,
        repair.PARAMETERS,
        "E5e (O3, O5): repair, check or stop, when a repair can break what works",
    ),
    "reporting": Entry(
        reporting.reporting,
        reporting.PARAMETERS,
        "E3c (O3): when to report, if a report has a price",
    ),
    "search": Entry(
        search.search,
        search.PARAMETERS,
        "E5b (O5): when to accept an offer that will not come back",
    ),
    "secretary": Entry(
        secretary.secretary,
        secretary.PARAMETERS,
        "E5b (O5): when to take the best so far, by ranks alone",
    ),
    "sequential-assignment": Entry(
        sequential_assignment.sequential_assignment,
        sequential_assignment.PARAMETERS,
        "E2b (O2): whom to give the task at hand while the next ones are not known",
    ),
    "sequential-voting": Entry(
        sequential_voting.sequential_voting,
        sequential_voting.PARAMETERS,
        "E5c (O5): when to stop asking voters of known competence",
    ),
    "spawn-or-not": Entry(
        spawn_or_not.spawn_or_not,
        spawn_or_not.PARAMETERS,
        "E1d (O1): whether to spawn for a task that may not split",
    ),
    "split": Entry(
        split.split,
        split.PARAMETERS,
        "E1a (O1): how many agents to spawn for a task of known size",
    ),
    "stages": Entry(
        stages.stages,
        stages.PARAMETERS,
        "E1c (O1): which jobs to run together when each stage waits for its longest",
    ),
    "unknown-voters": Entry(
        unknown_voters.unknown_voters,
        unknown_voters.PARAMETERS,
        "E5d (O5): when to stop asking voters of unknown competence",
    ),
    "weighted-vote": Entry(
        weighted_vote.weighted_vote,
        weighted_vote.PARAMETERS,
        "E4a, E4c, E4e (O4): answer or abstain, from voters some of whom are copies",
    ),
    "what-to-include": Entry(
        what_to_include.what_to_include,
        what_to_include.PARAMETERS,
        "E3d (O3): which facts go into a message of limited length",
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
