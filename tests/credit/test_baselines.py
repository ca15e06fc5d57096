"""Group baselines beside a slow loop, with their worked examples, and what they do with odd numbers."""

import itertools
import math
from statistics import NormalDist, fmean, median, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.batches import at, batches, keys_of
from orchestrace.credit import GroupBaseline, grpo, rows
from orchestrace.credit.groups.baselines import grouped
from orchestrace.credit.groups.ranks import average_ranks, normal_quantiles, soft_ranks

EXAMPLE = [1, 0, 0, 1, 1, 0, 0, 0]

rules = st.fixed_dictionaries(
    {
        "key": st.sampled_from([("task",), ("task", "agent"), ("role",), ("task", "role", "context"), ("rollout",)]),
        "weighting": st.sampled_from(["rollout", "row"]),
        "baseline": st.sampled_from(["mean", "loo", "median", "none"]),
        "scale": st.sampled_from(["none", "std_group", "std_batch", "rank"]),
        "ddof": st.sampled_from([0, 1]),
    }
)


def deviation(votes, ddof):
    return stdev(votes) * math.sqrt((len(votes) - 1) / (len(votes) - ddof)) if len(votes) > 1 else 0.0


def slow(given_, critic=None, *, key, weighting, baseline, scale, ddof):
    """One row at a time: the votes of its group, the baseline without or with its own, the deviation."""
    columns = [getattr(given_, name).tolist() for name in key]
    group = list(zip(*columns, strict=True))
    owner = given_.rollout.tolist() if weighting == "rollout" else list(range(len(given_)))

    def votes_of(home):
        votes = {}
        for j in range(len(given_)):
            if group[j] == home:
                votes.setdefault(owner[j], []).append(given_.rewards[j])
        return {voter: fmean(rewards) for voter, rewards in votes.items()}

    everyone = [vote for home in sorted(set(group)) for vote in votes_of(home).values()]
    found = []
    for i in range(len(given_)):
        votes = votes_of(group[i])
        own, others = votes[owner[i]], [vote for voter, vote in votes.items() if voter != owner[i]]
        if not others and (scale in ("std_group", "rank") or (critic is None and baseline != "none")):
            found.append(0.0)
            continue
        if scale == "rank":
            rank = 1 + sum(vote < own for vote in others) + sum(vote == own for vote in others) / 2
            found.append(NormalDist().inv_cdf((rank - 0.5) / len(votes)))
            continue
        heard = others if baseline == "loo" else votes.values()
        of = {"mean": fmean, "loo": fmean, "median": median, "none": lambda _: 0.0}[baseline]
        value = given_.rewards[i] - (of(heard) if critic is None else critic[i])
        if scale != "none":
            spread = deviation(list(votes.values()) if scale == "std_group" else everyone, ddof)
            value = value / (spread + 1e-6) if spread > 1e-9 else 0.0
        found.append(value)
    return found


@given(batches(), rules)
def test_it_is_the_loop(given_, how):
    assert GroupBaseline(**how).advantages(given_).values == pytest.approx(slow(given_, **how), abs=1e-9)


@given(batches(), rules.filter(lambda how: how["scale"] != "rank"))
def test_a_critic_takes_the_place_of_the_group(given_, how):
    critic = given_.context / 4
    found = GroupBaseline(**how).advantages(given_, values=critic)
    assert found.values == pytest.approx(slow(given_, critic, **how), abs=1e-9)


@given(batches(), rules.filter(lambda how: how["scale"] != "std_batch" and "task" in how["key"]))
def test_other_tasks_make_no_difference(given_, how):
    own = np.flatnonzero(given_.task == given_.task[0])
    whole = GroupBaseline(**how).advantages(given_).values[own]
    assert GroupBaseline(**how).advantages(at(given_, own)).values == pytest.approx(whole, abs=1e-12)


@given(batches(), rules)
def test_values_are_zero_where_they_are_counted(given_, how):
    found = GroupBaseline(**how).advantages(given_)
    assert 0 <= found.degenerate <= (found.values == 0).sum()
    assert np.isfinite(found.values).all()


