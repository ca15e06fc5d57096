"""Any environment as a language model reads and answers it."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.test_env_laws import SMALLER
from orchestrace.envs import (
    ENVIRONMENTS,
    NAMES,
    TextEnv,
    answered,
    by_name,
    optimal_policy,
    option_words,
    prompt,
    text_policy,
)
from orchestrace.errors import RecipeError


@cache
def made(name):
    return by_name(name, SMALLER.get(name))


UNTOLD: dict[tuple[str, str], str] = {}
"""(environment, setting) that moves the optimum, but is in no prompt: why."""


@given(st.sampled_from(NAMES), st.data())
def test_every_legal_option_round_trips_and_no_other(name, data):
    env = made(name)
    legal, words = env.legal(), option_words(env)
    state = data.draw(st.integers(0, len(legal) - 1))
    asked = prompt(env, state)
    assert asked.startswith(env.describe(state))
    action = data.draw(st.integers(0, len(words) - 1))
    word = words[action]
    dressed = data.draw(
        st.sampled_from(
            ["{}", " {} ", "{}.", "**{}**", "`{}`!", "Answer: {}", "<answer>\n{}\n</answer>", "thinking\n{}"]
        )
    ).format(data.draw(st.sampled_from([word, word.upper(), word.title()])))
    assert answered(env, state, reply=dressed) == (action if legal[state, action] else None)
    if legal[state, action]:
        assert word in asked
    other = data.draw(st.integers(0, len(words) - 1))
    if other != action:
        for both in ("{} or {}", "{}\n{}", "Answer: {}\nAnswer: {}", "I would take {}, not {}", "{} and then {}"):
            assert answered(env, state, reply=both.format(word, words[other])) is None


@given(st.text(max_size=60), st.sampled_from(NAMES))
def test_any_reply_is_read_or_not_and_what_is_read_is_legal(reply, name):
    env = made(name)
    state = int(np.argmax(env.starts))
    read = answered(env, state, reply=reply)
    assert read is None or env.legal()[state, read]


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("stop", "stop"),
        ("STOP!", "stop"),
        ('  "3"\n', "3"),
        ("3.", "3"),
        ("**Answer:** 3", "3"),
        ("The lead is 2, so voting on is worth it.\n\n3", "3"),
        ("Option 3", "3"),
        ("I would go for option 3 now", "3"),
        ("I would stop here, since the vote is clear.", "stop"),
        ("First I thought stop, then again: Answer: 4", "4"),
        ("<answer>stop</answer> because 3 votes are enough", "stop"),
        ("The decision is: stop.", "stop"),
        ("", None),
        ("maybe", None),
        ("Answer: maybe", None),
        ("don't stop", None),
        ("I would not stop yet", None),
        ("There is no reason to stop.", None),
        ("stop or 3", None),
        ("stop\n3", None),
        ("3 4", None),
        ("Answer: 3\nAnswer: stop", None),
        ("With a lead of 3, I would stop", None),
        ("The chance is 0.3", None),
        ("-3", None),
        ("3.5", None),
        ("26", None),
        ("stopping", None),
        ("unstoppable", None),
    ],
)
def test_a_reply_is_read_strictly_but_kindly(reply, read):
    env = made("batch-voting")
    action = answered(env, 49, reply=reply)
    assert (None if action is None else env.actions[action]) == read


def test_an_option_that_is_not_legal_is_not_read():
    env = made("briefing")
    assert answered(env, 0, reply="assign 3") is None
    assert answered(env, 9, reply="I assign 3") == env.actions.index("assign 3")


def test_long_names_are_numbered_and_may_be_given_whole():
    env = made("assignment")
    assert option_words(env)[:3] == ("1", "2", "3")
    assert "18: a1: job 1, a2: none, a3: job 1\n" in prompt(env, 0)
    for reply in ("18", "option 18", "a1: job 1, a2: none, a3: job 1", "Best: a1: job 1, a2: none, a3: job 1."):
        assert answered(env, 0, reply=reply) == 17
    assert answered(env, 0, reply="a1: job 1") is None


@pytest.mark.parametrize("name", NAMES)
def test_prompts_hold_every_setting_that_moves_the_optimum(name):
    """Equal prompts under two settings have one optimum, whatever setting differs."""
    before = _optima(made(name))
    for key, known in ENVIRONMENTS[name].parameters.items():
        step = max(1, known.default // 2) if known.whole else known.default / 2
        for value in {known.low, known.default + step, known.default - step}:
            if not known.low <= value <= known.high or (name, key) in UNTOLD:
                continue
            try:
                after = by_name(name, {**SMALLER.get(name, {}), key: value})
            except RecipeError:
                continue  # not with the other defaults
            if after.legal().size > 50_000:
                continue
            for asked, best in _optima(after).items():
                assert best & before.get(asked, best), f"{name}: {key}={value:g} does not show in: {asked}"


def _optima(env):
    q = env.action_values()
    names = np.array(env.actions)
    best = q >= q.max(axis=1, keepdims=True) - 1e-9
    return {asked: set(names[row]) for asked, row in zip(TextEnv(env).prompts(np.arange(len(q))), best, strict=True)}


def test_batches_of_episodes_over_texts():
    env = made("briefing")
    text, rng = TextEnv(env, unread_price=0.1), np.random.default_rng(0)
    states, prompts = text.reset(4, rng)
    assert prompts == (prompt(env, 0),) * 4
    step = text.step(states, ["look", "answer", "what?", "assign 1"], rng=rng)
    assert step.actions.tolist() == [2, 0, -1, -1]
    assert step.done.tolist() == [False, True, False, False]
    assert 1 <= step.states[0] <= 8
    assert step.states[1:].tolist() == [0, 0, 0]
    assert step.rewards[[0, 2, 3]].tolist() == [-0.05, -0.1, -0.1]
    assert step.prompts[0] == prompt(env, int(step.states[0]))
    assert states.tolist() == [0] * 4
    ended = TextEnv(env, unread="end", unread_price=1.0).step(states, ["?"] * 4, rng=rng)
    assert ended.done.all()
    assert ended.rewards.tolist() == [-1.0] * 4
    with pytest.raises(ValueError, match="replies has B=1"):
        text.step(states, ["look"], rng=rng)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_knows_the_optimum_is_worth_it(name):
    env = made(name)
    text = TextEnv(env)
    said = {
        asked: text.words[env.optimal_action(state)]
        for state, asked in enumerate(text.prompts(np.arange(len(env.starts))))
    }
    found = text_policy(env, lambda asked: f"My answer: {said[asked]}.")
    assert not len(found.unread)
    assert env.exact_value(found.policy) == pytest.approx(env.optimal_value(), abs=1e-9)


def test_a_model_that_says_nothing_has_the_fallback_and_is_counted():
    env = made("unknown-voters")
    dumb = text_policy(env, lambda asked: "Hm.")
    assert dumb.unread.tolist() == list(range(len(env.starts)))
    np.testing.assert_allclose(dumb.policy, env.legal() / env.legal().sum(axis=1, keepdims=True))
    assert (text_policy(env, lambda asked: "", fallback=optimal_policy(env)).policy == optimal_policy(env)).all()
