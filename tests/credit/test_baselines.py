"""Group baselines: laws for every published method that rests on them, beside a slow loop."""

import itertools
import math
from statistics import fmean, median, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit import ADVANTAGE_METHODS, GroupBaseline, rows
from orchestrace.credit.baselines import grouped
from orchestrace.credit.ranks import average_ranks, normal_quantiles, soft_ranks

EXAMPLE = [1, 0, 0, 1, 1, 0, 0, 0]
CENTRED = ["grpo", "dr-grpo", "rloo", "dapo", "gspo", "lite-ppo", "reinforce++", "dr-mas", "soft-rank-po"]
SCALED = ["grpo", "dapo", "gspo", "lite-ppo", "reinforce++", "dr-mas"]
ALL = list(ADVANTAGE_METHODS)


def method(name):
    return ADVANTAGE_METHODS[name].of


@st.composite
def batches(draw):
    """Rollouts of tasks with one reward each, and one row or more by agents."""
    table = [
        (task, 10 * task + rollout, agent, reward)
        for task in range(draw(st.integers(1, 3)))
        for rollout in range(draw(st.integers(1, 4)))
        for reward in [draw(st.integers(-20, 20)) / 4]
        for agent in draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    ]
    table = draw(st.permutations(table))
    task, rollout, agent, reward = map(np.array, zip(*table, strict=True))
    return rows(reward, task=task, rollout=rollout, agent=agent)


def slow(given_, *, key, weighting, baseline, scale, ddof):
    """One row at a time."""
    columns = [getattr(given_, name).tolist() for name in key]
    group = list(zip(*columns, strict=True))
    found = []
    for i in range(len(given_)):
        members = [j for j in range(len(given_)) if group[j] == group[i]]
        owner = given_.rollout.tolist() if weighting == "rollout" else list(range(len(given_)))
        votes = {}
        for j in members:
            votes.setdefault(owner[j], []).append(given_.rewards[j])
        votes = {k: fmean(v) for k, v in votes.items()}
        if len(votes) < 2:
            found.append(0.0)
            continue
        others = [v for k, v in votes.items() if k != owner[i]]
        against = {"mean": fmean(votes.values()), "loo": fmean(others), "median": median(votes.values())}[baseline]
        value = given_.rewards[i] - against
        if scale == "std_group":
            spread = stdev(votes.values()) * math.sqrt((len(votes) - 1) / (len(votes) - ddof))
            value = value / (spread + 1e-6) if spread > 1e-9 else 0.0
        found.append(value)
    return found


@given(
    batches(),
    st.sampled_from([("task",), ("task", "agent"), ("agent",)]),
    st.sampled_from(["rollout", "row"]),
    st.sampled_from(["mean", "loo", "median"]),
    st.sampled_from(["none", "std_group"]),
    st.sampled_from([0, 1]),
)
def test_it_is_the_loop(given_, key, weighting, baseline, scale, ddof):
    how = {"key": key, "weighting": weighting, "baseline": baseline, "scale": scale, "ddof": ddof}
    assert GroupBaseline(**how).advantages(given_).values == pytest.approx(slow(given_, **how), abs=1e-6)


def test_worked_example():
    """mean .375; std .4841 (ddof 0), .5175 (ddof 1)."""
    group = rows(EXAMPLE, task=[0] * 8)

    def two(**how):
        return GroupBaseline(**how).advantages(group).values[:2]

    assert two() == pytest.approx([0.625, -0.375])
    assert two(baseline="loo") == pytest.approx([0.7143, -0.4286], abs=1e-4)
    assert two(scale="std_group", ddof=0) == pytest.approx([1.291, -0.7746], abs=1e-4)
    assert two(scale="std_group") == pytest.approx([1.2076, -0.7246], abs=1e-4)


@pytest.mark.parametrize("name", CENTRED)
@given(given_=batches())
def test_a_group_sums_to_zero_over_its_voters(name, given_):
    found = method(name)(given_)
    assert np.isfinite(found.values).all()
    if name in ("dr-mas", "reinforce++", "soft-rank-po"):  # every row counts
        counted = rows(given_.rewards, task=given_.task, agent=given_.agent)
        found, groups = method(name)(counted), method(name)(counted).groups
        if name != "reinforce++":
            assert np.bincount(groups, found.values) == pytest.approx(np.zeros(groups.max() + 1), abs=1e-5)
        return
    for task in set(given_.task.tolist()):
        own = {r: v for t, r, v in zip(given_.task, given_.rollout, found.values, strict=True) if t == task}
        assert sum(own.values()) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("name", ALL)