def test_worked_example():
    """mean .375; std .4841 (ddof 0), .5175 (ddof 1)."""
    group = rows(EXAMPLE, task=[0] * 8)

    def two(**how):
        return GroupBaseline(**how).advantages(group).values[:2]

    assert two() == pytest.approx([0.625, -0.375])
    assert two(baseline="loo") == pytest.approx([0.7143, -0.4286], abs=1e-4)
    assert two(scale="std_group", ddof=0) == pytest.approx([1.291, -0.7746], abs=1e-4)
    assert two(scale="std_group") == pytest.approx([1.2076, -0.7246], abs=1e-4)
    assert two(baseline="median") == pytest.approx([1, 0])


def test_row_weighting_leans_to_long_rollouts():
    """R = [1, 0] with one and three calls: row mean .25, rollout mean .5."""
    given_ = rows([1, 0, 0, 0], task=[0] * 4, rollout=[0, 1, 1, 1])
    assert GroupBaseline(weighting="row").advantages(given_).values[0] == 0.75
    assert GroupBaseline().advantages(given_).values[0] == 0.5


def test_leave_one_out_leaves_the_whole_rollout_out():
    """Rollout 0 earned 1 and 3, rollout 1 earned 0: its own other row is no baseline."""
    given_ = rows([1, 3, 0], task=[0] * 3, rollout=[0, 0, 1])
    assert GroupBaseline(baseline="loo").advantages(given_).values.tolist() == [1, 3, -2]


@given(batches(), st.sampled_from(["rollout", "row"]))
def test_leave_one_out_is_the_mean_version_stretched(given_, weighting):
    """G / (G − 1), where a vote is one row's own."""
    votes = rows(given_.rewards, **{**keys_of(given_), "rollout": np.arange(len(given_))})
    mean = GroupBaseline(weighting=weighting).advantages(votes)
    loo = GroupBaseline(weighting=weighting, baseline="loo").advantages(votes)
    size = np.bincount(mean.groups)[mean.groups]
    assert loo.values == pytest.approx(mean.values * size / np.maximum(size - 1, 1), abs=1e-12)


@given(batches())
def test_the_mean_square_is_one_where_the_deviation_is_divided_out(given_):
    rule = GroupBaseline(key=("task", "agent"), weighting="row", scale="std_group", ddof=0, eps=0.0)
    found = rule.advantages(given_)
    squares = np.bincount(found.groups, found.values**2) / np.bincount(found.groups)
    assert all(square == pytest.approx(1) or square == 0 for square in squares)


@pytest.mark.parametrize("g", [2, 3, 4])
def test_leave_one_out_is_exactly_unbiased_and_the_mean_version_shrinks(g):
    """Every outcome of G draws from a softmax bandit of three arms, by its probability: (G − 1) / G of the gradient.

    The version that divides by the deviation is no multiple of the true gradient: that is documented, not asserted.
    """
    logits, payoff = np.array([0.3, -0.2, 0.1]), np.array([1.0, 0.0, 0.5])
    pi = np.exp(logits) / np.exp(logits).sum()
    truth = pi * (payoff - pi @ payoff)
    expected = {"loo": np.zeros(3), "mean": np.zeros(3)}
    for draw in itertools.product(range(3), repeat=g):
        weight = math.prod(pi[list(draw)])
        for baseline in expected:
            advantages = GroupBaseline(baseline=baseline).advantages(rows(payoff[list(draw)], task=[0] * g)).values
            score = np.eye(3)[list(draw)] - pi
            expected[baseline] += weight * (advantages[:, None] * score).mean(axis=0)
    assert expected["loo"] == pytest.approx(truth, rel=1e-12)
    assert expected["mean"] == pytest.approx((g - 1) / g * truth, rel=1e-12)


