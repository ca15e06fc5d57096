"""`orchestrace demo`: the whole path, with few updates."""

import json
from pathlib import Path

import pytest

from cli.command import refused, run
from orchestrace.cli.demo import shipped_recipe, shipped_session
from orchestrace.cli.demo_folder import MARK, claimed
from orchestrace.cli.progress import training_progress
from orchestrace.trace import decode, violations
from orchestrace.trace.views import spawn_tree
from orchestrace.viewer import MADE_UP, standings
from viewer.markup_of import loads


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    done = run("demo", "--updates", 2, "--out", folder, "--json")
    assert done.code == 0, done.err
    return folder, done


def test_without_a_terminal_training_says_now_and_then_how_far_it_is(capsys):
    now = 0.0
    with training_progress(300, clock=lambda: now) as advance:
        for update in range(1, 301):
            now = update / 10
            advance(update, {"a": 0.5, "b": None, "c": 0.25})
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"orchestrace: training: {n} of 300 updates, gap closed 0.500 0.250" for n in (100, 200, 300)
    ]  # fmt: skip


def test_the_exact_gap_stands_beside_the_simulated_one(demo):
    exact, simulated = standings(demo[1].json["training"])[1:3]
    assert (exact.name, simulated.name) == ("learned (ppo)", "the same, simulated")
    assert [cell.gap_closed for cell in exact.cells] == [*demo[1].json["training"]["exact_gap_closed"].values()]
    assert all(cell.gap_closed_ci is None for cell in exact.cells)
    assert all(cell.gap_closed_ci is not None for cell in simulated.cells)


def test_the_contract(demo):
    folder, done = demo
    assert set(done.json) == {"report", "training", "files"}
    assert set(done.json["training"]["gap_closed_ci"]) == {
        "cr=0.02,ct=0.005", "cr=0.05,ct=0.002", "cr=0.1,ct=0.01",
    }  # fmt: skip
    assert set(done.json["training"]["baselines"]) >= {"serial-only", "best-one-shot", "tuned-threshold"}
    assert json.loads((folder / "result.json").read_text()) == done.json
    for named in done.json["files"].values():
        for path in named if isinstance(named, list) else [named]:
            assert (folder / path).exists() or folder.joinpath(path).exists()


def test_every_episode_obeys_the_laws(demo):
    folder, done = demo
    assert len(done.json["files"]["episodes"]) == 9
    for path in done.json["files"]["episodes"]:
        trace = decode(Path(path).read_bytes())
        assert violations(trace) == []
        assert trace.native
    assert violations(decode((folder / "session.json").read_bytes())) == []


def test_the_page_holds_curve_table_and_lanes_and_loads_nothing(demo):
    page = (demo[0] / "index.html").read_text()
    assert page.count("<svg") >= 3
    for part in (MADE_UP, "Gap closed", "learned (ppo)", "tuned threshold", "An episode of the learned policy"):
        assert part in page
    assert loads(page) == []


def test_a_demo_overwrites_its_own_folder_and_no_other(demo, tmp_path):
    folder, first = demo
    again = run("demo", "--updates", 2, "--out", folder, "--json")
    assert again.code == 0
    for figure in ("value", "exact_value", "gap_closed_ci"):
        assert again.json["training"][figure] == first.json["training"][figure]
    (tmp_path / "mine.txt").write_text("precious")
    assert "no demo wrote" in refused("demo", "--updates", 1, "--out", tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert "mine.txt" in refused("demo", "--updates", 1, "--out", tmp_path / "mine.txt")


def test_for_a_person(tmp_path):
    done = run("demo", "--updates", 1, "--out", tmp_path / "d")
    assert done.out.startswith(MADE_UP)
    for part in ("Team", "Critical path", "Learning when to spawn", "best one shot", "index.html"):
        assert part in done.out


def test_a_folder_of_an_older_demo_is_still_a_demos_own(tmp_path):
    claimed(tmp_path / "d")
    mark = tmp_path / "d" / MARK
    mark.write_text(mark.read_text().splitlines(keepends=True)[0] + "written otherwise\n")
    assert claimed(tmp_path / "d") == tmp_path / "d"


def test_the_shipped_session_is_a_team():
    trace = shipped_session().trace
    assert violations(trace) == []
    assert len(spawn_tree(trace).children) >= 6
    assert trace.source.adapter == "claude_code"


def test_the_shipped_recipe_is_the_repositorys():
    assert shipped_recipe(updates=7).updates == 7
    assert len(shipped_recipe().settings) == 3
