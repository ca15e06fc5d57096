"""Training: play, learn, evaluate, save; until the recipe's updates are done.

One thread and one die, so that equal recipes give equal bytes, also when a run was interrupted and resumed. (A resumed
run that raises `updates` goes on from where it stood, on the longer schedule.) The clock is passed in, and nothing
depends on it but `seconds`.
"""

import contextlib
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec

from orchestrace.envs import Grade, by_name
from orchestrace.errors import InterruptedWork
from orchestrace.training import checkpoints, run_folder
from orchestrace.training._torch import torch
from orchestrace.training.evaluation import Trained, exact_gaps, judged
from orchestrace.training.learner import Figures
from orchestrace.training.policies import View, check_fits
from orchestrace.training.recipe import Recipe, changed, labels
from orchestrace.training.result import Result, document
from orchestrace.training.run_state import Arena, Run, advance, captured, restore, started, tables
from orchestrace.training.stack import MakeEnv, environments, stack


class Progress(NamedTuple):
    """How far a run is, after an update."""

    update: int
    updates: int
    decisions: int
    gap_closed: Mapping[str, float | None]
    """By setting, exact, of the policy as it sampled at the last evaluation or when this call began; None: no gap."""


def train(
    recipe: Recipe,
    run_dir: Path,
    *,
    clock: Callable[[], float],
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    make_env: MakeEnv = by_name,
) -> Result:
    """Train a policy, keeping the run in a folder as it goes.

    Args:
      recipe: what to train.
      run_dir: the run's folder; made if it is missing.
      clock: seconds, for `Result.seconds`.
      resume: go on with the run in `run_dir`; without it, a folder that holds a run is refused. A run that has made all
        of its updates is judged again, and keeps the seconds of its result.
      progress: called after every update.
      make_env: how to make the environment from its name and parameters.

    Raises:
      InputError: the folder cannot be used, or its checkpoints cannot be read.
      RecipeError: the recipe does not fit its environment or the run in the folder, or training diverged by it.
      InterruptedWork: Ctrl-C. Between updates one comes at once; within one, after it. What was done is kept. A second
        Ctrl-C does not wait, and loses what was done since the last checkpoint.
    """
    began = clock()
    with _one_thread():
        run = _started(recipe, make_env=make_env)
        corrupt = _reopen(run, run_dir, make_env=make_env) if resume else _begin(run, run_dir)
        taken = run_folder.seconds(run_dir) if run.update == recipe.updates else None
        try:
            with _deferred_interrupt() as interrupted:
                _learn(run, run_dir, progress=progress or _silent, interrupted=interrupted)
            result = _result(run, _trained(run, run_dir), corrupt=corrupt)
        except KeyboardInterrupt:
            raise _kept(run, run_dir) from None
    result = msgspec.structs.replace(result, seconds=clock() - began if taken is None else taken)
    run_folder.write_result(run_dir, document(result))
    return result


def trained(
    run_dir: Path,
    overrides: Mapping[str, float] | None = None,
    *,
    grade: Grade = "outcome",
    make_env: MakeEnv = by_name,
) -> Trained:
    """The policy that a run has kept, finished or not.

    Args:
      run_dir: the run's folder.
      overrides: parameters of the environment to judge it under, in place of those it was trained with: another size
        of the team, another horizon.
      grade: what the environments pay that it is judged in.
      make_env: how to make the environment.

    Raises:
      InputError: there is no run in the folder, or it cannot be read.
      RecipeError: no such parameter, or the policy cannot act there.
    """
    recipe = run_folder.begun_with(run_dir, make_env=make_env)
    run = _started(recipe, make_env=make_env)
    restore(run, checkpoints.find(run_dir).checkpoint)
    run.recipe = changed(recipe, overrides or {})
    elsewhere = stack(environments(run.recipe, grade=grade, make_env=make_env, judged=True))
    check_fits(run.learner.networks, elsewhere)
    run.arena = Arena(elsewhere, View(elsewhere))
    return _trained(run, run_dir)


def _learn(run: Run, run_dir: Path, *, progress: Callable[[Progress], None], interrupted: Callable[[], bool]) -> None:
    last = run.recipe.updates
    gaps = _gaps(run)
    while run.update < last:
        figures = advance(run)
        if run.update % run.recipe.eval.every == 0 or run.update == last:
            gaps = _evaluate(run, run_dir, figures)
        progress(Progress(run.update, last, run.decisions, gaps))
        if interrupted():
            raise KeyboardInterrupt


def _evaluate(run: Run, run_dir: Path, figures: Figures) -> Mapping[str, float | None]:
    """A row of the curve, then the checkpoint that knows of it."""
    gaps = _gaps(run)
    row = {"update": run.update, "decisions": run.decisions, "gap_closed": gaps, **figures}
    run_folder.append_row(run_dir, row)
    run.rows += 1
    checkpoints.save(captured(run), run_dir)
    return gaps


def _gaps(run: Run) -> Mapping[str, float | None]:
    return dict(zip(labels(run.recipe), exact_gaps(run.arena.stack.envs, tables(run)), strict=True))


def _started(recipe: Recipe, *, make_env: MakeEnv) -> Run:
    grade = recipe.rollouts.grade
    learns_in = stack(environments(recipe, grade=grade, make_env=make_env), grade=grade)
    if recipe.rollouts.grade == "outcome" and not recipe.eval.grid:
        return started(recipe, learns_in, learns_in)
    return started(recipe, learns_in, stack(environments(recipe, make_env=make_env, judged=True)))


def _begin(run: Run, run_dir: Path) -> int:
    """Start a run in its folder; there is no corrupt checkpoint to pass over yet."""
    run_folder.begin(run_dir, run.recipe)
    _evaluate(run, run_dir, {})
    return 0


def _reopen(run: Run, run_dir: Path, *, make_env: MakeEnv) -> int:
    """Bring a run to where its folder has it; returns the corrupt checkpoints passed over."""
    run_folder.reopen(run_dir, run.recipe, make_env=make_env)
    found = checkpoints.find(run_dir)
    restore(run, found.checkpoint)
    if found.corrupt:
        checkpoints.discard_corrupt(run_dir)
    run_folder.keep_rows(run_dir, run.rows)
    return found.corrupt


def _kept(run: Run, run_dir: Path) -> InterruptedWork:
    if run.whole:
        checkpoints.save(captured(run), run_dir)
    at = checkpoints.find(run_dir).checkpoint.note["update"]
    go_on = f"orchestrace train --resume {shlex.quote(str(run_dir))}"
    return InterruptedWork(f"{at} of {run.recipe.updates} updates are kept in {run_dir}; go on with: {go_on}")


def _result(run: Run, policy: Trained, *, corrupt: int) -> Result:
    counts = {"cut_episodes": run.cut_episodes, "corrupt_checkpoints": corrupt}
    return judged(policy, episodes=run.recipe.eval.episodes, seed=run.recipe.seed, diagnostics=counts)


def _trained(run: Run, run_dir: Path) -> Trained:
    return Trained(
        recipe=run.recipe,
        envs=run.arena.stack.envs,
        tables=tuple(tables(run)),
        updates=run.update,
        decisions=run.decisions,
        run_dir=str(run_dir),
    )


def _silent(progress: Progress) -> None:
    del progress


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    # Sums in another order are other sums: one thread gives the same bytes on any number of cores.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Within: the first Ctrl-C only raises the flag that is yielded, the second acts at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set  # only the main thread gets signals
        return
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def note(number: int, frame: FrameType | None) -> None:
        del number, frame
        asked.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
