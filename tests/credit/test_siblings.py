"""Messages against their siblings, answers against the debate."""

import hashlib
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit import rows
from orchestrace.credit.groups.siblings import (
    ContextKey,
    SiblingLOO,
    context_key,
    context_numbers,
    fidelity,
    influence,
    node_rewards,
    within_context_variance,
)
from orchestrace.credit.methods.messages import c3, collab_ui, comas, maporl, mars2, marti
from orchestrace.credit.methods.sequences import ippo, maac_cc, maac_dc, mappo, marft_agents, ppo, turn_ppo
from orchestrace.credit.methods.sets import srpo
from orchestrace.credit.steps.shaping import (
    history_shaped,
    implicit_process_rewards,
    implicit_reward_loss,
    influence_aware,
    paired,
    tree_shaped,
)

NUMBERS = st.floats(-3, 3)


@st.composite
def nodes(draw):
    n = draw(st.integers(1, 10))
    column = st.lists(NUMBERS, min_size=n, max_size=n)
    weights = st.lists(st.floats(0.1, 5), min_size=n, max_size=n)
    return draw(column), draw(column), draw(weights), draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


@given(nodes(), st.sampled_from(["reward_only", "value_only", "value_assisted"]), st.floats(0, 1), st.booleans())
def test_it_is_the_loop(given_, credit, mix, full_mean):
    r, q, w, context = given_
    loo = SiblingLOO(credit=credit, mix=mix, full_mean=full_mean)
    found = loo.advantages(r, context=context, values=q, weights=w)
    share = {"reward_only": 0, "value_only": 1, "value_assisted": mix}[credit]
    for u in range(len(r)):
        group = [k for k in range(len(r)) if context[k] == context[u]]
        others = group if full_mean else [k for k in group if k != u]
        if len(group) == 1:
            assert found.values[u] == 0
            continue
        total = sum(w[k] for k in others)
        baseline = sum(w[k] * ((1 - share) * r[k] + share * q[k]) for k in others) / total
        assert found.values[u] == pytest.approx((q if credit == "value_only" else r)[u] - baseline)
    assert found.degenerate == sum(context.count(c) == 1 for c in context)


@given(nodes(), st.sampled_from(["reward_only", "value_only"]), NUMBERS)
def test_equal_weights_sum_to_zero_and_a_contexts_constant_says_nothing(given_, credit, shift):
    r, q, _, context = given_
    found = SiblingLOO(credit=credit).advantages(r, context=context, values=q)
    assert np.bincount(found.groups, found.values) == pytest.approx(np.zeros(found.groups.max() + 1), abs=1e-9)
    moved = [x + shift * c for x, c in zip(r, context, strict=True)]
    again = SiblingLOO(credit="reward_only").advantages(moved, context=context)
    assert again.values == pytest.approx(
        SiblingLOO(credit="reward_only").advantages(r, context=context).values, abs=1e-9
    )


def test_unequal_replays_worked_example():
    """R = [1, 0, .5, .5] with w = [4, 2, 1, 1]: A = [.75, −.833, −.143, −.143], whose weighted sum is 1.05."""
    w = [4, 2, 1, 1]
    found = SiblingLOO(credit="reward_only").advantages([1, 0, 0.5, 0.5], context=[0] * 4, weights=w).values
    assert found == pytest.approx([0.75, -0.833, -0.143, -0.143], abs=1e-3)
    assert float(np.dot(w, found)) == pytest.approx(1.048, abs=1e-3)


def test_node_rewards_are_means_of_the_leaves_below():
    nan = float("nan")
    found = node_rewards([-1, 0, 0, 1, 1, 2], [nan, nan, nan, 1.0, 0.0, 1.0])
    assert found == pytest.approx([2 / 3, 0.5, 1.0, 1.0, 0.0, 1.0])
    for parent, terminal, said in [
        ([0], [1.0], "before"),
        ([-1, 0], [nan, nan], "leaves"),
        ([-1], [1.0, 2.0], "shape"),
    ]:
        with pytest.raises(ValueError, match=said):
            node_rewards(parent, terminal)


