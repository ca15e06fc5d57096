"""Ratios, clipping and the weights of tokens, beside loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.losses.objectives import OBJECTIVES, Objective, divergence, token_weights
from orchestrace.credit.losses.ratios import Ratio

LOGS = st.floats(-2, 0)
AGGREGATIONS = [
    "token_mean", "seq_mean_token_mean", "seq_mean_token_sum_norm", "per_rollout_mean", "turn_mean",
]  # fmt: skip


@st.composite
def tokens(draw):
    """(new, old, mask, rollout, sequence, turn, member) a token."""
    k = draw(st.integers(1, 14))
    new, old = (np.array(draw(st.lists(LOGS, min_size=k, max_size=k))) for _ in range(2))
    mask = np.array(draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    sequence, turn, member = (np.array(draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))) for _ in range(3))
    return new, old, mask, sequence // 2, sequence, turn, member


REDUCED = {"mean": lambda x: sum(x) / len(x), "sum": sum, "sqrt": lambda x: sum(x) / math.sqrt(len(x))}


@given(tokens(), st.sampled_from(["token", "turn", "sequence", "set"]), st.sampled_from(["mean", "sum", "sqrt"]))
def test_a_ratio_is_the_loop(given_, level, reduction):
    new, old, mask, _, sequence, _, member = given_
    found = Ratio(level=level, reduction=reduction).ratios(new, old, mask=mask, unit=sequence, members=member).values
    for k in range(len(new)):
        if not mask[k]:
            assert found[k] == 1
            continue
        own = [j for j in range(len(new)) if mask[j] and sequence[j] == sequence[k]]
        if level == "token":
            log = new[k] - old[k]
        elif level == "set":
            by_member = {m: [new[j] - old[j] for j in own if member[j] == m] for m in {member[j] for j in own}}
            log = sum(REDUCED[reduction](logs) for logs in by_member.values()) / len(by_member)
        else:
            log = REDUCED[reduction]([new[j] - old[j] for j in own])
        assert found[k] == pytest.approx(math.exp(log))


def test_set_ratio_worked_example():
    """l = [.3, −.1]: log ρ = .1, ρ = 1.105; the product of the members' ratios would be 1.221."""
    found = Ratio(level="set", reduction="sum").ratios(
        [0.3, -0.1], [0.0, 0.0], mask=[1, 1], unit=[0, 0], members=[0, 1]
    )
    assert found.slopes.tolist() == [0.5, 0.5]
    assert found.values == pytest.approx([1.105, 1.105], abs=1e-3)


@given(tokens())
def test_a_set_of_one_is_a_sequence_and_doubling_a_member_changes_nothing(given_):
    new, old, mask, _, sequence, _, member = given_
    single = Ratio(level="set").ratios(new, old, mask=mask, unit=sequence, members=np.zeros_like(member))
    alike = Ratio(level="sequence").ratios(new, old, mask=mask, unit=sequence)
    assert single.values == pytest.approx(alike.values)
    assert single.slopes == pytest.approx(alike.slopes)
    before = Ratio(level="set").ratios(new, old, mask=mask, unit=np.zeros_like(member), members=member)
    doubled = [np.concatenate([x, x]) for x in (new, old, mask)]
    twice = np.concatenate([member, member + 3])
    after = Ratio(level="set").ratios(*doubled[:2], mask=doubled[2], unit=np.zeros_like(twice), members=twice)
    assert after.values[: len(new)] == pytest.approx(before.values)


@given(tokens(), st.sampled_from(["mean", "sum", "sqrt"]))
def test_parallel_members_of_a_set_weigh_alike(given_, reduction):
    """However long: a shift of all of one member's log ratios moves log ρ by 1/|S| of what it moves the member's."""
    new, old, mask, _, _, _, member = given_
    found = Ratio(level="set", reduction=reduction).ratios(
        new, old, mask=mask, unit=np.zeros_like(member), members=member
    )
    present = sorted({m for m, trains in zip(member.tolist(), mask.tolist(), strict=True) if trains})
    for m in present:
        own = [k for k in range(len(new)) if mask[k] and member[k] == m]
        moved = {"mean": 1.0, "sum": len(own), "sqrt": math.sqrt(len(own))}[reduction]
        assert found.slopes[own].sum() == pytest.approx(moved / len(present))


