"""Published methods: their worked numbers, what they reduce to, and the traps of their code, which are not ours."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.batches import PRESETS, at, batches, keys_of, lengths, moved
from orchestrace.credit import GroupBaseline, rows
from orchestrace.credit.methods.agents import (
    ccpo,
    ccpo_shapley,
    dr_mas,
    magrpo,
    magrpo_cross,
    sharp_loo,
    sharp_shapley,
    soft_rank_po,
)
from orchestrace.credit.methods.orchestrators import fold_grpo, kimi_parl, m_grpo, open_parl, wideseek_r1
from orchestrace.credit.methods.outcome import (
    agent_lightning,
    dapo,
    dr_grpo,
    gigpo,
    grpo,
    lite_ppo,
    opo,
    overlong_penalty,
    pass_at_k,
    reinforce_pp_baseline,
    rloo,
)
from orchestrace.credit.methods.roles import mars_rl, marshal, matpo, rema, spiral

HALF = math.sqrt(0.5)
"""Of two rewards 1 and 0: (1 − .5) / std, with ddof 1."""


# ---- outcome


def test_dapo_counts_the_groups_that_its_filter_would_drop():
    """Task 0 is solved by nobody, task 1 by all, task 2 by one of two."""
    found = dapo(rows([0, 0, 1, 1, 1, 0], task=[0, 0, 1, 1, 2, 2]))
    assert found.values == pytest.approx([0, 0, 0, 0, HALF, -HALF], abs=1e-5)
    assert found.degenerate == 4


def test_overlong_answers_are_punished_in_a_line():
    """L_max = 100, L_c = 20: nothing up to 80, half of it at 90, all from 100 on."""
    found = overlong_penalty([1.0] * 6, [0, 80, 85, 90, 100, 500], longest=100, cache=20)
    assert found.added.tolist() == [0, 0, -0.25, -0.5, -1, -1]
    assert found.values.tolist() == [1, 1, 0.75, 0.5, 0, 0]
    for cache in (0, 101):
        with pytest.raises(ValueError, match=f"cache is {cache}"):
            overlong_penalty([0], [0], longest=100, cache=cache)


def test_lite_ppo_divides_by_the_batch():
    """Rewards [1, 0] and [4, 0]: std of the four is 1.893."""
    found = lite_ppo(rows([1, 0, 4, 0], task=[0, 0, 1, 1]))
    assert found.values == pytest.approx(np.array([0.5, -0.5, 2, -2]) / np.std([1, 0, 4, 0], ddof=1), abs=1e-5)


@given(batches())
def test_reinforce_pp_has_mean_zero_and_deviation_one(given_):
    votes = at(given_, np.unique(given_.rollout, return_index=True)[1])
    found = reinforce_pp_baseline(votes)
    several = np.bincount(found.groups)[found.groups] > 1
    if found.values.any():
        assert found.values[several].mean() == pytest.approx(0, abs=1e-9)
        assert found.values[several].std(ddof=1) == pytest.approx(1, abs=1e-6)


@given(batches())
def test_opo_leaves_nothing_by_length(given_):
    """Σ len_i A_i = 0 in every group; equal lengths leave Dr. GRPO."""
    found = opo(given_, lengths(given_))
    assert np.bincount(found.groups, lengths(given_) * found.values) == pytest.approx(0, abs=1e-9)
    votes = at(given_, np.unique(given_.rollout, return_index=True)[1])
    assert opo(votes, np.full(len(votes), 7)).values == pytest.approx(dr_grpo(votes).values)


def test_opo_worked_example():
    """R = [1, 0] with 30 and 10 tokens: baseline .75."""
    assert opo(rows([1, 0], task=[0, 0]), [30, 10]).values.tolist() == [0.25, -0.75]
    for wrong in ([1, 0], [1, -1]):
        with pytest.raises(ValueError, match=r"lengths\[1\] is .*; it must be positive"):
            opo(rows([1, 0]), wrong)
    with pytest.raises(ValueError, match="lengths has length 1, but rewards has 2"):
        opo(rows([1, 0]), [1])


def test_pass_at_k_teaches_the_best_rollout_in_all_its_rows():
    """Rollouts 0, 1, 2 earn 1, 3, 2; rollout 1 has two rows."""
    found = pass_at_k(rows([1, 3, 3, 2], task=[0] * 4, rollout=[0, 1, 1, 2]))
    assert found.values.tolist() == [0, 1, 1, 0]
    assert pass_at_k(rows([3, 3, 2], task=[0] * 3)).values.tolist() == [0, 0, 0]


def test_agent_lightning_counts_rollouts():
    """R = [1, 0] with 1 and 3 calls: mean .5, not .25. Calls of a rollout that disagree are refused."""
    found = agent_lightning(rows([1, 0, 0, 0], task=[0] * 4, rollout=[0, 1, 1, 1]))
    assert found.values == pytest.approx([HALF, -HALF, -HALF, -HALF], abs=1e-5)
    with pytest.raises(ValueError, match="another row of rollout 1 has"):
        agent_lightning(rows([1, 0, 1], task=[0] * 3, rollout=[0, 1, 1]))


def test_gigpo_worked_example():
    """Two rollouts of two steps that start in one state (context 5); only the first is paid, 1 at its end.

    A^E = ±.5. Step returns, γ = .5: [.5, 1] and [0, 0]. In the shared state the mean is .25; the others met nobody.
    """
    given_ = rows([1, 1, 0, 0], task=[0] * 4, rollout=[0, 0, 1, 1], turn=[0, 1, 0, 1], context=[5, 6, 5, 7])
    found = gigpo(given_, [0, 1, 0, 0], discount=0.5)
    assert found.values.tolist() == [0.75, 0.5, -0.75, -0.5]
    assert gigpo(given_, [0, 1, 0, 0], discount=0.5, weight=2.0).values.tolist() == [1, 0.5, -1, -0.5]
    assert gigpo(given_, [0, 1, 0, 0], discount=0.5, weight=0.0).values.tolist() == dr_grpo(given_).values.tolist()


def test_gigpo_groups_a_state_that_one_rollout_meets_twice():
    given_ = rows([1, 1], task=[0, 0], rollout=[0, 0], turn=[0, 1], context=[5, 5])
    found = gigpo(given_, [0, 1], discount=0.5)
    assert found.values.tolist() == [-0.25, 0.25]
    assert found.degenerate == 0


@given(batches(), st.sampled_from(["none", "std_group"]))
def test_gigpo_without_its_states_is_grpo(given_, scale):
    alone = rows(given_.rewards, **{**keys_of(given_), "context": np.arange(len(given_))})
    plain = GroupBaseline(scale=scale).advantages(alone)
    found = gigpo(alone, given_.turn, discount=0.9, scale=scale)
    assert found.values.tolist() == plain.values.tolist()


# ---- agents


@given(batches())
def test_dr_mas_is_grpo_where_everyone_speaks_once_and_earns_the_same(given_):
    votes = at(given_, np.unique(given_.rollout, return_index=True)[1], agent=np.zeros(len(set(given_.rollout.tolist()))
                                                                                    , np.int64))  # fmt: skip
    both = at(votes, np.tile(np.arange(len(votes)), 2), agent=np.repeat([0, 1], len(votes)))
    assert dr_mas(both).values == pytest.approx(grpo(both).values)


@given(batches(), st.integers(-5, 5))
def test_dr_mas_does_not_see_what_is_added_to_one_agent(given_, bonus):
    paid = rows(given_.rewards + bonus * (given_.agent == 1), **keys_of(given_))
    assert dr_mas(paid).values == pytest.approx(dr_mas(given_).values, abs=1e-9)


def test_magrpo_of_one_agent_is_dr_grpo():
    given_ = rows([1, 0, 0, 1], task=[0] * 4, context=[3] * 4)
    assert magrpo(given_).values.tolist() == dr_grpo(given_).values.tolist()


def test_magrpo_gives_a_joint_action_one_advantage():
    """Two agents, three joint actions of one node."""
    given_ = rows([3, 3, 1, 1, 2, 2], task=[0] * 6, rollout=[0, 0, 1, 1, 2, 2], agent=[0, 1] * 3, context=[9] * 6)
    assert magrpo(given_).values.tolist() == [1, 1, -1, -1, 0, 0]


tables = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(st.integers(-4, 4), min_size=math.prod(shape), max_size=math.prod(shape)).map(
        lambda values: np.array(values, float).reshape(shape)
    )
)


@given(tables)
def test_magrpo_cross_is_the_mean_over_the_others(table):
    """Textbook: for each agent and sample, the mean reward of the joint actions that hold it, less their mean."""
    found = magrpo_cross(table)
    for agent, size in enumerate(table.shape):
        returns = [
            np.mean([table[j] for j in itertools.product(*map(range, table.shape)) if j[agent] == c])
            for c in range(size)
        ]
        expected = np.array(returns) - np.mean(returns) if size > 1 else np.zeros(1)
        assert found[agent].values == pytest.approx(expected, abs=1e-9)


@given(tables, st.randoms(use_true_random=False))
def test_magrpo_cross_does_not_see_the_order_of_the_others_samples(table, die):
    order = list(range(table.shape[1]))
    die.shuffle(order)
    assert magrpo_cross(table[:, order])[0].values == pytest.approx(magrpo_cross(table)[0].values, abs=1e-12)


def test_magrpo_cross_sums_grow_with_the_others():
    """The trap of its code: two agents with K = 3, the sum is three times the mean; with three agents nine times."""
    for agents in (2, 3):
        table = np.zeros((3,) * agents)
        table[0] = 1.0
        mean, total = magrpo_cross(table)[0].values, magrpo_cross(table, reduction="sum")[0].values
        assert mean == pytest.approx([2 / 3, -1 / 3, -1 / 3])
        assert total == pytest.approx(3 ** (agents - 1) * mean)
    with pytest.raises(ValueError, match="reduction='max'"):
        magrpo_cross(table, reduction="max")
    with pytest.raises(ValueError, match=r"joint_rewards\[0, 1\] is nan"):
        magrpo_cross([[0, float("nan")], [0, 0]])
    with pytest.raises(ValueError, match="must have 1 axes"):
        magrpo_cross(1.0)
    with pytest.raises(ValueError, match=r"shape \(0, 2\); every agent needs a sample"):
        magrpo_cross(np.zeros((0, 2)))


@given(batches())
def test_sharp_without_its_terms_is_dr_mas(given_):
    ones, none = np.ones(len(given_)), (0.0, 0.0)
    for method in (sharp_loo, sharp_shapley):
        found = method(given_, ones, tools=ones, weights=none)
        assert found.values.tolist() == dr_mas(given_, weighting="rollout").values.tolist()


def test_sharp_pays_a_marginal():
    """Both agents share R = 1, 1. Agent 1's output mattered in rollout 0 alone; agent 0's was a placeholder: Δ = 0."""
    given_ = rows([1, 1, 1, 1], task=[0] * 4, rollout=[0, 0, 1, 1], agent=[0, 1, 0, 1])
    found = sharp_loo(given_, [0, 1, 0, 0], tools=[0] * 4, weights=(0.5, 0.2))
    assert found.values == pytest.approx([0, HALF, 0, -HALF], abs=1e-5)
    assert found.degenerate == 2
    with pytest.raises(ValueError, match="marginals has length 1"):
        sharp_loo(given_, [0], tools=[0] * 4, weights=(1, 1))
    with pytest.raises(ValueError, match="shares has length 1"):
        sharp_shapley(given_, [0], tools=[0] * 4, weights=(1, 1))
    with pytest.raises(ValueError, match=r"tools\[0\] is nan"):
        sharp_loo(given_, [0] * 4, tools=[float("nan")] * 4, weights=(1, 1))


def test_ccpo_as_a_game_of_two():
    """Solo .4, joint 1: the thinker earns .3, the solver .7."""
    (found,) = ccpo_shapley([0.4], [1.0])
    assert found.values == pytest.approx([0.3, 0.7])
    assert found.total == 1
    assert found.residual == pytest.approx(0)
    with pytest.raises(ValueError, match=r"solo\[0\] is nan"):  # its code gives the thinker all of it then
        ccpo_shapley([float("nan")], [1.0])


def test_ccpo_pays_help_and_fines_harm():
    """Joint right and solo mostly wrong; wrong and right; right both; wrong both; a tie is neither."""
    found = ccpo([1, -1, 1, -1, 1], [-0.5, 0.5, 0.5, -0.5, 0])
    assert found.thinker.values == pytest.approx([1.2, -1.2, 1, -1, 1])
    assert found.solver.values.tolist() == [1, -1, 1, -1, 1]
    assert not found.thinker.telescopes


def test_soft_rank_worked_example():
    group = rows([0.9, 0.1, 0.5, 0.5], task=[0] * 4)
    assert soft_rank_po(group).values == pytest.approx([1.107, -1.107, 0, 0], abs=1e-3)
    assert soft_rank_po(group, temperature=1e-9).values == pytest.approx([1.150, -1.150, 0, 0], abs=1e-3)


@given(batches())
def test_soft_ranks_see_only_the_order_as_they_harden(given_):
    """Any increasing map of the rewards; bounded by the outermost quantile, each way of a mean that is taken off."""
    hard = soft_rank_po(given_, temperature=1e-9)
    bent = rows(np.exp(given_.rewards), **keys_of(given_))
    assert soft_rank_po(bent, temperature=1e-9).values == pytest.approx(hard.values, abs=1e-9)
    assert np.abs(hard.values).max(initial=0) < 2.5


# ---- roles


@given(batches())
def test_a_worker_has_its_planners_advantage(given_):
    found = matpo(given_)
    planners = np.flatnonzero(given_.parent < 0)
    for row, parent in enumerate(given_.parent):
        if parent >= 0:
            assert found.values[row] == found.values[parent]
    alone = at(given_, planners)
    assert found.values[planners] == pytest.approx(grpo(alone).values, abs=1e-12)
    assert matpo(alone).values == pytest.approx(found.values[planners], abs=1e-12)


def test_matpo_worked_example():
    """Planner 0 earned 1 and called two workers, one of which called a third; planner 1 earned 0 and called nobody."""
    given_ = rows([1, 9, -9, 5, 0], task=[0] * 5, rollout=[0, 0, 0, 0, 1], parent=[-1, 0, 0, 2, -1])
    assert matpo(given_).values == pytest.approx([HALF, HALF, HALF, HALF, -HALF], abs=1e-5)


@given(batches())
def test_rema_of_one_role_is_grpo(given_):
    one = rows(given_.rewards, **{**keys_of(given_), "role": np.zeros(len(given_), np.int64)})
    assert rema(one).values == pytest.approx(grpo(one).values, abs=1e-12)


def test_rema_pays_nothing_for_what_was_not_finished():
    """Two rollouts earned 1, one was cut off: returns [1, 0]. With γ = .5 the first of two turns has half."""
    given_ = rows([1, 1], task=[0, 0])
    assert rema(given_, finished=[True, False]).values == pytest.approx([HALF, -HALF], abs=1e-5)
    turns = rows([1, 1, 0, 0], task=[0] * 4, rollout=[0, 0, 1, 1], turn=[0, 1, 0, 1])
    # votes .75 and 0: mean .375, std .53
    assert rema(turns, discount=0.5).values == pytest.approx(
        (np.array([0.5, 1, 0, 0]) - 0.375) / (0.75 * HALF), abs=1e-5
    )
    with pytest.raises(ValueError, match="discount is 2"):
        rema(given_, discount=2)


def test_spiral_worked_example():
    """Rewards 1, 1, −1 of one role: A = 1, .95, −1.0975; b = .05, .0975, .0426."""
    found = spiral(rows([1, 1, -1]), order=[0, 1, 2])
    assert found.advantages.values == pytest.approx([1, 0.95, -1.0975])
    assert found.after == {0: pytest.approx(0.0426, abs=1e-4)}
    assert spiral(rows([1, 1]), order=[0, 1]).after == {0: pytest.approx(0.0975)}


@given(batches(), st.randoms(use_true_random=False))
def test_spiral_goes_by_the_order_it_is_told(given_, die):
    order = list(range(len(given_)))
    die.shuffle(order)
    found = spiral(given_, order=-given_.rollout, discount=0.9)
    again = spiral(at(given_, np.array(order)), order=-given_.rollout[order], discount=0.9)
    assert again.advantages.values == pytest.approx(found.advantages.values[order], abs=1e-12)
    assert again.after == pytest.approx(found.after)


def test_spiral_gives_every_turn_of_a_role_its_share_and_roles_share_nothing():
    """A zero-sum game: player 0 wins twice. With one baseline for both they would cancel each other."""
    given_ = rows([1, 1, -1, 1, -1], rollout=[0, 0, 0, 1, 1], role=[0, 0, 1, 0, 1], turn=[0, 2, 1, 0, 1])
    found = spiral(given_, order=[0, 0, 0, 1, 1], discount=0.5)
    assert found.advantages.values == pytest.approx([0.5, 1, -1, 0.95, -0.95])
    assert found.after == {0: pytest.approx(0.0975), 1: pytest.approx(-0.0975)}
    later = spiral(given_, order=[0, 0, 0, 1, 1], before=found.after).advantages
    assert later.values[0] == pytest.approx(1 - 0.0975)


def test_spiral_wants_one_number_a_rollout():
    given_ = rows([0, 0, 0], rollout=[0, 0, 1])
    for wrong in ([0, 1, 2], [0, 0, 0]):
        with pytest.raises(ValueError, match="one each"):
            spiral(given_, order=wrong)
    with pytest.raises(ValueError, match="order has length 2"):
        spiral(given_, order=[0, 1])
    assert spiral(rows([]), order=[]).after == {}


def test_marshal_shares_a_terminal_reward_among_the_turns_of_a_player():
    """Player 0 wins the first game in two turns and loses the second in one: turns 1, 1, −1, mean 1/3."""
    given_ = rows([0, 1, -1, -1, 1], task=[0] * 5, rollout=[0, 0, 0, 1, 1], role=[0, 0, 1, 0, 1], turn=[0, 1, 0, 0, 0])
    found = marshal(given_)
    assert found.values == pytest.approx([2 / 3, 2 / 3, -1, -4 / 3, 1])
    other = rows([0, 1, 5, -1, 9], **keys_of(given_))
    assert marshal(other).values[[0, 1, 3]].tolist() == found.values[[0, 1, 3]].tolist()


def test_marshal_does_not_count_distinct_numbers():
    """Returns 1, 1, 1, 0 have mean .75; the mean of distinct numbers is .5, with padding or float noise yet another."""
    assert marshal(rows([1, 1, 1, 0], task=[0] * 4)).values.tolist() == [0.25, 0.25, 0.25, -0.75]
    noisy = marshal(rows([0.1 + 0.2, 0.3, 0.3, 0.0], task=[0] * 4))
    assert noisy.values == pytest.approx([0.075, 0.075, 0.075, -0.225])


def test_marshal_centred_before_its_sums_pays_length():
    """All scores 1 in games of two turns and of one: centred first there is nothing left; uncentred, length pays by
    itself. A win at the end shared by all turns is no longer shared once scores are centred first."""
    even = rows([1, 1, 1], task=[0] * 3, rollout=[0, 0, 1], turn=[0, 1, 0])
    assert marshal(even, centre_rewards=True).values.tolist() == [0, 0, 0]
    end = rows([0, 1, 0], task=[0] * 3, rollout=[0, 0, 1], turn=[0, 1, 0])
    assert np.ptp(marshal(end).values[:2]) == 0
    assert np.ptp(marshal(end, centre_rewards=True).values[:2]) == pytest.approx(1 / 3)


def test_mars_rl_compares_the_very_same_input():
    """A verifier saw a right solution (input 1) and a wrong one (input 2): two samples each."""
    given_ = rows([1, 0, 1, 1], task=[0] * 4, role=[1] * 4, context=[1, 1, 2, 2])
    assert mars_rl(given_).values == pytest.approx([HALF, -HALF, 0, 0], abs=1e-5)
    assert mars_rl(given_).degenerate == 2


# ---- orchestrators


def team(calls):
    """Rollouts of one task: a main agent, and so many sub-agents each, who earn their rollout's number."""
    table = []
    for rollout, sub in enumerate(calls):
        main = len(table)
        table.append((rollout, rollout, 0, -1))
        table += [(rollout, rollout, 1 + i, main) for i in range(sub)]
    reward, rollout, agent, parent = zip(*table, strict=True)
    return rows(reward, task=[0] * len(table), rollout=rollout, agent=agent, parent=parent)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_m_grpo_has_so_many_sub_agents_of_each_rollout(calls, target, seed):
    given_ = team(calls)
    found = m_grpo(given_, target=target, rng=np.random.default_rng(seed))
    sub = given_.parent[found.rows] >= 0
    for rollout, number in enumerate(calls):
        own = given_.rollout[found.rows] == rollout
        assert (own & ~sub).sum() == 1
        assert (own & sub).sum() == (target if number else 0)
        if number == target:
            assert len(set(found.rows[own & sub].tolist())) == number
    main = grpo(at(given_, np.flatnonzero(given_.parent < 0))).values
    assert found.advantages.values[~sub] == pytest.approx(main)
    assert found.advantages.values[sub].sum() == pytest.approx(0, abs=1e-9)
    if (~sub).any() and sub.any():
        assert not set(found.advantages.groups[sub].tolist()) & set(found.advantages.groups[~sub].tolist())


