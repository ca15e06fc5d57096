"""`orchestrace eval`: judging elsewhere than where a run was trained, and judging credit methods."""

import pytest

from cli.command import refused, run

RECIPE = """
env = {name = "unknown-voters", max_votes = 6}
settings = [{c = 0.01}, {c = 0.05}]
updates = 3
[rollouts]
episodes = 32
[policy]
hidden = 8
[eval]
episodes = 100
every = 3
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eval")
    (folder / "recipe.toml").write_text(RECIPE)
    assert run("train", folder / "recipe.toml", "--out", folder / "run", "--json").code == 0
    return folder / "run"


def test_a_run_can_be_judged_under_other_settings(trained):
    twice = run("eval", trained, "--set", "max_votes=12", "--episodes", 200, "--json").json
    as_trained = run("eval", trained, "--episodes", 200, "--json").json
    assert set(twice["optimum"]) == {"c=0.01", "c=0.05"}
    assert twice["optimum"]["c=0.01"] > as_trained["optimum"]["c=0.01"]
    alone = run("eval", trained, "--set", "c=0.02", "--episodes", 200, "--json").json
    assert isinstance(alone["optimum"], float)


def test_credit_of_an_environment_and_of_a_run(trained):
    env = run("eval", "--credit", "--env", "sequential-voting", "--episodes", 20, "--seeds", 2, "--json")
    methods = {row["method"] for row in env.json["comparisons"]["sequential-voting"]["methods"]}
    assert {"grpo", "stop-credit", "c3-8", "shapley"} <= methods
    of_run = run("eval", trained, "--credit", "--episodes", 20, "--seeds", 2, "--json").json["comparisons"]
    assert set(of_run) == {"c=0.01", "c=0.05"}
    shown = run("eval", "--credit", "--env", "unknown-voters", "--episodes", 20, "--seeds", 2, "--set", "max_votes=5")
    for part in ("unknown-voters", "Spearman", "stop-credit", "Calls"):
        assert part in shown.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--credit",), "give the folder of a run, or --env NAME"),
        (("--credit", "--env", "sequential-voting", "--policy", "best"), "cannot play for --credit"),
        (("--credit", "--env", "nothing"), "there is no environment 'nothing'"),
    ],
)
def test_wrong_words(words, told):
    assert told in refused("eval", *words)


def test_settings_that_do_not_exist(trained):
    assert "did you mean" in refused("eval", trained, "--set", "max_vote=3")


def test_a_policy_above_the_optimum_fails_loudly(trained, monkeypatch):
    monkeypatch.setattr("orchestrace.envs.table_env.TableEnv.optimal_value", lambda env: 0.4)
    done = run("eval", trained, "--episodes", 100)
    assert done.code == 1
    assert "Too good to be true" in done.out