def test_fanout_at_the_root_alone_is_rloo():
    found = c3([1.0, 0.0, 0.0], context=[0, 0, 0]).values
    assert found == pytest.approx([1.0, -0.5, -0.5])
    assert c3([1.0], context=[0]).values.tolist() == [0.0]


def test_diagnostics():
    assert fidelity([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert fidelity([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert fidelity([1, 1, 2], [1, 1, 5]) == pytest.approx(1)
    assert fidelity([1, 1], [0, 5]) is None
    found = SiblingLOO(credit="reward_only").advantages([1, 0, 5], context=[0, 0, 1])
    assert within_context_variance(found) == pytest.approx(1.0)  # ±1 in the first context, a lone node in the second


def test_the_key_of_a_context():
    """C3's own number for the text `x`, and its fingerprint."""
    digest = hashlib.blake2b(b"x", digest_size=8).digest()
    assert context_key(b"x").number == int.from_bytes(digest, "big") % 2**63
    assert context_key(b"x").fingerprint == hashlib.sha256(b"x").hexdigest()
    keys = [context_key(name.encode()) for name in "abca"]
    numbers = context_numbers(keys)
    assert numbers.dtype == np.int64
    assert numbers[0] == numbers[3]
    assert len(set(numbers.tolist())) == 3
    with pytest.raises(ValueError, match="'one' and 'other' share the number 5"):
        context_numbers([ContextKey(5, "one"), ContextKey(5, "other")])
    assert context_numbers([]).shape == (0,)


def slow_influence(context, candidate, symbols):
    """C3's, written out."""
    common = [s for s, _ in sorted(Counter(symbols).items(), key=lambda item: (-item[1], item[0]))[:64]]
    bins = [*common, "OTHER"]
    found = []
    for h in sorted(set(context)):
        rows = [
            (j, s if s in common else "OTHER") for c, j, s in zip(context, candidate, symbols, strict=True) if c == h
        ]
        candidates = sorted({j for j, _ in rows})
        size = {j: sum(i == j for i, _ in rows) for j in candidates}
        share = {j: size[j] / len(rows) for j in candidates}
        given = {(j, y): (rows.count((j, y)) + 1) / (size[j] + len(bins)) for j in candidates for y in bins}
        overall = {y: sum(share[j] * given[j, y] for j in candidates) for y in bins}
        found.append(
            max(0, sum(share[j] * given[j, y] * math.log(given[j, y] / overall[y]) for j in candidates for y in bins))
        )
    return sum(found) / len(found)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 80)), min_size=1, max_size=90))
def test_influence_is_the_loop(rows):
    context, candidate, symbols = (list(column) for column in zip(*rows, strict=True))
    symbols = [str(s) for s in symbols]
    assert influence(context, candidate, symbols=symbols) == pytest.approx(slow_influence(context, candidate, symbols))


def test_influence_tells_the_heard_from_the_deaf():
    told = influence([0] * 40, [0, 1] * 20, symbols=["a", "b"] * 20)
    deaf = influence([0] * 40, [0, 1] * 20, symbols=["a", "a", "b", "b"] * 10)
    assert told > 0.3
    assert deaf == 0
    assert influence([], [], symbols=[]) == 0
    assert influence([7, 7], [0, 0], symbols=["a", "b"]) == 0  # one candidate alone
    with pytest.raises(ValueError, match="symbols has length 1, but context has 2"):
        influence([0, 0], [0, 1], symbols=["a"])


@given(st.floats(-1e9, 1e9), st.integers(2, 7), st.sampled_from([None, [3, 1, 2, 1, 5, 1, 1]]))
def test_equal_rewards_are_exactly_nothing(reward, n, weights):
    found = SiblingLOO(credit="reward_only").advantages([reward] * n, context=[0] * n, weights=weights and weights[:n])
    assert found.values.tolist() == [0.0] * n


