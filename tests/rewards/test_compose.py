"""R8: weighted sums, and who moves them."""

from math import fsum, isclose, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards import Composed, Moments, Term, Unavailable, agent, balance, compose, composed, process, team
from orchestrace.rewards.schedules import Linear
from rewards.hand_made import EVIDENCE, NOTHING, one, small_team, values

TRACE = small_team()
numbers = st.floats(-100, 100).map(lambda x: round(x, 6))


def channel(name, *values_):
    return tuple(Reward(name, "R7", "turn", f"u.{i}", value) for i, value in enumerate(values_))


def emitted():
    """outcome .8; own outcome 1 and .5; progress .75 and −1."""
    return [team.outcome(TRACE, EVIDENCE), agent.own_outcome(TRACE, EVIDENCE), process.progress(TRACE, EVIDENCE)]


def test_by_hand():
    terms = [Term("outcome"), Term("own_outcome", 0.2, reduce="mean"), Term("progress", 0.5, Linear(0.4))]
    found = composed(TRACE, emitted(), terms=terms, progress=0.2)
    # 1·.8 + .2·(1 + .5)/2 + .5·½·(.75 − 1)
    assert [(c.channel, c.raw, c.weight, c.weighted) for c in found.channels] == [
        ("outcome", 0.8, 1.0, 0.8),
        ("own_outcome", 0.75, 0.2, 0.2 * 0.75),
        ("progress", -0.25, 0.25, -0.0625),
    ]
    assert found.total == fsum([0.8, 0.2 * 0.75, -0.0625])
    assert len(found.rewards) == 5
    row = compose.total(TRACE, found)
    assert one(row) == found.total
    assert row[0].family == "R8"
    assert row[0].why == "1·outcome 0.8 + 0.2·own_outcome 0.75 + 0.25·progress -0.25"


def test_a_channel_without_a_term_is_logged_and_weighs_nothing():
    found = composed(TRACE, emitted(), terms=[Term("outcome", 2.0)])
    assert [(c.channel, c.weight) for c in found.channels] == [("outcome", 2.0), ("own_outcome", 0), ("progress", 0)]
    assert found.total == 1.6


def test_a_missing_channel_leaves_no_total_unless_it_is_optional():
    lacking = [*emitted(), Unavailable("finish_rate", "nothing was spawned or delegated")]
    terms = [Term("outcome"), Term("finish_rate", 0.2)]
    found = composed(TRACE, lacking, terms=terms)
    assert found.total is None
    assert found.unavailable == (Unavailable("finish_rate", "nothing was spawned or delegated"),)
    assert compose.total(TRACE, found) == Unavailable("total", "not available: finish_rate")
    assert composed(TRACE, lacking, terms=[Term("outcome"), Term("finish_rate", 0.2, optional=True)]).total == 0.8
    assert composed(TRACE, lacking, terms=[Term("outcome"), Term("finish_rate", 0.0)]).total == 0.8


def test_a_factor_with_a_memory():
    found = composed(TRACE, emitted(), terms=[Term("outcome"), Term("progress", 2.0)], factors={"progress": 0.25})
    assert [c.weight for c in found.channels] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"terms": [Term("outcom")]}, "no channel 'outcom' was emitted; there are: outcome, own_outcome, progress"),
        ({"terms": [Term("outcome"), Term("outcome", 2)]}, "channel 'outcome' has two terms"),
        ({"terms": [Term("outcome", float("nan"))]}, "the weight of 'outcome' is nan; it must be finite"),
        ({"terms": [], "factors": {"x": 1.0}}, "no channel 'x' was emitted"),
    ],
)
def test_odd_terms(more, message):
    with pytest.raises(ValueError, match=message):
        composed(TRACE, emitted(), **more)


def test_a_channel_is_emitted_once():
    for twice in (channel("a", 1.0), Unavailable("a", "x")):
        with pytest.raises(ValueError, match="channel 'a' was emitted twice"):
            composed(TRACE, [channel("a", 1.0), twice], terms=[])


def test_nothing_at_all():
    found = composed(TRACE, [], terms=[])
    assert (found.channels, found.total, found.rewards) == ((), 0.0, ())


channels = st.lists(st.lists(numbers, min_size=1, max_size=4), min_size=1, max_size=5)


@given(channels, st.lists(st.tuples(numbers, st.sampled_from(["sum", "mean"])), min_size=5, max_size=5),
       st.randoms(use_true_random=False))  # fmt: skip
def test_weighted_channels_sum_to_the_total_exactly(rows, weights, die):
    given_ = [channel(f"c{i}", *row) for i, row in enumerate(rows)]
    terms = [Term(f"c{i}", w, reduce=r) for i, (w, r) in enumerate(weights[: len(rows)])]
    found = composed(TRACE, given_, terms=terms)
    assert found.total == fsum(c.weighted for c in found.channels)
    slow = sum(
        w * (sum(row) if r == "sum" else sum(row) / len(row)) for row, (w, r) in zip(rows, weights, strict=False)
    )
    assert isclose(found.total, slow, rel_tol=1e-9, abs_tol=1e-6)
    die.shuffle(given_)
    die.shuffle(terms)
    assert composed(TRACE, given_, terms=terms).total == found.total
    weighted = compose.weighted_rows(found)
    for c in found.channels:
        assert isclose(
            fsum(r.value for r in weighted if r.channel == c.channel), c.weighted, rel_tol=1e-9, abs_tol=1e-9
        )
        if c.row_weight == c.weight:
            assert c.weighted == c.weight * c.raw