@given(st.integers(1, 9), st.floats(-1, 1))
def test_a_turn_ratio_does_not_grow_with_length(k, log):
    ratio = Ratio(level="turn", cap=3.0)
    found = ratio.ratios(np.full(k, log), np.zeros(k), mask=np.ones(k), unit=np.zeros(k, int))
    assert found.values == pytest.approx(np.full(k, math.exp(log)))


def test_a_ratio_is_held_at_its_limits_and_pushes_nothing_there():
    """ReMA holds a turn's log ratio at 3 above only; everything is held within ± 20."""
    turn = Ratio(level="turn", cap=3.0).ratios([50.0, -4.0], [0.0, 0.0], mask=[1, 1], unit=[0, 1])
    assert turn.values == pytest.approx([math.exp(3), math.exp(-4)])
    assert turn.slopes.tolist() == [0, 1]
    token = Ratio().ratios([800.0, -800.0], [-800.0, 800.0], mask=[1, 1])
    assert token.values == pytest.approx([math.exp(20), math.exp(-20)])
    assert token.slopes.tolist() == [0, 0]


@given(tokens(), st.sampled_from(AGGREGATIONS))
def test_weights_are_the_loop(given_, aggregation):
    _, _, mask, rollout, sequence, turn, _ = given_
    found = token_weights(aggregation, mask, sequence=sequence, turn=turn, rollout=rollout, longest=7)
    ks = [k for k in range(len(mask)) if mask[k]]

    def alike(column, k):
        return sum(column[j] == column[k] for j in ks)

    sequences, rollouts = len({sequence[k] for k in ks}), len({rollout[k] for k in ks})
    turns = list(zip(sequence.tolist(), turn.tolist(), strict=True))
    for k in range(len(mask)):
        expected = 0.0
        if mask[k]:
            expected = {
                "token_mean": 1 / len(ks),
                "seq_mean_token_mean": 1 / (sequences * alike(sequence, k)),
                "seq_mean_token_sum_norm": 1 / (sequences * 7),
                "per_rollout_mean": 1 / (rollouts * alike(rollout, k)),
                "turn_mean": 1
                / (sequences * len({turns[j] for j in ks if sequence[j] == sequence[k]}) * turns_alike(turns, ks, k)),
            }[aggregation]
        assert found[k] == pytest.approx(expected)
    if ks and aggregation != "seq_mean_token_sum_norm":
        assert found.sum() == pytest.approx(1)


def turns_alike(turns, ks, k):
    return sum(turns[j] == turns[k] for j in ks)


@given(tokens(), st.floats(0, 0.5), st.floats(0, 0.5), st.none() | st.floats(1.5, 4))
def test_the_surrogate_is_the_loop_and_its_gradient_that_of_finite_differences(given_, low, high, dual):
    new, old, mask, _, sequence, _, member = given_
    advantages = np.cos(7 * new) * 2 + member
    objective = Objective(clip_low=low, clip_high=high, dual_clip=dual)
    weights = token_weights("token_mean", mask, sequence=sequence)

    def term(k, log):
        rho, a = math.exp(log), advantages[k]
        value = min(rho * a, min(max(rho, 1 - low), 1 + high) * a)
        return max(value, dual * a) if dual is not None and a < 0 else value

    found = objective.surrogate(advantages, objective.ratio.ratios(new, old, mask=mask), mask=mask, weights=weights)
    expected = sum(weights[k] * term(k, new[k] - old[k]) for k in range(len(new)) if mask[k])
    assert found.value == pytest.approx(expected)
    h = 1e-7
    for k in range(len(new)):
        log = new[k] - old[k]
        near_a_kink = min(abs(math.exp(log) - edge) for edge in (1 - low, 1 + high, dual or 9)) < 1e-4
        if mask[k] and not near_a_kink:
            slope = weights[k] * (term(k, log + h) - term(k, log - h)) / (2 * h)
            assert found.gradient[k] == pytest.approx(slope, abs=1e-5)
        if not mask[k]:
            assert found.gradient[k] == 0


