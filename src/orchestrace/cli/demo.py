"""`orchestrace demo`: the whole path, on a session that ships with the package.

Import a made-up session in the shape of a real Claude Code log, report on it, train an orchestrator whose optimum is
known, and show how close it came. The session does not enter the training.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.text import Text

from orchestrace.adapters import Read, read_path
from orchestrace.cli.demo_folder import RUN, claimed
from orchestrace.cli.draw.learning import training_parts
from orchestrace.cli.draw.session import session as session_parts
from orchestrace.cli.files import GivenPath, write
from orchestrace.cli.progress import training_progress
from orchestrace.cli.screen import ascii_only, results, said, show_json
from orchestrace.errors import InputError
from orchestrace.report import report
from orchestrace.trace import encode
from orchestrace.training import Recipe, load
from orchestrace.viewer import MADE_UP, Episode, Session, demo_page

EPISODES = 3
"""Episodes of each setting that are kept as traces."""
SESSION = Path(__file__).with_name("demo_session")
_RECIPE = Path("recipes", "batch-voting.toml")


@click.command()
@click.option("--out", type=GivenPath(), default=Path("orchestrace-demo"), show_default=True,
              help="Folder to write; a demo's own is overwritten.")  # fmt: skip
@click.option("--updates", type=click.IntRange(min=1), help="Updates to train for.  [default: the recipe's]")
@click.option("--seed", type=click.IntRange(min=0), help="Starts every die of the training.  [default: the recipe's]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: {report, training, files}.")
def demo(*, out: Path, updates: int | None, seed: int | None, as_json: bool) -> None:
    """Report on a made-up session, then train an orchestrator.

    The session is invented by us, in the shape of a real Claude Code log; give `orchestrace report` one of your own.
    The training is apart from it, on an environment whose optimum is known. Takes about a minute on two cores. Nothing
    leaves this machine.
    """
    recipe = shipped_recipe(updates=updates, seed=seed)
    session = shipped_session()
    folder = claimed(out)
    files: dict[str, Any] = {"session": write(folder / "session.json", encode(session.trace))}
    files["page"] = write(folder / "index.html", demo_page(session).encode("utf-8", "replace"))
    if not as_json:
        _show_report(session)
    training = _trained(recipe, folder / RUN)
    episodes = list(_episodes(folder / RUN, seed=recipe.seed))
    files["episodes"] = [write(folder / "episodes" / f"{e.trace.trace_id}.json", encode(e.trace)) for e in episodes]
    page = demo_page(session, training=training, curve=_curve(folder / RUN), episodes=episodes[:1])
    files["page"] = write(folder / "index.html", page.encode("utf-8", "replace"))
    files["run"] = folder / RUN
    files["result"] = folder / "result.json"
    done = {"report": msgspec.to_builtins(session.report), "training": training, "files": _named(files)}
    write(folder / "result.json", (json.dumps(done, indent=2, allow_nan=False) + "\n").encode())
    if as_json:
        show_json(done)
    else:
        _show_training(training, files)


def shipped_session() -> Session:
    """The made-up session that ships with the package, imported, with its report.

    Raises:
      InputError: the installation lacks it.
    """
    reads = [read for read in read_path(SESSION) if isinstance(read, Read)] if SESSION.is_dir() else []
    if not reads:
        raise InputError("holds no session", path=str(SESSION), remedy="install orchestrace again")
    return Session(report(reads[0].trace, blobs=reads[0].blobs), reads[0].trace)


def shipped_recipe(*, updates: int | None = None, seed: int | None = None) -> Recipe:
    """The recipe of the demo: inside the package where it is installed, at the root of a checkout.

    Raises:
      InputError: the installation lacks it.
    """
    package = Path(__file__).parents[1]
    places = (package / _RECIPE, package.parents[1] / _RECIPE)
    path = next((place for place in places if place.is_file()), places[0])
    changed = {"updates": updates, "seed": seed}
    return load(path, [f"{key}={value}" for key, value in changed.items() if value is not None])


def _trained(recipe: Recipe, run: Path) -> dict[str, Any]:
    """Train under a progress bar; the JSON contract of `train`."""
    from orchestrace.training.loop import train  # tensors load here, after the report has been shown

    with training_progress(recipe.updates) as advance:
        result = train(recipe, run, clock=time.monotonic, progress=lambda at: advance(at.update, at.gap_closed))
    training: dict[str, Any] = msgspec.to_builtins(result)
    return training


def _episodes(run: Path, *, seed: int) -> Iterator[Episode]:
    """Episodes of the learned policy as traces, some of each setting; the first is one that tells something."""
    import numpy as np

    from orchestrace.training import labels
    from orchestrace.training.loop import trained

    policy = trained(run)
    drawn = []
    for place, (label, env, table) in enumerate(zip(labels(policy.recipe), policy.envs, policy.tables, strict=True)):
        for n in range(EPISODES):
            rng = np.random.default_rng([seed, 2, place, n])
            name = label.replace("=", "").replace(",", "-")
            trace = env.episode(table, rng=rng, trace_id=f"{env.name}-{name}-{n}")
            drawn.append(Episode(f"{env.name}, {label}", report(trace), trace))
    # More than one round shows what stopping is about; a page shows one episode.
    yield from sorted(drawn, key=lambda episode: -min(episode.trace.costs.get("rounds", 0.0), 2.0))


def _curve(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "curve.jsonl").read_text("utf-8").splitlines()]


def _named(files: dict[str, Any]) -> dict[str, Any]:
    return {name: [str(p) for p in path] if isinstance(path, list) else str(path) for name, path in files.items()}


def _show_report(session: Session) -> None:
    console = results()
    console.print(Text(MADE_UP, style="dim"))
    console.print()
    for part in session_parts(session.report, session.trace, width=console.width, ascii_only=ascii_only(console)):
        console.print(part)


def _show_training(training: dict[str, Any], files: dict[str, Any]) -> None:
    console = results()
    console.print(Text("Learning when to spawn and when to stop", style="bold underline"))
    console.print(
        "A question, and voters who are right 7 times in 10. A round has a price (cr), a voter too (ct).\n"
        "One policy for three settings of the prices, learned from simulated episodes; the session above has\n"
        "no part in it. Gap closed: 0 is the best policy that always does the same, 1 is the optimum.\n"
    )
    for part in training_parts(training, width=console.width):
        console.print(part)
    console.print()
    console.print(Text("Written", style="bold underline"))
    for path, what in (
        (files["page"], "open it in a browser: the report, the learning curve, an episode"),
        (files["session"], "the session as a trace"),
        (
            files["episodes"][0].parent,
            f"{len(files['episodes'])} episodes of the learned policy as traces; try orchestrace credit on them",
        ),
        (files["run"], "recipe, curve, checkpoints; try orchestrace eval on it"),
    ):
        console.print(said(f"  {path}", "bold"))
        console.print(Text(f"      {what}", style="dim"))