def batch(table, weights):
    """[trace][channel] raw values."""
    terms = [Term(f"c{i}", w) for i, w in enumerate(weights)]
    return [composed(TRACE, [channel(f"c{i}", v) for i, v in enumerate(row)], terms=terms) for row in table]


def test_variance_shares_by_hand():
    # raw c0 in {0, 1}: variance 1/4, weight 1; raw c1 in {0, 4}: variance 4, weight ½, so weighted 1; independent
    found = {s.channel: s for s in balance.spreads(batch([(0, 0), (0, 4), (1, 0), (1, 4)], [1.0, 0.5]))}
    assert (found["c0"].variance, found["c1"].variance) == (0.25, 4.0)
    assert (found["c0"].share, found["c1"].share) == (0.2, 0.8)
    assert (found["c0"].of_total, found["c1"].of_total) == (0.2, 0.8)
    # half of 1.25 each: w0 = √(.625/.25), w1 = √(.625/4)
    assert isclose(found["c0"].balanced, sqrt(2.5))
    assert isclose(found["c1"].balanced, sqrt(0.625 / 4))


def test_what_does_not_vary_has_no_share():
    (only,) = balance.spreads(batch([(3,), (3,)], [1.0]))
    assert (only.share, only.of_total, only.balanced) == (None, None, None)
    assert balance.spreads([]) == ()


def test_a_trace_without_the_channel_says_nothing_about_its_moments():
    full = composed(TRACE, [channel("a", 2.0)], terms=[Term("a", optional=True)])
    less = composed(TRACE, [Unavailable("a", "x")], terms=[Term("a", optional=True)])
    (found,) = balance.spreads([full, less])
    assert (found.traces, found.mean, found.variance) == (1, 2.0, 0.0)
    assert (found.share, found.of_total) == (1.0, 1.0)  # yet it moves the total from 0 to 2


tables = st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[st.integers(-9, 9)] * n), min_size=1, max_size=12))


@given(tables, st.lists(st.floats(0.1, 3), min_size=4, max_size=4))
def test_shares_sum_to_one_and_the_balanced_weights_do_what_they_say(table, weights):
    given_ = batch([tuple(map(float, row)) for row in table], weights[: len(table[0])])
    found = balance.spreads(given_)
    totals = np.array([result.total for result in given_])
    for s in found:
        raw = np.array([row[int(s.channel[1:])] for row in table], float)
        assert isclose(s.variance, raw.var(), abs_tol=1e-9)
        if s.of_total is not None and totals.var() > 1e-9:
            weighted = raw * weights[int(s.channel[1:])]
            cov = ((weighted - weighted.mean()) * (totals - totals.mean())).mean()
            assert isclose(s.of_total, cov / totals.var(), rel_tol=1e-6, abs_tol=1e-6)
    if found[0].share is not None:
        assert isclose(fsum(s.share for s in found), 1.0)
    varying = [s for s in found if s.balanced is not None]
    assert {s.channel for s in varying} == {s.channel for s in found if s.variance > 0}
    if varying:
        parts = [s.balanced**2 * s.variance for s in varying]
        assert np.allclose(parts, parts[0])
        before = fsum(weights[int(s.channel[1:])] ** 2 * s.variance for s in varying)
        assert isclose(fsum(parts), before, rel_tol=1e-9)


@given(tables, st.integers(0, 12))
def test_running_moments_are_those_of_all_values(table, cut):
    given_ = batch([tuple(map(float, row)) for row in table], [1.0] * len(table[0]))
    known = balance.moments(balance.moments({}, given_[:cut]), given_[cut:])
    for i in range(len(table[0])):
        raw = np.array([row[i] for row in table], float)
        assert known[f"c{i}"].n == len(table)
        assert isclose(known[f"c{i}"].mean, raw.mean(), abs_tol=1e-9)
        assert isclose(known[f"c{i}"].variance, raw.var(), abs_tol=1e-9)


def test_forgetting():
    (old,) = batch([(0.0,)], [1.0])
    (new,) = batch([(1.0,)], [1.0])
    assert balance.moments(balance.moments({}, [old]), [new], keep=0.0)["c0"] == Moments(1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"keep is 2; it must lie in \[0, 1\]"):
        balance.moments({}, [old], keep=2)


def test_targets():
    known = {"a": Moments(9, 0.0, 1.0), "b": Moments(9, 0.0, 4.0), "still": Moments(9, 0.0, 0.0)}
    terms = [Term("a", 1.0), Term("b", -1.0), Term("still", 3.0), Term("off", 0.0), Term("new", 2.0)]
    # Σ w²v = 1 + 4 = 5, in parts 4 and 1: a √(4/1), b −√(1/4)
    found = {t.channel: t.weight for t in balance.balanced(terms, known, targets={"a": 0.8, "b": 0.2})}
    assert found == {"a": 2.0, "b": -0.5, "still": 3.0, "off": 0.0, "new": 2.0}
    alone = {t.channel: t.weight for t in balance.balanced(terms, known, targets={"a": 7.0})}
    assert alone == {"a": 1.0, "b": -1.0, "still": 3.0, "off": 0.0, "new": 2.0}
    with pytest.raises(ValueError, match="the target of 'a' is 0"):
        balance.balanced(terms, known, targets={"a": 0})


def test_evidence_of_nothing():
    found = composed(TRACE, [team.outcome(TRACE, NOTHING)], terms=[Term("outcome")])
    assert isinstance(found, Composed)
    assert (found.total, found.rewards) == (None, ())
    assert values(team.outcome(TRACE, Evidence(grades={"team": {"t": 0.0}}))) == {"t": 0.0}