@given(batches(), st.sampled_from(["task", "agent"]))
def test_foreign_statistics_inflate_the_second_moment(given_, key):
    """E_k[((r − μ) / σ)²] = (σ_k² + (μ_k − μ)²) / σ² for each agent k, under the statistics of everyone (Dr. MAS)."""
    r = given_.rewards
    rule = GroupBaseline(
        key=("turn",) if key == "task" else (key,), weighting="row", scale="std_group", ddof=0, eps=0.0
    )
    one_group = rows(r, **{**keys_of(given_), "turn": np.zeros(len(r), np.int64)})
    found = rule.advantages(one_group).values
    for agent in range(3):
        own = given_.agent == agent
        if not own.any() or r.std() == 0:
            continue
        inflation = (r[own].var() + (r[own].mean() - r.mean()) ** 2) / r.std() ** 2
        expected = inflation if key == "task" else float(r[own].std() > 0)
        assert np.square(found[own]).mean() == pytest.approx(expected, abs=1e-9)


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


@pytest.mark.parametrize("scale", ["std_group", "std_batch", "rank"])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e9])
def test_a_spread_of_rounding_alone_is_none(scale, unit):
    """.1 + .2 and .3 differ in their last bit: divided by their deviation, noise would become ±1."""
    rewards = [unit * (0.1 + 0.2), unit * 0.3]
    assert rewards[0] != rewards[1]
    found = GroupBaseline(scale=scale, eps=0.0).advantages(rows(rewards, task=[0, 0]))
    assert found.values.tolist() == [0, 0]
    assert found.degenerate == 2


def test_a_spread_that_eps_would_drown_is_none():
    """Sums that ought to be 0 differ by 1e-17: counted; with eps = 0 they are what they are."""
    given_ = rows([0.0, 1e-17, 0.0], task=[0] * 3)
    found = GroupBaseline(scale="std_group").advantages(given_)
    assert found.values.tolist() == [0, 0, 0]
    assert found.degenerate == 3
    assert GroupBaseline(scale="std_group", eps=0.0).advantages(given_).values[1] == pytest.approx(2 / math.sqrt(3))


@pytest.mark.parametrize("value", [0.1, 1e15 + 0.3, -1e140, 1e-200, 1 / 3])
@pytest.mark.parametrize("baseline", ["mean", "loo", "median"])
@pytest.mark.parametrize("scale", ["none", "std_group", "std_batch", "rank"])
def test_equal_rewards_are_exactly_zero(value, baseline, scale):
    given_ = rows([value] * 7, task=[0] * 7)
    assert not GroupBaseline(baseline=baseline, scale=scale).advantages(given_).values.any()


def test_one_bad_outlier_hides_no_other_group():
    given_ = rows([-1e12, 1e12, 0, 1], task=[0, 0, 1, 1])
    assert GroupBaseline(scale="std_group").advantages(given_).values[2:] == pytest.approx([-0.7071, 0.7071], abs=1e-4)


def test_keys_of_any_size_are_told_apart():
    """Contexts are hashes of 63 bits: differences of such keys overflow, and so would their product."""
    least, most = -(2**63), 2**63 - 1
    keys = np.array([least, most, 0, least, -1, most])
    assert grouped(keys).tolist() == [0, 3, 2, 0, 1, 3]
    assert grouped(keys, keys[::-1]).tolist() == [1, 5, 3, 0, 2, 4]
    found = GroupBaseline(key=("context",)).advantages(rows([1, 2, 3, 4, 5, 6], context=keys))
    assert found.values.tolist() == [-1.5, -2, 0, 1.5, 0, 2]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(10**17), 10**17)), min_size=1, max_size=12))
def test_groups_are_numbered_in_order(pairs):
    first, second = map(np.array, zip(*pairs, strict=True))
    ranks = {pair: i for i, pair in enumerate(sorted(set(pairs)))}
    assert grouped(first, second).tolist() == [ranks[pair] for pair in pairs]