@given(given_=batches(), shift=st.integers(-8, 8))
def test_a_constant_added_changes_nothing(name, given_, shift):
    keys = {"task": given_.task, "rollout": given_.rollout, "agent": given_.agent}
    moved = method(name)(rows(given_.rewards + shift, **keys)).values
    assert moved == pytest.approx(method(name)(given_).values, abs=1e-6)


@pytest.mark.parametrize("name", SCALED)
@given(given_=batches(), factor=st.sampled_from([0.5, 3.0]))
def test_a_scale_changes_nothing_where_the_deviation_is_divided_out(name, given_, factor):
    keys = {"task": given_.task, "rollout": given_.rollout, "agent": given_.agent}
    scaled = method(name)(rows(given_.rewards * factor, **keys)).values
    assert scaled == pytest.approx(method(name)(given_).values, abs=1e-4)


@pytest.mark.parametrize("name", [name for name in ALL if name != "pass-at-k"])
@given(given_=batches(), die=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_keys_say_nothing(name, given_, die):
    order = list(range(len(given_)))
    die.shuffle(order)
    renamed = rows(
        given_.rewards[order],
        task=7 - 3 * given_.task[order],
        rollout=1000 - given_.rollout[order],
        agent=given_.agent[order] * 10**12,
    )
    assert method(name)(renamed).values == pytest.approx(method(name)(given_).values[order], abs=1e-9)


@pytest.mark.parametrize("name", ALL)
@given(reward=st.sampled_from([0.0, 1.0, -3.5, 0.1, 1e15, 1e-15]), n=st.integers(1, 6))
def test_equal_rewards_teach_nothing(name, reward, n):
    """The trap of verl, Dr. MAS, ReMA and MATPO: a group of one is given its raw reward."""
    found = method(name)(rows([reward] * n, task=[0] * n))
    assert found.values == pytest.approx(np.zeros(n), abs=1e-9)
    if n == 1:
        assert found.degenerate == 1


@pytest.mark.parametrize("name", ["grpo", "dr-grpo", "rloo", "dapo", "gspo", "lite-ppo"])
@given(given_=batches())
def test_a_rollout_has_one_vote_however_many_rows(name, given_):
    keys = {"task": given_.task, "rollout": given_.rollout, "agent": given_.agent}
    twice = {key: np.concatenate([column, column[:1], column[:1]]) for key, column in keys.items()}
    again = method(name)(rows(np.append(given_.rewards, [given_.rewards[0]] * 2), **twice)).values
    assert again[: len(given_)] == pytest.approx(method(name)(given_).values)


def test_row_weighting_leans_to_long_rollouts():
    """R = [1, 0] with one and three calls: row mean .25, rollout mean .5."""
    given_ = rows([1, 0, 0, 0], task=[0] * 4, rollout=[0, 1, 1, 1])
    assert GroupBaseline(weighting="row").advantages(given_).values[0] == 0.75
    assert GroupBaseline().advantages(given_).values[0] == 0.5


def test_rloo_is_the_mean_version_stretched():
    given_ = rows(EXAMPLE, task=[0] * 8)
    mean, loo = GroupBaseline().advantages(given_).values, GroupBaseline(baseline="loo").advantages(given_).values
    assert loo == pytest.approx(8 / 7 * mean)


@pytest.mark.parametrize("g", [2, 3, 4])
def test_rloo_is_exactly_unbiased_and_the_mean_version_shrinks(g):
    """Every outcome of G draws from a softmax bandit of three arms, by its probability.

    The version that divides by the deviation is no multiple of the true gradient: that is documented, not asserted.
    """
    logits, payoff = np.array([0.3, -0.4, 0.9]), np.array([1.0, 0.2, -0.5])
    pi = np.exp(logits) / np.exp(logits).sum()
    truth = pi * (payoff - pi @ payoff)
    expected = {"loo": np.zeros(3), "mean": np.zeros(3)}
    for draw in itertools.product(range(3), repeat=g):
        weight = math.prod(pi[list(draw)])
        for baseline in expected:
            advantages = GroupBaseline(baseline=baseline).advantages(rows(payoff[list(draw)], task=[0] * g)).values
            score = np.eye(3)[list(draw)] - pi
            expected[baseline] += weight * (advantages[:, None] * score).mean(axis=0)
    assert expected["loo"] == pytest.approx(truth)
    assert expected["mean"] == pytest.approx((g - 1) / g * truth)


def test_dr_mas_gives_every_agent_unit_second_moment():
    """Agent A earns [1, 1, 1, 0], agent B [1, 0 x 7]. Global statistics inflate A by 1.625 and B by .6875, and push A
    by +.884, B by −.442; its own statistics do neither."""
    rewards = [1, 1, 1, 0] + [1] + [0] * 7
    agent = [0] * 4 + [1] * 8
    given_ = rows(rewards, task=[0] * 12, agent=agent)
    whole = GroupBaseline(scale="std_group", weighting="row", ddof=0, eps=0).advantages(given_).values
    own = GroupBaseline(key=("task", "agent"), scale="std_group", weighting="row", ddof=0, eps=0)
    found = own.advantages(given_).values
    for members, moment, push in [(slice(0, 4), 1.625, 0.884), (slice(4, 12), 0.6875, -0.442)]:
        assert np.square(whole[members]).mean() == pytest.approx(moment)
        assert whole[members].mean() == pytest.approx(push, abs=1e-3)
        assert np.square(found[members]).mean() == pytest.approx(1)
        assert found[members].mean() == pytest.approx(0, abs=1e-12)


def test_a_spread_of_rounding_alone_is_none():
    """.1 + .2 and .3 differ in their last bit: divided by their deviation, noise would become ±1."""
    found = GroupBaseline(scale="std_group", eps=0.0).advantages(rows([0.1 + 0.2, 0.3], task=[0, 0]))
    assert found.values.tolist() == [0, 0]
    assert found.degenerate == 2


def test_a_critic_in_place_of_the_group():
    found = GroupBaseline().advantages(rows([1.0, 0.0], task=[0, 1]), baseline=[0.25, 0.5])
    assert found.values.tolist() == [0.75, -0.5]
    assert found.degenerate == 0


@pytest.mark.parametrize("name", ALL)
def test_nothing_gives_nothing(name):
    found = method(name)(rows([]))
    assert found.values.shape == (0,)
    assert found.degenerate == 0


def test_wrong_use_is_said():
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"rewards\[1\] is"):
            rows([0.0, bad])
    with pytest.raises(ValueError, match="task has length 1, but rewards has 2"):
        rows([0, 1], task=[0])
    with pytest.raises(ValueError, match="no such column 'team'"):
        rows([0, 1], team=[0, 0])
    with pytest.raises(ValueError, match="dtype float64"):
        rows([0], task=[0.5])
    with pytest.raises(ValueError, match="is no column"):
        GroupBaseline(key=())
    with pytest.raises(ValueError, match="scale='std' is none of"):
        GroupBaseline(scale="std")


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_ranks_sum_to_what_ranks_sum_to(values):
    n = len(values)
    assert average_ranks(values).sum() == pytest.approx(n * (n + 1) / 2)
    assert soft_ranks(values, temperature=0.3).sum() == pytest.approx(n * (n + 1) / 2)
    assert soft_ranks(values, temperature=1e-6) == pytest.approx(average_ranks(values))