@given(st.sampled_from(sorted(OBJECTIVES)), tokens())
def test_the_gradient_of_every_published_objective_is_that_of_finite_differences(name, given_):
    """J as a function of one token's log-probability, through the ratio of the token's whole unit."""
    new, old, mask, rollout, sequence, turn, member = given_
    objective = OBJECTIVES[name]
    weights = token_weights(objective.aggregation, mask, sequence=sequence, turn=turn, rollout=rollout, longest=5)
    unit = 3 * sequence + turn if objective.ratio.level == "turn" else sequence
    advantages = np.where(unit % 2 == 0, 1.5, -0.7)

    def at(logprobs):
        ratios = objective.ratio.ratios(logprobs, old, mask=mask, unit=unit, members=member)
        return objective.surrogate(advantages, ratios, mask=mask, weights=weights)

    h = 1e-6
    for k in range(len(new)):
        step = np.where(np.arange(len(new)) == k, h, 0.0)
        here, up, down = at(new), at(new + step), at(new - step)
        if np.array_equal(up.gradient == 0, down.gradient == 0):  # no kink between the two
            assert here.gradient[k] == pytest.approx((up.value - down.value) / (2 * h), rel=1e-4, abs=1e-7)


def test_without_a_clip_and_on_policy_the_push_is_that_of_the_sum_of_logprobs():
    """MAGRPO, RLOO: A · Σ log π, averaged over the sequences: a token of a long one is pushed as hard."""
    mask, sequence = np.ones(4, bool), np.array([0, 1, 1, 1])
    for name in ("magrpo", "rloo"):
        objective = OBJECTIVES[name]
        ratios = objective.ratio.ratios(np.zeros(4), np.zeros(4), mask=mask, unit=sequence)
        weights = token_weights(objective.aggregation, mask, sequence=sequence)
        found = objective.surrogate([1.0, -2.0, -2.0, -2.0], ratios, mask=mask, weights=weights)
        assert found.gradient == pytest.approx([0.5, -1.0, -1.0, -1.0])


def test_a_unit_has_one_advantage():
    """ReMA averages the advantages of a turn's tokens before it clips the turn once."""
    objective = OBJECTIVES["rema"]
    ratios = objective.ratio.ratios([0.5, 0.5], [0.0, 0.0], mask=[1, 1], unit=[0, 0])
    found = objective.surrogate([3.0, -1.0], ratios, mask=[1, 1], weights=[0.5, 0.5])
    assert found.value == pytest.approx(1.2)
    assert found.clipped == 1


def test_a_turn_of_one_is_gspo():
    """One turn an episode: ReMA's ratio is GSPO's."""
    new, old, row = np.array([-1.0, -2.0, -0.5]), np.array([-1.2, -1.5, -0.7]), np.array([0, 0, 1])
    one, other = (Ratio(level=level).ratios(new, old, mask=[1, 1, 1], unit=row) for level in ("turn", "sequence"))
    assert one.values.tolist() == other.values.tolist()


def test_per_rollout_mean_worked_example():
    """Agent Lightning: rollouts of 2 + 1 and of 3 tokens have half the weight each, however they are cut into rows."""
    found = token_weights("per_rollout_mean", np.ones(6), sequence=[0, 0, 1, 2, 2, 2], rollout=[0, 0, 0, 1, 1, 1])
    assert found == pytest.approx([1 / 6] * 6)
    whole = token_weights("per_rollout_mean", np.ones(6), sequence=[0, 0, 0, 2, 2, 2], rollout=[0, 0, 0, 1, 1, 1])
    assert whole.tolist() == found.tolist()