def test_nothing_gives_nothing():
    for scale in ("none", "std_group", "std_batch", "rank"):
        for baseline in ("mean", "loo", "median", "none"):
            found = GroupBaseline(scale=scale, baseline=baseline).advantages(rows([]))
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
    with pytest.raises(ValueError, match="'rewards' is no column"):
        GroupBaseline(key=("task", "rewards"))
    with pytest.raises(ValueError, match="scale='std' is none of"):
        GroupBaseline(scale="std")
    for wrong in ({"ddof": -1}, {"eps": -1e-6}, {"eps": float("nan")}, {"eps": float("inf")}):
        with pytest.raises(ValueError, match="neither may be negative"):
            GroupBaseline(**wrong)
    two = rows([0, 1], task=[0, 0])
    with pytest.raises(ValueError, match="values has length 1, but rewards has 2"):
        GroupBaseline().advantages(two, values=[0])
    with pytest.raises(ValueError, match=r"values\[0\] is nan"):
        GroupBaseline().advantages(two, values=[float("nan"), 0])
    with pytest.raises(ValueError, match="no use for values"):
        GroupBaseline(scale="rank").advantages(two, values=[0, 0])
    with pytest.raises(ValueError, match="neither baseline nor divisor"):
        GroupBaseline(scale="rank").standing(two)
    with pytest.raises(ValueError, match=r"rewards\[1\] is 1e\+200"):
        GroupBaseline().advantages(rows([0, 1e200]))


table = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=10)


@given(table)
def test_ranks_are_counted_within_their_group(pairs):
    values, groups = [v for v, _ in pairs], [g for _, g in pairs]
    hard = average_ranks(values, groups=groups)
    soft = soft_ranks(values, temperature=0.3, groups=groups)
    for i, (value, group) in enumerate(pairs):
        others = [v for j, (v, g) in enumerate(pairs) if g == group and j != i]
        assert hard[i] == 1 + sum(v < value for v in others) + sum(v == value for v in others) / 2
        assert soft[i] == pytest.approx(1 + sum(1 / (1 + math.exp((v - value) / 0.3)) for v in others))
    for group in set(groups):
        n, own = groups.count(group), np.array(groups) == group
        assert hard[own].sum() == n * (n + 1) / 2
        assert soft[own].sum() == pytest.approx(n * (n + 1) / 2)
    assert soft_ranks(values, temperature=1e-6, groups=groups) == pytest.approx(hard)


def test_ranks_of_odd_numbers():
    assert soft_ranks([1e308, -1e308], temperature=1e-300).tolist() == [2, 1]
    assert soft_ranks([0, 5e-324], temperature=1.0) == pytest.approx([1.5, 1.5])
    assert average_ranks([]).shape == soft_ranks([], temperature=1).shape == normal_quantiles([], 4).shape == (0,)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="temperature="):
            soft_ranks([1.0], temperature=wrong)
    with pytest.raises(ValueError, match=r"ranks\[1\] is 4.5"):
        normal_quantiles([4.0, 4.5], 4)
    with pytest.raises(ValueError, match="groups has length 1, but values has 2"):
        average_ranks([1, 2], groups=[0])


def test_soft_rank_worked_example():
    values = [0.9, 0.1, 0.5, 0.5]
    assert average_ranks(values).tolist() == [4, 1, 2.5, 2.5]
    assert normal_quantiles(average_ranks(values), 4) == pytest.approx([1.150, -1.150, 0, 0], abs=1e-3)
    soft = soft_ranks(values, temperature=0.1)
    assert soft == pytest.approx([3.964, 1.036, 2.5, 2.5], abs=1e-3)
    assert normal_quantiles(soft, 4) == pytest.approx([1.107, -1.107, 0, 0], abs=1e-3)


def test_keys_are_whole_numbers_of_any_size():
    ends = np.array([2**63 - 1, -(2**63), -5, -5], np.int64)
    assert grouped(ends).tolist() == [2, 0, 1, 1]
    with pytest.raises(ValueError, match="parent holds 18446744073709551615"):
        rows([1.0], parent=np.array([2**64 - 1], np.uint64))


def test_rewards_without_a_square_are_refused():
    assert np.isfinite(grpo(rows([1e150, -1e150, 0.0])).values).all()
    with pytest.raises(ValueError, match=r"rewards\[1\] is -1\.7e\+308"):
        rows([1.0, -1.7e308])