@pytest.mark.parametrize("credit", ["reward_only", "value_only", "value_assisted"])
def test_leaving_one_out_leaves_the_gradient_unbiased(credit):
    """All draws of three siblings from a softmax of three messages: E[A ∇ log π] is the gradient of E[r]; with the full
    mean it is 2/3 of it."""
    p = np.exp([0.3, -0.2, 0.1]) / np.exp([0.3, -0.2, 0.1]).sum()
    rewards, critic = np.array([1.0, 0.0, 0.5]), np.array([0.8, 0.3, 0.4])
    truth_of = critic if credit == "value_only" else rewards
    truth = p * (truth_of - p @ truth_of)
    expected = {full: np.zeros(3) for full in (False, True)}
    for drawn in itertools.product(range(3), repeat=3):
        for full in expected:
            found = SiblingLOO(credit=credit, mix=0.5, full_mean=full).advantages(
                rewards[list(drawn)], context=[0] * 3, values=critic[list(drawn)]
            )
            scores = np.eye(3)[list(drawn)] - p
            expected[full] += np.prod(p[list(drawn)]) * (found.values @ scores) / 3
    assert expected[False] == pytest.approx(truth)
    if credit != "value_assisted":
        assert expected[True] == pytest.approx(truth * 2 / 3)


@given(nodes(), st.integers(0, 2**32 - 1))
def test_nodes_in_any_order(given_, seed):
    r, q, w, context = (np.array(column) for column in given_)
    order = np.random.default_rng(seed).permutation(len(r))
    loo = SiblingLOO(mix=0.3)
    found = loo.advantages(r, context=context, values=q, weights=w).values
    moved = loo.advantages(r[order], context=context[order], values=q[order], weights=w[order]).values
    assert moved == pytest.approx(found[order])


def test_influence_aware_worked_example():
    """s(0) = [.4, .8], s(1) = [.9, .7], γ = .3: r(0,0) = (.4 + .3 · .8) / 1.3 = .4923; r(0,1) = .8."""
    found = influence_aware([[0.4, 0.8], [0.9, 0.7]], 1).values
    assert found[0] == pytest.approx([0.4923, 0.8], abs=1e-4)
    assert found[1] == pytest.approx([0.9, 0.7])


@given(
    st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(0, 1),
    st.sampled_from(["all", "individual", "last", "current"]),
)  # fmt: skip
def test_influence_laws(t, n, seed, discount, mix):
    """Within [min, max]; constants stay; the last round has its own score; γ = 0 the own score; what follows the end,
    such as the −1 of the reference code, is never looked at."""
    rng = np.random.default_rng(seed)
    s = rng.random((t + 2, n))
    s[t:] = -1.0
    found = influence_aware(s, t - 1, discount=discount, mix=mix)
    assert found.values.shape == (t, n)
    assert (found.values >= s[:t].min() - 1e-12).all()
    assert (found.values <= s[:t].max() + 1e-12).all()
    assert found.values[-1] == pytest.approx(s[t - 1])
    assert influence_aware(np.full((t, n), 0.3), t - 1, discount=discount, mix=mix).values == pytest.approx(0.3)
    if mix != "last":
        assert influence_aware(s, t - 1, discount=0.0, mix=mix).values == pytest.approx(s[:t])
    if mix == "all":
        for i in range(t):
            later = [discount ** (k - i) * s[k].mean() for k in range(i + 1, t)]
            weights = sum(discount ** (k - i) for k in range(i, t))
            assert found.values[i] == pytest.approx((s[i] + sum(later)) / weights)


def test_history_shaping():
    assert history_shaped([1, 0, 1], kind="margin").values == pytest.approx([1, -0.5, 1.25])
    quality = history_shaped([1, 0, 1], kind="quality", weight=1.0).added  # Q = -, 1, ½
    assert quality == pytest.approx([0, 0, 0.5])
    assert history_shaped([1, 0], kind="margin", weight=0, outcome_weight=0.1).added == pytest.approx([0, 0])
    assert marti([0, 1]).added.tolist() == [0, 0.5]
    assert marti([0, 1], kind="quality", outcome_weight=0.5).values.tolist() == [0.5, 1.5]
    assert len(marti([]).values) == 0
    assert marti(np.zeros((0, 3))).values.shape == (0, 3)
    assert marti(np.zeros((2, 0))).values.shape == (2, 0)