@pytest.mark.parametrize("hole", [float("nan"), float("inf"), -9.0])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_tools_tokens_are_pushed_by_exactly_nothing(name, hole):
    """Every published objective: what the policy did not write trains nothing and changes no other token's push, even
    where it has no log-probability at all."""
    objective = OBJECTIVES[name]
    mask = np.array([True, False, True, True])
    columns = {"sequence": np.array([0, 0, 0, 1]), "turn": np.array([0, 0, 1, 0]), "rollout": np.array([0, 0, 0, 1])}

    def pushed(written_by_the_tool):
        new = np.array([-0.1, written_by_the_tool, -0.3, -0.2])
        old = np.array([-0.2, written_by_the_tool, -0.2, -0.3])
        ratios = objective.ratio.ratios(new, old, mask=mask, unit=columns["sequence"], members=columns["turn"])
        weights = token_weights(objective.aggregation, mask, longest=4, **columns)
        return objective.surrogate([1.0, 1.0, 1.0, -1.0], ratios, mask=mask, weights=weights).gradient

    assert pushed(hole)[1] == 0
    assert pushed(hole).tolist() == pushed(-0.4).tolist()


def test_divergence_estimators():
    """k1 and k3 have the divergence as their mean under π; k2 and k3 are never negative."""
    pi, ref = np.array([0.7, 0.2, 0.1]), np.array([0.5, 0.3, 0.2])
    truth = float(pi @ np.log(pi / ref))
    for estimator in ("k1", "k3"):
        assert pi @ divergence(np.log(pi), np.log(ref), estimator=estimator) == pytest.approx(truth)
    for estimator in ("k2", "k3"):
        assert (divergence(np.log(pi), np.log(ref), estimator=estimator) >= 0).all()
    assert divergence([0.0], [0.5], estimator="k3")[0] == pytest.approx(math.exp(0.5) - 0.5 - 1)
    assert divergence([-800.0], [0.0], estimator="k3")[0] == pytest.approx(math.exp(20) - 21)


def test_wrong_use_is_said():
    with pytest.raises(ValueError, match="level='turn' needs unit"):
        Ratio(level="turn").ratios([0.0], [0.0], mask=[1])
    with pytest.raises(ValueError, match="level='set' needs members"):
        Ratio(level="set").ratios([0.0], [0.0], mask=[1], unit=[0])
    with pytest.raises(ValueError, match="level='word' is none of"):
        Ratio(level="word")
    with pytest.raises(ValueError, match="cap is 0"):
        Ratio(cap=0)
    with pytest.raises(ValueError, match=r"logprobs\[0\] is nan"):
        Ratio().ratios([math.nan], [0.0], mask=[1])
    with pytest.raises(ValueError, match="ratios has length 1, but advantages has 2"):
        Objective().surrogate([1, 1], Ratio().ratios([0.0], [0.0], mask=[1]), mask=[1, 1], weights=[1, 1])
    with pytest.raises(ValueError, match="turn_mean needs turn"):
        token_weights("turn_mean", [1], sequence=[0])
    with pytest.raises(ValueError, match="needs longest"):
        token_weights("seq_mean_token_sum_norm", [1], sequence=[0])
    with pytest.raises(ValueError, match="is none of"):
        token_weights("mean", [1], sequence=[0])
    with pytest.raises(ValueError, match="is none of"):
        Objective(aggregation="mean")
    with pytest.raises(ValueError, match="dual_clip is 1"):
        Objective(dual_clip=1.0)
    with pytest.raises(ValueError, match="clip"):
        Objective(clip_low=2.0)
    with pytest.raises(ValueError, match=r"old_logprobs has shape \(1,\), but mask has \(2,\)"):
        Ratio().ratios([0.0, 0.0], [0.0], mask=[1, 1])
    with pytest.raises(ValueError, match="estimator='k4'"):
        divergence([0.0], [0.0], estimator="k4")


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_nothing_gives_nothing(aggregation):
    empty = np.zeros(0, int)
    assert token_weights(aggregation, empty, sequence=empty, turn=empty, rollout=empty, longest=1).shape == (0,)
    masked = token_weights(aggregation, [0, 0], sequence=[0, 1], turn=[0, 0], rollout=[0, 0], longest=1)
    assert masked.tolist() == [0, 0]
    for objective in OBJECTIVES.values():
        ratios = objective.ratio.ratios(empty, empty, mask=empty, unit=empty, members=empty)
        assert objective.surrogate(empty, ratios, mask=empty, weights=empty).value == 0
    assert Ratio(level="set").ratios(empty, empty, mask=empty, unit=empty, members=empty).values.shape == (0,)
