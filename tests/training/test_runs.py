"""Runs: equal recipes give equal bytes, also through an interruption; damage is told, not raised."""

import itertools
import json
import signal
import subprocess
import sys
import time

import pytest

from orchestrace.envs import by_name
from orchestrace.errors import InputError, InterruptedWork, RecipeError
from orchestrace.training import judged, parse
from orchestrace.training.evaluation import Estimate, alarm
from orchestrace.training.loop import train, trained

RECIPE = """
env = "batch-voting"
settings = [{cr = 0.02, ct = 0.005}, {cr = 0.1, ct = 0.01}]
updates = 7
[rollouts]
episodes = 64
[policy]
hidden = 8
[reinforce]
group = 32
[eval]
episodes = 200
every = 3
"""

TEAM_RECIPE = RECIPE.replace("batch-voting", "assignment").replace(RECIPE.splitlines()[2], "")
SINGLE = (
    *("anchor-tb", "dpo", "grpo", "parl", "ppo", "reinforce", "rlhf", "stop"),
    *("stop stop.mode=gradient", "stop stop.mode=snell"),
)
"""Algorithms for one orchestrator, each with its overrides."""
TEAM = ("coma", "maddpg", "mappo", "qmix")
"""Algorithms for agents that act at once."""


def run(folder, *, algorithm="ppo", updates=7, **more):
    name, *overrides = algorithm.split()
    recipe = parse(TEAM_RECIPE if name in TEAM else RECIPE, [f"algorithm={name}", f"updates={updates}", *overrides])
    ticks = itertools.count()
    return train(recipe, folder, clock=lambda: float(next(ticks)), **more)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("algorithm", SINGLE + TEAM)
def test_equal_recipes_give_equal_bytes(tmp_path, algorithm):
    run(tmp_path / "a", algorithm=algorithm)
    run(tmp_path / "b", algorithm=algorithm)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("algorithm", SINGLE + TEAM)
@pytest.mark.parametrize("at", [1, 3, 5])
def test_an_interrupted_run_resumes_to_the_same_bytes(tmp_path, algorithm, at):
    whole = run(tmp_path / "whole", algorithm=algorithm)

    def interrupt(progress):
        if progress.update == at:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedWork, match=f"{at} of 7 updates are kept"):
        run(tmp_path / "cut", algorithm=algorithm, progress=interrupt)
    resumed = run(tmp_path / "cut", algorithm=algorithm, resume=True)
    whole_files, cut_files = contents(tmp_path / "whole"), contents(tmp_path / "cut")
    assert cut_files["checkpoint.npz"] == whole_files["checkpoint.npz"]
    assert cut_files["curve.jsonl"] == whole_files["curve.jsonl"]
    assert cut_files["recipe.toml"] == whole_files["recipe.toml"]
    results = [json.loads(files["result.json"]) for files in (whole_files, cut_files)]
    for result in results:
        result.pop("seconds", None)
    assert results[0] == results[1]
    assert resumed.exact_value == whole.exact_value