@given(
    st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from(["margin", "quality"]),
    st.sampled_from(["all", "own"]), st.integers(1, 3),
)  # fmt: skip
def test_history_shaping_is_the_loop(n, t, seed, kind, earlier, first):
    """MARTI's own loop, over agents and rounds; no answer sees another of its round."""
    raw = np.random.default_rng(seed).random((n, t))
    found = history_shaped(raw, kind=kind, weight=0.4, outcome_weight=0.3, earlier=earlier, first=first)
    assert found.raw.tolist() == raw.tolist()
    for a in range(n):
        for i in range(t):
            shaped = raw[a, i] + 0.3 * raw[a, -1]
            if i >= first:
                q = np.mean(raw[:, :i]) if earlier == "all" else np.mean(raw[a, :i])
                shaped += 0.4 * (raw[a, i] - q if kind == "margin" else q * raw[a, i] - (1 - q) * (1 - raw[a, i]))
            assert found.values[a, i] == pytest.approx(shaped)


def test_tree_shaping_worked_example():
    """Parent .5, children [1, 0], γ = λ = ½: 1 + ½ (1 − .25) = 1.375 and 0 + ½ (0 − .75) = −.375."""
    assert tree_shaped([0.5, 1, 0], [-1, 0, 0]).values.tolist() == [0.5, 1.375, -0.375]
    only = tree_shaped([0.5, 1], [-1, 0]).values
    assert only == pytest.approx([0.5, 1.25])  # no sibling: the parent alone
    roots = tree_shaped([1.0, 0.0], [-1, -1]).values
    assert roots == pytest.approx([1.5, -0.5])  # no parent: the siblings alone


def slow_tree(r, parent, tree, weight, sibling_weight):
    shaped = []
    for u in range(len(r)):
        siblings = [r[k] for k in range(len(r)) if k != u and parent[k] == parent[u] and tree[k] == tree[u]]
        if parent[u] < 0 and not siblings:
            shaped.append(r[u])
            continue
        share = 1.0 if parent[u] < 0 else sibling_weight if siblings else 0.0
        against = share * (sum(siblings) / len(siblings) if siblings else 0.0)
        against += (1 - share) * (r[parent[u]] if parent[u] >= 0 else 0.0)
        shaped.append(r[u] + weight * (r[u] - against))
    return shaped


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_tree_shaping_is_the_loop_in_any_order_of_nodes(n, seed):
    rng = np.random.default_rng(seed)
    tree = np.sort(rng.integers(0, 2, n))
    parent = np.full(n, -1)
    for i in range(1, n):
        parent[i] = rng.choice([-1, *np.flatnonzero(tree[:i] == tree[i])])
    r = rng.random(n)
    found = tree_shaped(r, parent, tree=tree, weight=0.3, sibling_weight=0.6).values
    assert found == pytest.approx(slow_tree(r, parent, tree, 0.3, 0.6))
    order = rng.permutation(n)
    place = np.argsort(order)
    moved = np.where(parent[order] < 0, -1, place[parent[order]])
    again = tree_shaped(r[order], moved, tree=tree[order], weight=0.3, sibling_weight=0.6).values
    assert again == pytest.approx(found[order])
    sums = np.bincount(tree, mars2(r, parent, tree=tree).values)
    assert sums == pytest.approx(np.zeros(len(sums)), abs=1e-6)