def test_m_grpo_keeps_the_turns_of_a_call_together():
    """One call of two turns and one of one, D = 1: both stay, and the pool is two calls, not three rows."""
    given_ = rows(
        [1, 0, 1, 1, 0], task=[0] * 5, rollout=[0, 1, 0, 0, 1], agent=[0, 0, 1, 1, 1], parent=[-1, -1, 0, 0, 1]
    )
    found = m_grpo(given_, target=1, rng=np.random.default_rng(0))
    assert found.rows.tolist() == [0, 1, 2, 3, 4]
    assert found.advantages.values == pytest.approx([HALF, -HALF, HALF, HALF, -HALF], abs=1e-5)
    # D = 2: each call twice, and the pool is 1, 1, 0, 0 with deviation .5774, not 1, 0
    twice = m_grpo(given_, target=2, rng=np.random.default_rng(0))
    assert twice.rows.tolist() == [0, 1, 2, 3, 2, 3, 4, 4]
    assert twice.advantages.values[2:] == pytest.approx(np.array([1, 1, 1, 1, -1, -1]) * 0.5 / 0.57735, abs=1e-4)
    empty = m_grpo(rows([]), target=1, rng=np.random.default_rng(0))
    assert empty.rows.shape == empty.advantages.values.shape == (0,)