def test_a_signal_keeps_the_work(tmp_path):
    (tmp_path / "r.toml").write_text(RECIPE)
    words = ["train", "r.toml", "--set", "updates=100000", "--out", "out"]
    child = subprocess.Popen(
        [sys.executable, "-c", "from orchestrace.cli.main import main; main()", *words],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "checkpoint.previous.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "are kept in out; go on with: orchestrace train --resume out\n" in said
    assert "Traceback" not in said


def test_a_run_is_not_overwritten(tmp_path):
    run(tmp_path / "a")
    with pytest.raises(InputError, match="holds a run already"):
        run(tmp_path / "a")


def test_another_recipe_does_not_resume(tmp_path):
    run(tmp_path / "a")
    with pytest.raises(RecipeError, match="algorithm"):
        run(tmp_path / "a", algorithm="reinforce", resume=True)
    with pytest.raises(RecipeError, match="updates"):
        run(tmp_path / "a", updates=3, resume=True)
    with pytest.raises(InputError, match="holds no run"):
        run(tmp_path / "b", resume=True)


def test_a_finished_run_keeps_its_seconds(tmp_path):
    first = run(tmp_path / "a")
    before = contents(tmp_path / "a")
    ticks = itertools.count(step=1000)
    recipe = parse(RECIPE, ["algorithm=ppo", "updates=7"])
    again = train(recipe, tmp_path / "a", clock=lambda: float(next(ticks)), resume=True)
    assert again.seconds == first.seconds
    assert contents(tmp_path / "a") == before
    (tmp_path / "a" / "result.json").write_text('{"seconds": null}')
    assert train(recipe, tmp_path / "a", clock=lambda: float(next(ticks)), resume=True).seconds == 1000.0


def test_more_updates_go_on(tmp_path):
    run(tmp_path / "a")
    assert run(tmp_path / "a", updates=9, resume=True).updates == 9


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_corrupt_checkpoint_gives_way_to_the_one_before(tmp_path, damage):
    run(tmp_path / "a", updates=7)
    newest = tmp_path / "a" / "checkpoint.npz"
    data = bytearray(newest.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 255
    newest.write_bytes(b"" if damage == "empty" else bytes(data[: len(data) // 2] if damage == "truncate" else data))
    result = run(tmp_path / "a", resume=True)
    assert result.diagnostics["corrupt_checkpoints"] == 1
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        (tmp_path / "a" / name).write_bytes(b"nonsense")
    with pytest.raises(InputError, match="truncated or corrupt"):
        run(tmp_path / "a", resume=True)


def test_the_result_keeps_the_contract(tmp_path):
    result = run(tmp_path / "a")
    for key in ("value", "value_ci", "optimum", "null_value", "gap_closed", "gap_closed_ci"):
        assert set(getattr(result, key)) == {"cr=0.02,ct=0.005", "cr=0.1,ct=0.01"}
    assert all(set(values) == set(result.value) for values in result.baselines.values())
    for setting, exact in result.exact_value.items():
        low, high = result.value_ci[setting]
        assert low - (high - low) <= exact <= high + (high - low)
        assert exact <= result.optimum[setting] + 1e-9
    assert not result.alarm
    one = train(
        parse('env = "sequential-voting"\nupdates = 1\n[eval]\nepisodes = 100\n[rollouts]\nepisodes = 64'),
        tmp_path / "b", clock=lambda: 0.0,
    )  # fmt: skip
    assert isinstance(one.value, float)


def test_a_policy_too_good_to_be_true_raises_the_alarm(tmp_path):
    class Generous:
        def __init__(self, env):
            self.env = env

        def __getattr__(self, name):
            return getattr(self.env, name)

        def optimal_value(self):
            return 0.51

        def exact_value(self, policy):
            return self.env.exact_value(policy) + 1.0

    run(tmp_path / "a")
    policy = trained(tmp_path / "a", make_env=lambda *a, **k: Generous(by_name(*a, **k)))
    assert judged(policy, episodes=100, seed=0).alarm


def test_noise_raises_no_alarm_and_a_fresh_look_confirms_one():
    env, high, level = by_name("sequential-voting"), Estimate(0.95, 0.01, 5_000), Estimate(0.87, 0.01, 5_000)
    best = env.optimal_value()
    assert alarm(env, exact=best, simulated=[high, high])
    assert alarm(env, exact=best, simulated=[high, level]) is None
    assert alarm(env, exact=best, simulated=[Estimate(0.95, 0.01, 100)]) is None  # too few to say
    assert alarm(env, exact=best + 0.001, simulated=[level])


def test_numbers_that_leave_the_finite_are_told(tmp_path):
    recipe = parse(RECIPE, ["optimiser.rate=1e30"])
    with pytest.raises(RecipeError, match=r"optimiser.rate: training diverged at update \d"):
        train(recipe, tmp_path / "a", clock=lambda: 0.0)


def test_a_folder_that_holds_no_run(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        trained(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be a run's folder"):
        run(tmp_path / "file" / "a")


def test_without_torch_the_remedy_is_named():
    code = "import sys; sys.modules['torch'] = None; import orchestrace.training; import orchestrace.training.loop"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith('training needs torch; pip install "orchestrace[train]"')


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path):
    """Killed between a row of the curve and its checkpoint: the row is written again, once."""
    run(tmp_path / "whole")
    run(tmp_path / "cut")
    folder = tmp_path / "cut"
    (folder / "checkpoint.previous.npz").replace(folder / "checkpoint.npz")
    (folder / "curve.jsonl").write_bytes((folder / "curve.jsonl").read_bytes() + b'{"upd')
    (folder / "result.json").unlink()
    run(folder, resume=True)
    for name in ("checkpoint.npz", "curve.jsonl", "recipe.toml"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_curve_that_lost_rows_is_told(tmp_path):
    run(tmp_path / "a")
    (tmp_path / "a" / "curve.jsonl").write_text("")
    with pytest.raises(InputError, match="has 0 rows"):
        run(tmp_path / "a", resume=True)


def test_a_finished_run_is_judged_again_to_the_same_result(tmp_path):
    first = run(tmp_path / "a")
    again = judged(trained(tmp_path / "a"), episodes=200, seed=0)
    assert again.value == first.value
    assert again.run_dir == str(tmp_path / "a")