def test_trees_of_other_tasks_change_nothing():
    together = mars2([1.0, 0.0, 0.5, 0.7], [-1, 0, -1, 2], tree=[0, 0, 1, 1]).values
    alone = mars2([1.0, 0.0], [-1, 0], tree=[0, 0]).values
    assert together[:2].tolist() == alone.tolist()
    with pytest.raises(ValueError, match="node 1 and its parent 0 are in two trees"):
        tree_shaped([1.0, 0.0], [-1, 0], tree=[0, 1])
    with pytest.raises(ValueError, match=r"parent\[0\] is 0, which is no other node"):
        tree_shaped([1.0], [0])


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=6))
def test_a_pair_shares_one_unit(verdicts):
    """u and 1 − u; a malformed verdict costs its judge and pays nobody."""
    scores, right = (np.array(column) for column in zip(*verdicts, strict=True))
    solution, evaluation, judge = comas(np.where(right, scores, np.nan), well_formed=right)
    assert (solution + evaluation)[right].tolist() == [1.0] * int(right.sum())
    assert (solution == (scores - 1) / 2)[right].all()
    assert np.isnan(solution[~right]).all()
    assert np.isnan(evaluation[~right]).all()
    assert judge.tolist() == np.where(right, 0.0, -1.0).tolist()
    assert comas(scores).judge.tolist() == [0.0] * len(scores)
    with pytest.raises(ValueError, match="scale"):
        paired([4], lowest=1, highest=3)
    with pytest.raises(ValueError, match=r"well_formed has shape \(2,\), but scores have \(1,\)"):
        paired([1], lowest=1, highest=3, well_formed=[1, 1])
    with pytest.raises(ValueError, match=r"scores\[0\] is nan"):
        paired([math.nan], lowest=1, highest=3)


def test_implicit_process_rewards_are_mean_log_ratios():
    found = implicit_process_rewards([-1.0, -2.0, -3.0], [-2.0, -2.0, -1.0], action=[0, 0, 1])
    assert found.tolist() == [0.5, -2.0]
    without = implicit_process_rewards([-1.0, -9.0, -3.0], [-2.0, -2.0, -1.0], action=[0, 0, 1], mask=[1, 0, 1])
    assert without.tolist() == [1.0, -2.0]  # what a tool wrote counts for nothing
    assert implicit_process_rewards([], [], action=[]).shape == (0,)
    with pytest.raises(ValueError, match="numbered from 0"):
        implicit_process_rewards([0.0], [0.0], action=[-1])


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2)), max_size=8), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_the_loss_of_an_implicit_model_is_cross_entropy(actions, outcome):
    found = implicit_reward_loss([a for a, _ in actions], outcome, rollout=[r for _, r in actions], beta=0.5)
    for rollout, y in enumerate(outcome):
        chance = 1 / (1 + math.exp(-0.5 * sum(a for a, r in actions if r == rollout)))
        assert found[rollout] == pytest.approx(-y * math.log(chance) - (1 - y) * math.log(1 - chance), abs=1e-9)


def test_the_loss_of_an_implicit_model_stays_finite():
    assert implicit_reward_loss([1e4], [0.0], rollout=[0], beta=1.0).tolist() == [1e4]
    with pytest.raises(ValueError, match="outcomes lie in"):
        implicit_reward_loss([0.0], [2.0], rollout=[0], beta=1.0)
    with pytest.raises(ValueError, match=r"numbered 0\.\.0"):
        implicit_reward_loss([0.0], [1.0], rollout=[1], beta=1.0)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2]))
def test_preference_pairs_prefer(t, n, seed, margin):
    """Every ordered pair of one round whose scores differ enough, and no other."""
    scores = np.random.default_rng(seed).integers(0, 3, (t, n)) / 2
    flat = scores.ravel()
    expected = {
        (i, j) for i, j in itertools.product(range(t * n), repeat=2) if i // n == j // n and flat[i] > flat[j] + margin
    }
    assert set(collab_ui(scores, margin=margin)) == expected
    assert collab_ui([[0.9, 0.1], [0.5, 0.5]]) == ((0, 1),)


def test_a_set_has_the_advantage_of_its_rollout_among_those_of_the_task():
    found = srpo(rows([1.0, 0.0, 0.0, 1.0], task=[0, 0, 1, 1]))
    assert found.values == pytest.approx([2**-0.5, -(2**-0.5), -(2**-0.5), 2**-0.5], abs=1e-5)
    assert srpo(rows([1.0])).values.tolist() == [0.0]


