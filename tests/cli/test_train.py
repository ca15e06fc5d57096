"""`orchestrace train` leaves a run that can be looked at: a page and a picture beside the numbers."""

import pytest

from cli.command import run
from viewer.markup_of import loads

RECIPE = """
env = "sequential-voting"
grid = {c = {low = 0.005, high = 0.05, points = 7}}
updates = 4
[rollouts]
episodes = 32
[policy]
hidden = 8
[eval]
episodes = 100
every = 2
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    (folder / "recipe.toml").write_text(RECIPE)
    return folder, run("train", folder / "recipe.toml", "--out", folder / "run", "--json")


def test_a_run_leaves_a_page_and_a_picture(trained):
    folder, done = trained
    assert done.code == 0, done.err
    page = (folder / "run" / "run.html").read_text()
    for part in ("Gap closed", "median of 7 settings", "learned (ppo)", "c=0.005"):
        assert part in page
    assert loads(page) == []
    assert (folder / "run" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_equal_runs_draw_equal_pictures(trained):
    folder, _ = trained
    run("train", folder / "recipe.toml", "--out", folder / "again", "--json")
    assert (folder / "again" / "curve.png").read_bytes() == (folder / "run" / "curve.png").read_bytes()
