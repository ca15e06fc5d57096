"""Environments in the forms of gymnasium and pettingzoo: the numbers are those of the tables."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from envs.test_env_laws import SMALLER
from orchestrace.envs import END, NAMES, by_name
from orchestrace.envs.wrappers import _rules
from orchestrace.envs.wrappers.gymnasium_form import GymnasiumEnv, gymnasium_env, gymnasium_vector_env
from orchestrace.envs.wrappers.pettingzoo_form import PettingZooEnv, pettingzoo_env
from orchestrace.testing.wrapped_envs import check_gymnasium, check_pettingzoo


@pytest.mark.parametrize("name", NAMES)
def test_every_environment_is_one_of_gymnasium(name):
    check_gymnasium(by_name(name, SMALLER.get(name)), rng=np.random.default_rng(3))


@pytest.mark.parametrize("name", NAMES)
def test_every_environment_is_one_of_pettingzoo(name):
    check_pettingzoo(by_name(name, SMALLER.get(name)), rng=np.random.default_rng(3))


@pytest.mark.parametrize("name", NAMES)
def test_one_episode_is_that_of_the_array_form(name):
    """Slow twin: the same die, the same actions, step by step."""
    env = by_name(name, SMALLER.get(name))
    wrapped, die, choice = gymnasium_env(env), np.random.default_rng(5), np.random.default_rng(6)
    observation, info = wrapped.reset(seed=5)
    state = int(env.reset(1, die)[0])
    for _ in range(20):
        assert info["state"] == state
        np.testing.assert_array_equal(observation["action_mask"], env.legal()[state])
        np.testing.assert_array_equal(observation["features"], env.features()[state].astype(np.float32))
        if env.action_features().size:
            options = env.action_features()[state].astype(np.float32)
            np.testing.assert_array_equal(observation["action_features"], options)
        action = int(choice.choice(np.flatnonzero(info["action_mask"])))
        twin = env.step(np.array([state]), np.array([action]), die)
        observation, reward, ended, truncated, info = wrapped.step(action)
        assert (reward, ended, truncated) == (float(twin.rewards[0]), bool(twin.done[0]), False)
        if ended:
            break
        state = int(twin.states[0])
    if ended:
        assert info["state"] == END
        assert not observation["features"].any()
        assert observation["action_mask"].all()
        with pytest.raises(ResetNeeded):
            wrapped.step(0)


@pytest.mark.parametrize("name", ["briefing", "cascade"])
def test_rows_of_the_vector_form_are_those_of_the_array_form(name):
    env = by_name(name)
    envs, die, choice = gymnasium_vector_env(env, 50), np.random.default_rng(5), np.random.default_rng(6)
    _, info = envs.reset(seed=5)
    states = env.reset(50, die)
    for _ in range(12):
        np.testing.assert_array_equal(info["state"], states)
        actions = np.array([choice.choice(np.flatnonzero(row)) for row in info["action_mask"]])
        twin = env.step(states, actions, die)
        observation, rewards, ended, truncated, info = envs.step(actions)
        np.testing.assert_array_equal(rewards, twin.rewards)
        np.testing.assert_array_equal(ended, twin.done)
        assert not truncated.any()
        if ended.any():
            np.testing.assert_array_equal(info["_final_obs"], ended)
            assert all((info["final_obs"][row] is not None) == ended[row] for row in range(50))
            assert not info["final_obs"][int(np.argmax(ended))]["features"].any()
        states = twin.states
        np.testing.assert_array_equal(observation["features"], env.features()[states].astype(np.float32))


def test_next_step_shows_the_end_and_ignores_the_next_action():
    env = by_name("briefing")
    envs = gymnasium_vector_env(env, 2, autoreset="next-step")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    envs.reset(seed=0)
    _, _, ended, _, info = envs.step(np.array([0, 2]))
    assert ended.tolist() == [True, False]
    assert info["state"][0] == END
    assert envs.render()[0] == _rules.ENDED
    _, rewards, ended, _, info = envs.step(np.array([16, 0]))  # 16 is legal nowhere near a start
    assert rewards[0] == 0
    assert ended.tolist() == [False, True]
    assert info["state"].tolist() == [0, END]


@pytest.mark.parametrize(
    ("autoreset", "cut"), [("same-step", ["--", "tt-", "--t", "tt-"]), ("next-step", ["--", "tt-", "---", "--t"])]
)
def test_a_horizon_truncates_every_row_by_itself(autoreset, cut):
    envs = gymnasium_vector_env(by_name("sequential-voting"), 3, horizon=2, autoreset=autoreset)
    envs.reset(seed=0)
    for number, row in enumerate(cut):
        _, _, ended, truncated, info = envs.step(np.array([1, 1, 0 if number == 0 else 1]))
        assert ended.tolist() == [False, False, number == 0]
        assert truncated.tolist() == [mark == "t" for mark in row.ljust(3, "-")]
        if autoreset == "same-step" and truncated.any():
            assert info["final_obs"][int(np.argmax(truncated))]["features"].any()


def test_illegal_actions_are_refused_or_cost_the_penalty():
    env = by_name("briefing")
    with pytest.raises(ValueError, match=r"actions\[0\]: 'assign 0' is not legal in state 'type hidden, no team'"):
        _started(gymnasium_env(env)).step(9)
    with pytest.raises(ValueError, match=r"actions\[0\] = 17 is no action: there are 0 to 16"):
        _started(gymnasium_env(env, illegal="penalise")).step(17)
    with pytest.raises(ValueError, match=r"actions\[1\]: 'assign 0' is not legal"):
        _started(gymnasium_vector_env(env, 2)).step(np.array([2, 9]))
    with pytest.raises(ValueError, match=r"actions have shape \(1,\), not \(2,\)"):
        _started(gymnasium_vector_env(env, 2)).step(np.array([2]))
    paying = _started(gymnasium_vector_env(env, 2, illegal="penalise", penalty=0.5))
    _, rewards, ended, _, info = paying.step(np.array([2, 9]))
    assert rewards.tolist() == [-0.05, -0.5]
    assert info["illegal"].tolist() == [False, True]
    assert info["state"][1] == 0
    assert not ended.any()


def _started(env):
    env.reset(seed=0)
    return env


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda env: gymnasium_env(env, illegal="ignore"), "neither 'refuse' nor 'penalise'"),
        (lambda env: gymnasium_env(env, horizon=0), "horizon: 0"),
        (lambda env: gymnasium_env(env, horizon=None, illegal="penalise"), "may never end"),
        (lambda env: gymnasium_env(env, render_mode="human"), "render_mode: 'human'"),
        (lambda env: gymnasium_env(env, observe="all"), "observe: 'all'"),
        (lambda env: gymnasium_vector_env(env, 0), "num_envs: 0"),
        (lambda env: gymnasium_vector_env(env, 1, autoreset="never"), "autoreset: 'never'"),
        (lambda env: pettingzoo_env(env, render_mode="human"), "render_mode: 'human'"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make(by_name("briefing"))


def test_nothing_is_stepped_before_a_reset():
    env = by_name("briefing")
    for wrapped, action in [(gymnasium_env(env), 0), (gymnasium_vector_env(env, 1), np.array([0])),
                            (pettingzoo_env(env), {"orchestrator": 0})]:  # fmt: skip
        with pytest.raises(ResetNeeded):
            wrapped.step(action)


def test_rendering_is_the_situation_in_words():
    env = by_name("briefing")
    for wrapped, stop in [(gymnasium_env(env, render_mode="ansi"), 0),
                          (pettingzoo_env(env, render_mode="ansi"), {"orchestrator": 0})]:  # fmt: skip
        wrapped.reset(seed=0)
        assert wrapped.render() == env.describe(0)
        wrapped.step(stop)
        assert wrapped.render() == _rules.ENDED
    assert _started(gymnasium_env(env)).render() is None
    assert _started(gymnasium_vector_env(env, 2)).render() == (env.describe(0),) * 2
    assert gymnasium_env(env).spec.make(render_mode="ansi").unwrapped.render_mode == "ansi"


def test_agents_of_a_team_choose_at_once():
    env = by_name("assignment")
    team = pettingzoo_env(env)
    observations, _ = team.reset(seed=1)
    assert team.agents == ["a1", "a2", "a3"]
    for agent, seen in observations.items():
        assert seen["action_mask"].tolist() == [1] * len(env.factors[agent])
        np.testing.assert_array_equal(seen["features"], team.state())
    assert env.actions[team.joint_action({"a1": 1, "a2": 0, "a3": 2})] == "a1: job 1, a2: none, a3: job 2"
    with pytest.raises(ValueError, match=r"actions\['a3'\] = None is no action: there are 0 to 3"):
        team.step({"a1": 1, "a2": 0})
    with pytest.raises(ValueError, match=r"actions\['a1'\] = 4 is no action"):
        team.step({"a1": 4, "a2": 0, "a3": 0})
    _, rewards, ended, _, _ = team.step({"a1": 1, "a2": 0, "a3": 2})
    assert len(set(rewards.values())) == 1
    assert all(ended.values())
    assert team.agents == []


def test_masks_of_agents_are_the_options_of_some_legal_joint_action():
    """Slow twin: over all joint actions, one by one."""
    rng = np.random.default_rng(0)
    joint, sizes = (rng.random((6, 24)) < 0.15).astype(np.int8), (2, 3, 4)
    from orchestrace.envs.wrappers.pettingzoo_form import _masks

    found = _masks(joint, ("a", "b", "c"), sizes=sizes)
    for i, agent in enumerate("abc"):
        slow = np.zeros((6, sizes[i]))
        for state, action in np.argwhere(joint):
            slow[state, np.unravel_index(action, sizes)[i]] = 1
        np.testing.assert_array_equal(found[agent], slow)


def _planted(monkeypatch, owner, name, change):
    honest = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda self, *args, **kwargs: change(honest(self, *args, **kwargs)))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("moved", lambda move: move._replace(rewards=move.rewards + 0.2), "the exact value is|the penalty"),
        ("moved", lambda move: move._replace(ended=move.ended & False), "do not end|in an episode|ended"),
    ],
)
def test_the_check_of_gymnasium_finds(monkeypatch, name, change, message):
    monkeypatch.setattr("orchestrace.testing.wrapped_envs.MOST_STEPS", 50)
    _planted(monkeypatch, _rules.Tables, name, change)
    with pytest.raises(AssertionError, match=message):
        check_gymnasium(by_name("cascade"), rng=np.random.default_rng(0))


def test_the_check_of_gymnasium_finds_a_wrong_mask(monkeypatch):
    _planted(
        monkeypatch, GymnasiumEnv, "reset", lambda pair: (pair[0], pair[1] | {"action_mask": np.ones(17, np.int8)})
    )
    with pytest.raises(AssertionError, match="the mask is not `legal`"):
        check_gymnasium(by_name("briefing"), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("joint_action", lambda joint: (joint + 1) % 64, "has another number"),
        ("step", lambda given: (given[0], {a: i for i, a in enumerate(given[1])}, *given[2:]), "different rewards"),
        ("step", lambda given: (given[0], {a: r + 1 for a, r in given[1].items()}, *given[2:]), "the exact value is"),
    ],
)
def test_the_check_of_pettingzoo_finds(monkeypatch, name, change, message):
    _planted(monkeypatch, PettingZooEnv, name, change)
    with pytest.raises(AssertionError, match=message):
        check_pettingzoo(by_name("assignment"), rng=np.random.default_rng(0))


@pytest.mark.parametrize("library", ["gymnasium", "pettingzoo"])
def test_a_missing_library_is_one_line(library):
    code = f"import sys; sys.modules[{library!r}] = None; import orchestrace.envs.wrappers.{library}_form"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(f'InputError: this form needs {library}; pip install "orchestrace[gym]"')
