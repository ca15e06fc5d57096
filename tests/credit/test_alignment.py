"""Rows brought together: copies of planners, even numbers of sub-agents, shares held against their namesakes."""

from collections import Counter
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.batches import at, batches, keys_of
from orchestrace.credit import (
    Sampling,
    advantages_from_shares,
    agent_equal_weights,
    aligned,
    anchored,
    average_ranks,
    one_reward_each,
    rows,
    running_baselines,
    step_returns,
)
from orchestrace.credit.groups.alignment import picked, roots
from orchestrace.credit.groups.anchors import turns_left
from orchestrace.credit.groups.baselines import GroupBaseline

owners = st.lists(st.integers(-2, 3), max_size=12)


@given(owners, st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_everyone_who_owns_any_has_just_so_many(owner, target, seed):
    found = aligned(owner, target=target, rng=np.random.default_rng(seed))
    assert (np.diff(found) >= 0).all()
    assert Counter(owner[i] for i in found) == dict.fromkeys(owner, target)
    copies = Counter(found.tolist())
    for name in set(owner):
        own = [copies[i] for i, other in enumerate(owner) if other == name]
        assert max(own) - min(own) <= 1
        if len(own) == target:
            assert own == [1] * target


def test_alignment_draws_by_the_generator_given():
    def draw(seed):
        return aligned([0] * 9, target=4, rng=np.random.default_rng(seed)).tolist()

    assert draw(3) == draw(3)
    assert {tuple(draw(seed)) for seed in range(5)} != {tuple(draw(0))}
    often = np.zeros(3)
    for seed in range(600):
        often += np.bincount(aligned([5, 5, 5], target=4, rng=np.random.default_rng(seed)), minlength=3)
    assert often / 600 == pytest.approx(np.full(3, 4 / 3), abs=0.1)
    with pytest.raises(ValueError, match="target is 0"):
        aligned([0], target=0, rng=np.random.default_rng(0))


@given(st.lists(st.integers(-1, 10), max_size=11), st.data())
def test_roots_are_found_by_climbing(steps, data):
    parent = [min(step, i - 1) if i else -1 for i, step in enumerate(steps)]
    order = data.draw(st.permutations(range(len(parent))))
    given_ = at(rows([0.0] * len(parent), parent=parent), np.array(order, np.int64))

    def climb(i):
        while given_.parent[i] >= 0:
            i = given_.parent[i]
        return i

    assert roots(given_).tolist() == [climb(i) for i in range(len(parent))]


def test_parents_that_lead_nowhere_are_said():
    for parent, match in [([1, 0], "back to itself"), ([0, -1], "back to itself"), ([2, -1], r"parent\[0\] is 2"),
                          ([-1, -2], r"parent\[1\] is -2")]:  # fmt: skip
        with pytest.raises(ValueError, match=match):
            roots(rows([0, 0], parent=parent))
    long = rows([0.0] * 5000, parent=np.arange(5000) - 1)
    assert not roots(long).any()


def test_rows_of_a_rollout_must_agree():
    assert len(one_reward_each(rows([1, 1, 0], rollout=[7, 7, 8], task=[0, 0, 0]))) == 3
    with pytest.raises(ValueError, match=r"rewards\[0\] is 1.0, but another row of rollout 7 has 0.0"):
        one_reward_each(rows([1, 0], rollout=[7, 7]))
    with pytest.raises(ValueError, match=r"task\[0\] is 0, but another row of rollout 7 has 1"):
        one_reward_each(rows([1, 1], rollout=[7, 7], task=[0, 1]))


def test_picked_rows_forget_their_parents():
    found = picked(rows([1, 2, 3], parent=[-1, 0, 0], agent=[4, 5, 6]), [2, 2, 0], rollout=np.array([0, 1, 2]))
    assert found.rewards.tolist() == [3, 3, 1]
    assert found.agent.tolist() == [6, 6, 4]
    assert found.parent.tolist() == [-1, -1, -1]
    assert found.rollout.tolist() == [0, 1, 2]


@given(batches(), st.sampled_from(["loo", "mean"]))
def test_shares_are_held_against_their_namesakes(given_, baseline):
    """One row at a time; where there is no namesake, against the role; where there is none, 0."""
    found = advantages_from_shares(given_, baseline=baseline)
    to_role = to_zero = 0
    for i in range(len(given_)):
        expected = None
        for unit in ("agent", "role"):
            names = getattr(given_, unit)
            of = {}
            for j in range(len(given_)):
                if given_.task[j] == given_.task[i] and names[j] == names[i]:
                    of.setdefault(given_.rollout[j], []).append(given_.rewards[j])
            if len(of) > 1:
                if baseline == "loo":
                    del of[given_.rollout[i]]
                expected = given_.rewards[i] - fmean(fmean(votes) for votes in of.values())
                to_role += unit == "role"
                break
        to_zero += expected is None
        assert found.advantages.values[i] == pytest.approx(expected or 0.0, abs=1e-9)
    assert (found.to_role, found.to_zero) == (to_role, to_zero)
    assert found.fallback_rate == (to_role + to_zero) / len(given_)
    assert found.advantages.degenerate == to_zero


def test_shares_worked_example():
    """Agent 1 earned .5 and .1; agent 2 is in rollout 0 alone and of the role of agent 1; agent 3 has nobody."""
    given_ = rows([0.5, 0.3, 0.1, 0.9], task=[0] * 4, rollout=[0, 0, 1, 1], agent=[1, 2, 1, 3], role=[0, 0, 0, 1])
    sampling = Sampling(model_calls=8, definition="mask")
    found = advantages_from_shares(given_, sampling=sampling)
    assert found.advantages.values == pytest.approx([0.4, 0.2, -0.4, 0])
    assert found.fallback_rate == 0.5
    assert found.advantages.sampling is sampling
    assert found.advantages.groups[0] == found.advantages.groups[2] != found.advantages.groups[1]
    assert advantages_from_shares(rows([])).fallback_rate == 0


@given(batches())
def test_agents_weigh_alike_in_a_rollout(given_):
    """Whatever they wrote; within an agent turns weigh by their length."""
    lengths = 1.0 + given_.turn
    weights = agent_equal_weights(given_, lengths)
    assert weights.sum() == pytest.approx(1)
    for rollout in set(given_.rollout.tolist()):
        own = given_.rollout == rollout
        agents = set(given_.agent[own].tolist())
        for agent in agents:
            lane = own & (given_.agent == agent)
            assert weights[lane].sum() == pytest.approx(1 / len(agents) / len(set(given_.rollout.tolist())))
            assert np.ptp(weights[lane] / lengths[lane]) == pytest.approx(0)
    with pytest.raises(ValueError, match=r"lengths\[0\] is 0.0; it must be positive"):
        agent_equal_weights(given_, np.zeros(len(given_)))


@given(batches(), st.sampled_from([0.0, 0.5, 1.0]))
def test_step_returns_are_the_sum_over_later_steps(given_, discount):
    rewards = (given_.turn * 5 + given_.rollout) % 7 / 2
    found = step_returns(rewards, lane=given_.rollout, step=given_.turn * 2, discount=discount)
    for i in range(len(given_)):
        later = {}
        for j in range(len(given_)):
            if given_.rollout[j] == given_.rollout[i] and given_.turn[j] >= given_.turn[i]:
                later[2 * (given_.turn[j] - given_.turn[i])] = rewards[j]
        assert found[i] == pytest.approx(sum(discount**k * r for k, r in later.items()))


def test_agents_of_one_step_share_its_reward():
    """Rewards 1, 2, 4 by step; two agents act in the second, and it counts once."""
    found = step_returns([2, 1, 4, 2], lane=[0] * 4, step=[1, 0, 2, 1], discount=0.5)
    assert found.tolist() == [4, 3, 4, 4]
    with pytest.raises(ValueError, match=r"is 2.0, but another row of step 1 has 3.0"):
        step_returns([2, 3], lane=[0, 0], step=[1, 1])
    with pytest.raises(ValueError, match=r"discount is 1.5"):
        step_returns([], lane=[], step=[], discount=1.5)
    assert step_returns([], lane=[], step=[]).shape == (0,)


@given(batches())
def test_turns_left_are_those_of_the_role(given_):
    expected = [
        len({t for t, o, r in zip(given_.turn, given_.rollout, given_.role, strict=True)
             if (o, r) == (given_.rollout[i], given_.role[i]) and t > given_.turn[i]})
        for i in range(len(given_))
    ]  # fmt: skip
    assert turns_left(given_).tolist() == expected


@given(batches())
def test_anchors_compare_what_met_the_same_state(given_):
    found = anchored(given_, GroupBaseline()).of(given_.rewards)
    state = list(zip(given_.task, given_.context, strict=True))
    for i in range(len(given_)):
        met = [given_.rewards[j] for j in range(len(given_)) if state[j] == state[i]]
        assert found.values[i] == pytest.approx(given_.rewards[i] - fmean(met))
    assert found.degenerate == sum(n for n in Counter(state).values() if n == 1)


episodes = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), max_size=20)