def test_maporl_without_a_critic_is_return_to_go_of_the_shaped_rewards():
    s = np.array([[0.4, 0.8], [0.9, 0.7], [-1, -1]])
    found = maporl(s, np.zeros((3, 2)), finished=1, lam=1.0).values
    r = influence_aware(s, 1).values
    assert found == pytest.approx([*(r[0] + r[1]), *r[1]])


def test_critics():
    """MAPPO: equal values and a shared reward give agents of one step the same; one-turn episodes are R − V."""
    same = mappo([1, 1], [0.3, 0.3], rollout=[0, 0], agent=[0, 1], position=[0, 0]).advantages.values
    assert same.tolist() == [0.7, 0.7]
    assert turn_ppo([1.0], [0.25], rollout=[0], agent=[0], position=[0]).advantages.values.tolist() == [0.75]
    assert ippo([1.0], [0.25], rollout=[0], agent=[0], position=[0]).targets.tolist() == [1.0]
    joint = maac_cc([0.0, 0.0, 1.0], [0.5, 0.5, 0.5])
    assert joint.advantages.values.sum() == pytest.approx(0.5)  # a constant V and γ = 1: errors telescope to R − V
    assert joint.targets.tolist() == [0.5, 0.5, 1.0]
    two = maac_cc([1.0, 0.0, 0.5], [0.0, 0.5, 0.25], rollout=[1, 0, 1], position=[1, 0, 0])
    assert two.advantages.values.tolist() == [1.0, -0.5, 0.25]
    own = maac_dc([1.0, 1.0], [0.0, 0.5], agent=[0, 1], position=[0, 0])
    assert own.advantages.values.tolist() == [1.0, 0.5]
    zero = marft_agents([0.0, 0.0], [0.0, 0.0], rollout=[0, 0], position=[0, 1]).advantages.values
    assert zero.tolist() == [0.0, 0.0]  # exact zeros stay zeros, not NaN
    tokens = ppo([[0.0, 9.0, 1.0]], [[0.5, 9.0, 0.5]], mask=[[1, 0, 1]])
    assert tokens.values[0, 1] == 0
    assert tokens.values[0] == pytest.approx([0.475, 0, 0.5])


def test_wrong_use_is_said():
    with pytest.raises(ValueError, match="needs values"):
        SiblingLOO().advantages([1.0], context=[0])
    with pytest.raises(ValueError, match="weights must be positive"):
        SiblingLOO(credit="reward_only").advantages([1.0], context=[0], weights=[0.0])
    with pytest.raises(ValueError, match="at most 1e"):
        SiblingLOO(credit="reward_only").advantages([1.0, 0.0], context=[0, 0], weights=[1e17, 1.0])
    with pytest.raises(ValueError, match="mix is 2"):
        SiblingLOO(mix=2)
    with pytest.raises(ValueError, match="is none of"):
        SiblingLOO(credit="both")
    with pytest.raises(ValueError, match="no round"):
        influence_aware([[0.5]], 1)
    with pytest.raises(ValueError, match="is none of"):
        influence_aware([[0.5]], 0, mix="some")
    with pytest.raises(ValueError, match="is none of"):
        history_shaped([1.0], kind="trend")
    with pytest.raises(ValueError, match="no other node"):
        tree_shaped([1.0], [3])
    with pytest.raises(ValueError, match=r"discount is -1"):
        influence_aware([[0.5]], 0, discount=-1)
    with pytest.raises(ValueError, match="finished has dtype float64"):
        influence_aware([[0.5], [0.5]], 0.5)
    with pytest.raises(ValueError, match="earlier='mine'"):
        history_shaped([1.0], kind="margin", earlier="mine")
    with pytest.raises(ValueError, match="first is 0"):
        history_shaped([1.0], kind="margin", first=0)
    with pytest.raises(ValueError, match=r"values have shape \(2, 1\), but scores have \(1, 2\)"):
        maporl([[0.5, 0.5]], [[0.0], [0.0]], finished=0)
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="must be finite"):
            SiblingLOO(credit="reward_only").advantages([bad], context=[0])
        with pytest.raises(ValueError, match="must be finite"):
            influence_aware([[bad]], 0)
