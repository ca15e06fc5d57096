"""Advantages along sequences, beside the textbook sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit import SequentialGAE, discounted, gae, whitened
from orchestrace.credit.methods.sequences import marft_agents
from orchestrace.credit.steps import returns

NUMBERS = st.floats(-3, 3)
SHARES = st.sampled_from([0.0, 0.3, 0.95, 1.0])


def slow_gae(rewards, values, *, discount, lam, bootstrap=0.0):
    """A_t = Σ_k (γλ)^k δ_{t+k}, written out."""
    following = [*values[1:], bootstrap][: len(values)]
    errors = [r + discount * w - v for r, v, w in zip(rewards, values, following, strict=True)]
    return [sum((discount * lam) ** k * error for k, error in enumerate(errors[t:])) for t in range(len(errors))]


@pytest.mark.parametrize(
    ("lam", "expected"), [(0.95, [0.46575, 0.385, 0.3]), (1.0, [0.5, 0.4, 0.3]), (0.0, [0.1, 0.1, 0.3])]
)
def test_worked_example(lam, expected):
    assert gae([[0, 0, 1]], [[0.5, 0.6, 0.7]], lam=lam).values[0] == pytest.approx(expected)


@given(st.integers(0, 20), st.integers(0, 9), st.integers(0, 2**32 - 1), SHARES, SHARES)
def test_padded_episodes_are_the_sum_over_later_errors(b, t, seed, discount, lam):
    rng = np.random.default_rng(seed)
    mask = rng.random((b, t)) < 0.7
    rewards, values, bootstrap = rng.normal(size=(b, t)), rng.normal(size=(b, t)), rng.normal(size=b)
    found = gae(rewards, values, discount=discount, lam=lam, mask=mask, bootstrap=bootstrap)
    for row in range(min(b, 5)):
        own = mask[row]
        slow = slow_gae(rewards[row][own], values[row][own], discount=discount, lam=lam, bootstrap=bootstrap[row])
        assert found.values[row][own] == pytest.approx(slow)
        assert found.targets[row][own] == pytest.approx(np.array(slow) + values[row][own])
    assert (found.values[~mask] == 0).all()
    assert (found.targets[~mask] == 0).all()
    unmasked = gae(rewards, values, discount=discount, lam=lam, bootstrap=bootstrap)
    everything = gae(rewards, values, discount=discount, lam=lam, mask=np.ones((b, t)), bootstrap=bootstrap)
    assert unmasked.values == pytest.approx(everything.values)


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    rewards, values, bootstrap, mask = *rng.normal(size=(2, 7, 5)), rng.normal(size=7), rng.random((7, 5)) < 0.7
    whole = [gae(rewards, values, bootstrap=bootstrap, mask=m).values.tolist() for m in (None, mask)]
    monkeypatch.setattr(returns, "BLOCK", 3)
    assert [gae(rewards, values, bootstrap=bootstrap, mask=m).values.tolist() for m in (None, mask)] == whole


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_limits_of_lambda(t, seed):
    """λ = 1, γ = 1: return to go minus value. λ = 0: the one-step error."""
    rewards, values = np.random.default_rng(seed).normal(size=(2, 1, t))
    to_go = rewards[0][::-1].cumsum()[::-1]
    assert gae(rewards, values, lam=1.0).values[0] == pytest.approx(to_go - values[0])
    errors = rewards[0] + np.append(values[0][1:], 0) - values[0]
    assert gae(rewards, values, lam=0.0).values[0] == pytest.approx(errors)


@st.composite
def sequences(draw):
    """Rows of several agents in several rollouts, shuffled."""
    rows = [
        (rollout, agent, position)
        for rollout in range(draw(st.integers(1, 3)))
        for agent in range(draw(st.integers(1, 3)))
        for position in draw(st.sets(st.integers(0, 9), min_size=1, max_size=4))
    ]
    return np.array(draw(st.permutations(rows)))


@given(sequences(), st.integers(0, 2**32 - 1), SHARES, SHARES)
def test_rows_in_any_order_are_episodes(rows, seed, discount, lam):
    rng = np.random.default_rng(seed)
    rewards, values, bootstrap = rng.normal(size=(3, len(rows)))
    rollout, agent, position = rows.T
    last = [p == max(q for r, a, q in rows if (r, a) == (x, y)) for x, y, p in rows]
    terminal = np.array(last) & (rng.random(len(rows)) < 0.5)
    estimate = SequentialGAE(discount=discount, lam=lam)
    found, targets = estimate.advantages(
        rewards, values, position=position, terminal=terminal, bootstrap=bootstrap, rollout=rollout, agent=agent
    )
    for key in {(r, a) for r, a, _ in rows.tolist()}:
        own = [i for i, (r, a, _) in enumerate(rows.tolist()) if (r, a) == key]
        own.sort(key=lambda i: rows[i][2])
        beyond = 0.0 if terminal[own[-1]] else bootstrap[own[-1]]
        slow = slow_gae(rewards[own], values[own], discount=discount, lam=lam, bootstrap=beyond)
        assert found.values[own] == pytest.approx(slow)
    assert targets == pytest.approx(found.values + values)
    order = rng.permutation(len(rows))
    again, _ = estimate.advantages(
        rewards[order], values[order], position=position[order], terminal=terminal[order],
        bootstrap=bootstrap[order], rollout=rollout[order], agent=agent[order],
    )  # fmt: skip
    assert again.values == pytest.approx(found.values[order])


def test_agents_that_act_in_turn_bootstrap_from_each_other():
    """MARFT: V = [.4, .6], R = 1 to the last agent: A2 = .4, A1 = .2 + .95 · .4 = .58."""
    joint = SequentialGAE(order=("rollout",), lam=0.95)
    found, _ = joint.advantages([0, 1], [0.4, 0.6], position=[0, 1], rollout=[0, 0])
    assert found.values == pytest.approx([0.58, 0.4])
    with_no_critic = SequentialGAE(order=("rollout",), lam=1.0)
    found, _ = with_no_critic.advantages([0, 0, 1], [0, 0, 0], position=[0, 1, 2], rollout=[0, 0, 0])
    assert found.values.tolist() == [1, 1, 1]  # every agent has the team's return


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), SHARES)
def test_one_accumulator_runs_through_steps_and_agents(steps, n, seed, lam):
    """MARFT, written out as its two loops: agents within a step, the last one bootstrapped by the next step's first."""
    rewards, values = np.random.default_rng(seed).normal(size=(2, steps, n))
    found, _ = marft_agents(
        rewards.ravel(), values.ravel(), rollout=np.zeros(steps * n, int), position=np.arange(steps * n)
    )
    slow, ahead = np.zeros((steps, n)), 0.0
    for step in reversed(range(steps)):
        for agent in reversed(range(n)):
            if agent < n - 1:
                following = values[step, agent + 1]
            else:
                following = values[step + 1, 0] if step < steps - 1 else 0.0
            ahead = rewards[step, agent] + 0.99 * following - values[step, agent] + 0.99 * 0.95 * ahead
            slow[step, agent] = ahead
    assert found.values == pytest.approx(slow.ravel())
    whole = SequentialGAE(order=("rollout",), lam=lam)  # one agent: plain GAE
    alone, _ = whole.advantages(rewards[:, 0], values[:, 0], position=np.arange(steps), rollout=np.zeros(steps, int))
    assert alone.values == pytest.approx(gae(rewards[:, 0][None], values[:, 0][None], lam=lam).values[0])