@given(episodes, st.sampled_from([0.0, 0.5, 0.95, 1.0]), st.integers(0, 20))
def test_running_baselines_know_the_past_alone(pairs, decay, cut):
    rewards, keys = [r / 2 for r, _ in pairs], [k for _, k in pairs]
    found = running_baselines(rewards, keys, decay=decay)
    for e, key in enumerate(keys):
        b = 0.0
        for reward, other in zip(rewards[:e], keys[:e], strict=True):
            b = decay * b + (1 - decay) * reward if other == key else b
        assert found.baselines[e] == pytest.approx(b)
    first = running_baselines(rewards[:cut], keys[:cut], decay=decay)
    second = running_baselines(rewards[cut:], keys[cut:], decay=decay, before=first.after)
    assert [*first.baselines, *second.baselines] == found.baselines.tolist()
    assert second.after == found.after


def test_running_baselines_of_a_constant_catch_up():
    """A_t = c α^t."""
    found = running_baselines([3.0] * 50, [0] * 50)
    assert 3.0 - found.baselines == pytest.approx(3.0 * 0.95 ** np.arange(50))
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="decay is"):
            running_baselines([1.0], [0], decay=wrong)
    with pytest.raises(ValueError, match="keys has length 1, but rewards has 2"):
        running_baselines([1.0, 2.0], [0])


def test_columns_are_copied_not_shared():
    given_ = rows([1.0, 2.0], task=[0, 0])
    before = {name: column.copy() for name, column in keys_of(given_).items()}
    advantages_from_shares(given_)
    average_ranks(given_.rewards)
    assert all((before[name] == column).all() for name, column in keys_of(given_).items())
    assert given_.rewards.tolist() == [1, 2]