def test_parl_trains_the_orchestrator_alone():
    """Sub-agents are frozen: 0, whatever they would have earned, and they are no part of the mean."""
    given_ = team([2, 0])
    found = kimi_parl(given_, temperature=0.5)
    assert found.values.tolist() == [-1, 0, 0, 1]
    assert found.degenerate == 0
    for wrong in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="temperature is"):
            kimi_parl(given_, temperature=wrong)


def test_open_parl_has_a_pool_for_turns_on_the_way_and_one_for_last_turns():
    """On the way .3, .1, .2; at the end 1, 0."""
    given_ = rows([0.3, 0.1, 1, 0.2, 0], task=[0] * 5, rollout=[0, 0, 0, 1, 1], turn=[0, 1, 2, 0, 1])
    found = open_parl(given_, final=[False, False, True, False, True])
    assert found.values == pytest.approx([1, -1, HALF, 0, -HALF], abs=1e-4)


def test_wideseek_gives_everyone_the_rollouts_advantage():
    given_ = rows([1, 1, 1, 0], task=[0] * 4, rollout=[0, 0, 0, 1], agent=[0, 1, 2, 0])
    assert wideseek_r1(given_).values == pytest.approx([HALF, HALF, HALF, -HALF], abs=1e-5)


def test_fold_grpo_worked_example():
    """R = [1, 0]: mean .5, std .7071. In rollout 0 one turn left its scope (−.2), one ran on unfolded (−1)."""
    given_ = rows([1, 1, 1, 0], task=[0] * 4, rollout=[0, 0, 0, 1])
    found = fold_grpo(given_, [0, -0.2, -1, -1])
    assert found.values == pytest.approx(np.array([0.5, 0.3, -0.5, -0.5]) / HALF, abs=1e-5)
    flat = fold_grpo(rows([1, 1], task=[0, 0]), [-1, 0])
    assert flat.values.tolist() == [0, 0]
    assert flat.degenerate == 2
    with pytest.raises(ValueError, match="another row of rollout 0"):
        fold_grpo(rows([1, 0], task=[0, 0], rollout=[0, 0]), [0, 0])
    with pytest.raises(ValueError, match=r"rewards\[1\] is 1.5"):
        fold_grpo(rows([1, 1.5], task=[0, 0]), [0, 0])