@given(sequences(), st.integers(0, 2**32 - 1))
def test_other_rollouts_change_nothing(rows, seed):
    rewards, values = np.random.default_rng(seed).normal(size=(2, len(rows)))
    rollout, agent, position = rows.T
    together, _ = SequentialGAE().advantages(rewards, values, position=position, rollout=rollout, agent=agent)
    own = rollout == rollout[0]
    alone, _ = SequentialGAE().advantages(
        rewards[own], values[own], position=position[own], rollout=rollout[own], agent=agent[own]
    )
    assert alone.values.tolist() == together.values[own].tolist()


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_errors_of_agents_in_one_step_telescope(n, seed):
    """γ = 1, λ = 0: the sum over agents is the reward plus the value beyond minus the value before."""
    rng = np.random.default_rng(seed)
    rewards, values = rng.normal(size=(2, n))
    found, _ = SequentialGAE(order=("rollout",), lam=0.0).advantages(
        rewards, values, position=np.arange(n), rollout=np.zeros(n, int)
    )
    assert found.values.sum() == pytest.approx(rewards.sum() - values[0])


def test_a_broken_sequence_is_refused():
    estimate = SequentialGAE()
    with pytest.raises(ValueError, match="position 1 stands twice"):
        estimate.advantages([0, 0], [0, 0], position=[1, 1], rollout=[0, 0], agent=[0, 0])
    with pytest.raises(ValueError, match="goes on"):
        estimate.advantages([0, 0], [0, 0], position=[0, 1], terminal=[1, 0], rollout=[0, 0], agent=[0, 0])
    with pytest.raises(ValueError, match="order names 'agent'"):
        estimate.advantages([0], [0], position=[0], rollout=[0])
    with pytest.raises(ValueError, match="it holds rollout"):
        SequentialGAE(order=("agent",))
    with pytest.raises(ValueError, match=r"lam is 1\.5"):
        SequentialGAE(lam=1.5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_silent_nan(bad):
    for rewards, values in [([[bad]], [[0.0]]), ([[0.0]], [[bad]])]:
        with pytest.raises(ValueError, match=r"\[0, 0\] is"):
            gae(rewards, values)
    with pytest.raises(ValueError, match="must be finite"):
        whitened([bad, 1.0])


def test_shapes_name_both_culprits():
    with pytest.raises(ValueError, match=r"rewards have shape \(1, 2\), but values have \(1, 1\)"):
        gae([[1, 2]], [[1]])
    with pytest.raises(ValueError, match=r"mask has shape \(1, 1\), but rewards have \(1, 2\)"):
        gae([[1, 2]], [[1, 2]], mask=[[1]])
    with pytest.raises(ValueError, match="bootstrap has length 2, but rewards has 1"):
        gae([[1, 2]], [[1, 2]], bootstrap=[0, 0])
    with pytest.raises(ValueError, match=r"rewards has shape \(2,\); it must have 2 axes"):
        gae([1, 2], [1, 2])


def test_nothing_gives_nothing():
    assert gae(np.zeros((0, 3)), np.zeros((0, 3))).values.shape == (0, 3)
    assert gae(np.zeros((2, 0)), np.zeros((2, 0))).values.shape == (2, 0)
    found, targets = SequentialGAE().advantages([], [], position=[], rollout=[], agent=[])
    assert found.values.shape == targets.shape == (0,)


@given(st.lists(st.tuples(st.integers(0, 2), NUMBERS), min_size=1, max_size=12), SHARES)
def test_discounted_returns_are_sums(rows, discount):
    rollout, rewards = map(list, zip(*rows, strict=True))
    position = list(range(len(rows)))
    found = discounted(rewards, discount=discount, rollout=rollout, position=position)
    for i, (own, _) in enumerate(rows):
        later = [r for (k, r) in rows[i:] if k == own]
        assert found[i] == pytest.approx(sum(discount**n * r for n, r in enumerate(later)))


def test_whitening_has_bessels_correction_and_leaves_masked_values_at_zero():
    found = whitened([1.0, 2.0, 99.0, 3.0], mask=[1, 1, 0, 1])
    assert found == pytest.approx([-1, 0, 0, 1])
    assert whitened([5.0]).tolist() == [0.0]
    assert whitened([[2.0, 2.0]]).tolist() == [[0.0, 0.0]]