def test_soft_rank_worked_example():
    values = [0.9, 0.1, 0.5, 0.5]
    assert average_ranks(values).tolist() == [4, 1, 2.5, 2.5]
    assert normal_quantiles(average_ranks(values), 4) == pytest.approx([1.150, -1.150, 0, 0], abs=1e-3)
    soft = soft_ranks(values, temperature=0.1)
    assert soft == pytest.approx([3.964, 1.036, 2.5, 2.5], abs=1e-3)
    assert normal_quantiles(soft, 4) == pytest.approx([1.107, -1.107, 0, 0], abs=1e-3)
    assert method("soft-rank-po")(rows(values, task=[0] * 4)).values == pytest.approx([1.107, -1.107, 0, 0], abs=1e-3)


def test_keys_are_whole_numbers_of_any_size():
    ends = np.array([2**63 - 1, -(2**63), -5, -5], np.int64)
    assert grouped(ends).tolist() == [2, 0, 1, 1]
    with pytest.raises(ValueError, match="parent holds 18446744073709551615"):
        rows([1.0], parent=np.array([2**64 - 1], np.uint64))


def test_rewards_without_a_square_are_refused():
    assert np.isfinite(method("grpo")(rows([1e150, -1e150, 0.0])).values).all()
    with pytest.raises(ValueError, match=r"rewards hold -1\.7e\+308"):
        rows([1.0, -1.7e308])
