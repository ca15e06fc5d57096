"""What the forms of an environment must keep: its starts, its features, its teams and its texts."""

import math
from collections.abc import Hashable, Iterable

import numpy as np

from orchestrace.envs import Env, TextEnv
from orchestrace.testing.simulation import EXACT, STANDARD_ERRORS

MOST_SEEN = 10.0
"""Features are of order one: none is larger."""
MOST_PROMPTS = 20_000
MOST_READ = 300
"""States whose prompts are compared, and whose replies are tried; of more states an even selection is taken."""


def check_starts(env: Env, rng: np.random.Generator, *, draws: int = 4_000) -> None:
    """Check that `reset` draws from `starts`: Pearson's statistic over the states, rare ones taken together.

    Raises:
      AssertionError: it does not.
    """
    seed = int(rng.integers(2**32))
    states, again = (env.reset(draws, np.random.default_rng(seed)) for _ in range(2))
    assert states.shape == (draws,), f"{env.name}: reset gives shape {states.shape}, not ({draws},)"
    assert np.array_equal(states, again), f"{env.name}: equal seeds give unequal starts"
    assert ((states >= 0) & (states < len(env.starts))).all(), f"{env.name}: reset gives a state that does not exist"
    wrong = states[env.starts[states] == 0]
    assert not len(wrong), f"{env.name}: reset gives state {wrong[:1]}, whose chance is 0"
    expected, seen = draws * env.starts, np.bincount(states, minlength=len(env.starts))
    often = expected >= 5
    bins = np.append(expected[often], expected[~often].sum()), np.append(seen[often], seen[~often].sum())
    kept = bins[0] > 0
    statistic = float(np.sum((bins[1] - bins[0])[kept] ** 2 / bins[0][kept]))
    freedom = int(kept.sum()) - 1
    excess = _normal_deviate(statistic, freedom) if freedom else 0.0
    assert excess <= STANDARD_ERRORS, f"{env.name}: starts: chi² = {statistic:.1f} with {freedom} degrees of freedom"


def check_seen(env: Env) -> None:
    """Check that features are of order one, and that they are enough: states that look alike share an optimal action.

    What is seen of a state is its features, its action features and which actions are legal.

    Raises:
      AssertionError: they are not.
    """
    features, options, legal = env.features(), env.action_features(), env.legal()
    for name, seen in (("features", features), ("action features", options)):
        largest = float(np.abs(seen).max(initial=0.0))
        assert largest <= MOST_SEEN, f"{env.name}: {name} reach {largest:g}, which is not of order one"
    rows = ((f.tobytes(), o.tobytes(), a.tobytes()) for f, o, a in zip(features, options, legal, strict=True))
    _check_enough(env, "look", range(len(legal)), rows)


def check_factors(env: Env) -> None:
    """Check that joint actions count the agents' options through, the last agent fastest, and that their names say so.

    Raises:
      AssertionError: they do not.
    """
    sizes = tuple(len(options) for options in env.factors.values())
    if not sizes:
        return
    assert math.prod(sizes) == len(env.actions), f"{env.name}: factors {sizes} do not count its actions"
    for agent, options in env.factors.items():
        assert len(set(options)) == len(options), f"{env.name}: {agent} has two options of one name"
    for action, name in enumerate(env.actions):
        chosen = np.unravel_index(action, sizes)
        at = 0
        for i, (agent, options) in zip(chosen, env.factors.items(), strict=True):
            for word in (agent, options[int(i)]):
                at = name.find(word, at)
                assert at >= 0, (
                    f"{env.name}: action {action} is {name!r}, where {agent} should have {options[int(i)]!r}"
                )
                at += len(word)


def check_text_form(env: Env) -> None:
    """Check that a language model can be asked: prompts tell states apart, and each option can be named in a reply.

    Raises:
      AssertionError: equal prompts stand for states without a common optimal action; a prompt misses the situation or
        an option; a reply that names one option is not read, or one that names none, two or an illegal one is.
    """
    text, legal = TextEnv(env), env.legal()
    states = _selected(len(legal), MOST_PROMPTS)
    prompts = text.prompts(np.array(states))
    _check_enough(env, "read", states, prompts)
    assert len(set(text.words)) == len(env.actions), f"{env.name}: two options have one word"
    for state in _selected(len(legal), MOST_READ):
        asked, where = text.prompt(state), f"{env.name}: state {env.state_name(state)!r}"
        assert env.describe(state) in asked, f"{where}: the prompt leaves out the situation"
        for action, word in enumerate(text.words):
            may = bool(legal[state, action])
            assert not may or word in asked, f"{where}: the prompt leaves out {word!r}"
            _check_replies(text, state, action=action, expected=action if may else None)
        one, *others = (text.words[action] for action in np.flatnonzero(legal[state]))
        for reply in ("", "...", *(f"{one} or {other}" for other in others[:1])):
            assert text.answered(state, reply=reply) is None, f"{where}: the reply {reply!r} is read as an option"


def _check_replies(text: TextEnv, state: int, *, action: int, expected: int | None) -> None:
    word, name = text.words[action], text.env.actions[action]
    for reply in (
        word,
        f" **{word.upper()}.**\n",
        f"Answer: {word}",
        f"Let me see.\n{word}",
        f"So: option {word}.",
        name,
    ):
        read = text.answered(state, reply=reply)
        if reply == name and expected is not None and read is None:
            continue  # long names may share their words; the prompt asks for the number then
        where = f"{text.env.name}: state {text.env.state_name(state)!r}"
        assert read == expected, f"{where}: the reply {reply!r} is read as {read}, not {expected}"


def _check_enough(env: Env, verb: str, states: Iterable[int], keys: Iterable[Hashable]) -> None:
    q = env.action_values()
    best = q >= q.max(axis=1, keepdims=True) - EXACT
    shared: dict[Hashable, np.ndarray] = {}
    first: dict[Hashable, int] = {}
    for state, key in zip(states, keys, strict=True):
        shared[key] = shared.get(key, True) & best[state]
        one = first.setdefault(key, state)
        assert shared[key].any(), (
            f"{env.name}: states {env.state_name(one)!r} and {env.state_name(state)!r} {verb} alike, "
            "but no action is optimal in all that do"
        )


def _selected(size: int, most: int) -> list[int]:
    chosen: list[int] = np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64)).tolist()
    return chosen


def _normal_deviate(statistic: float, freedom: int) -> float:
    """How many standard deviations above its mean a chi² statistic is (Wilson and Hilferty 1931)."""
    spread = 2 / (9 * freedom)
    return float(((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))