@given(batches())
def test_fold_grpo_without_penalties_is_grpo(given_):
    inside = moved(given_, shift=0.5, factor=0.1)
    assert fold_grpo(inside, np.zeros(len(inside))).values == pytest.approx(grpo(inside).values)


# ---- traps


@pytest.mark.parametrize("method", [rloo, dr_grpo])
def test_no_second_division(method):
    """C3's code divides leave-one-out credit by a deviation around the mean: ours scales with the rewards."""
    given_ = rows([1, 0, 0, 1, 1, 0], task=[0] * 6)
    assert method(moved(given_, factor=10.0)).values == pytest.approx(10 * method(given_).values)


@pytest.mark.parametrize("name", ["rloo", "gigpo"])
def test_no_row_of_a_rollout_is_overlooked(name):
    """Dr. MAS's code keeps a trajectory's first row alone; here a rollout's later rows change its mean."""
    first = rows([1, 1, 0], task=[0] * 3, rollout=[0, 0, 1], turn=[0, 1, 0], context=[0, 1, 2])
    later = rows([1, 3, 0], task=[0] * 3, rollout=[0, 0, 1], turn=[0, 1, 0], context=[0, 1, 2])
    assert PRESETS[name].of(first).values[2] != PRESETS[name].of(later).values[2]


def test_an_advantage_of_exactly_zero_stays_zero():
    """MARFT's code turns exact zeros into NaN before it normalises."""
    found = grpo(rows([1, 0.5, 0], task=[0] * 3))
    assert found.values[1] == 0
