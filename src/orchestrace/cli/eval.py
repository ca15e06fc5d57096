"""`orchestrace eval`: judge a policy that exists."""

from pathlib import Path

import click
import msgspec

from orchestrace.cli.draw.learning import draw_training
from orchestrace.cli.env import numbers
from orchestrace.cli.files import GivenPath
from orchestrace.cli.screen import show_json
from orchestrace.envs import by_name
from orchestrace.errors import InputError


@click.command("eval")
@click.argument("run", required=False, type=GivenPath())
@click.option("--policy", metavar="NAME", help="A hand-made policy by name, instead of a run; see env solve.")
@click.option("--env", "env_", metavar="NAME", help="With --policy: the environment.")
@click.option("--set", "assignments", multiple=True, metavar="K=V", help="With --policy: a setting of it.")
@click.option("--episodes", type=click.IntRange(min=2), default=100_000, show_default=True, help="To simulate.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Starts the simulation's dice.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def evaluate(
    *,
    run: Path | None,
    policy: str | None,
    env_: str | None,
    assignments: tuple[str, ...],
    episodes: int,
    seed: int,
    as_json: bool,
) -> None:
    """Judge the policy of RUN, or with --policy a hand-made one, beside the optimum and the baselines."""
    if (run is None) == (policy is None):
        raise click.UsageError("give the folder of a run, or --policy NAME --env NAME")
    if run is not None:
        from orchestrace.training import judged
        from orchestrace.training.loop import trained

        document = msgspec.to_builtins(judged(trained(run), episodes=episodes, seed=seed))
    else:
        if env_ is None:
            raise click.UsageError("--policy needs --env NAME")
        document = _hand_made(str(policy), env_, numbers(assignments))
    if as_json:
        show_json(document)
    else:
        draw_training(document)


def _hand_made(policy: str, env: str, settings: dict[str, float]) -> dict[str, object]:
    """The exact value of a baseline: nothing to simulate."""
    judged = by_name(env, settings)
    null, best = judged.null(), judged.optimal_value()
    values = {"optimal": best, "null": null.value, **judged.baselines()}
    if policy not in values:
        raise InputError(f"there is no policy {policy!r}", place="--policy", remedy=f"known: {', '.join(values)}")
    value = values[policy]
    gap = (value - null.value) / (best - null.value) if best > null.value else None
    return {
        "env": env, "policy": policy, "algorithm": "none", "updates": 0, "decisions": 0, "episodes": 0,
        "value": value, "value_ci": (value, value), "optimum": best, "null_value": null.value,
        "gap_closed": gap, "gap_closed_ci": (gap, gap), "baselines": dict(judged.baselines()), "seconds": 0.0,
    }  # fmt: skip
