"""Stopping with a known optimum: Weitzman's boxes, search without recall, the secretary, repair that can damage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name
from orchestrace.envs.stop import boxes, pandora
from orchestrace.envs.table_env import plan_value
from orchestrace.errors import RecipeError
from orchestrace.testing.envs import check_env

few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**31 - 1)


# E5a


def instances_of(chosen):
    """The instances that `pandora` draws, one after another from one die."""
    rng, n, m = np.random.default_rng(chosen["seed"]), chosen["boxes"], chosen["instances"]
    counts = rng.integers(1, n + 1, m) if m > 1 else [n]
    return [boxes.drawn_boxes(int(count), chosen["values"], rng=rng) for count in counts]


def uniform_boxes(count, rng):
    """Boxes as the independent program of the optima draws them."""
    return [
        boxes.Box(np.sort(rng.uniform(0, 1, 3)), rng.dirichlet(np.ones(3)), float(rng.uniform(0.01, 0.2)))
        for _ in range(count)
    ]


def env_of(*instances):
    return pandora.pandora_of(instances, settings={}, most=max(map(len, instances)))


@few
@given(seeds, st.integers(1, 5), st.integers(2, 4), st.integers(1, 4))
def test_the_optimum_is_weitzmans_formula_and_his_rule_reaches_it(seed, n, values, m):
    chosen = {"seed": seed, "boxes": n, "values": values, "instances": m}
    env, instances = by_name("pandora", chosen), instances_of(chosen)
    formula = np.mean([boxes.weitzman_value(drawn) for drawn in instances])
    assert env.optimal_value() == pytest.approx(formula, abs=1e-9)
    assert plan_value(env, pandora.index_plan(instances, most=n)) == pytest.approx(formula, abs=1e-9)


@few
@given(seeds, st.integers(1, 4))
def test_the_recursion_over_boxes_is_the_slow_twin(seed, n):
    """V(closed, best) as in the textbook, with no tables; costs may be so high that a box is not worth opening."""
    rng = np.random.default_rng(seed)
    drawn = [box._replace(cost=box.cost * rng.uniform(0.2, 6)) for box in uniform_boxes(n, rng)]

    def value(closed, best):
        q = [best]
        for i in closed:
            after = [value(closed - {i}, max(best, v)) for v in drawn[i].values]
            q.append(-drawn[i].cost + drawn[i].chances @ after)
        return max(q)

    twin = value(frozenset(range(n)), 0.0)
    assert env_of(drawn).optimal_value() == pytest.approx(twin, abs=1e-9)
    assert boxes.weitzman_value(drawn) == pytest.approx(twin, abs=1e-9)


def test_values_below_the_outside_option_and_ties_between_boxes():
    """A box may hold less than nothing; two boxes may hold the same value."""
    drawn = [
        boxes.Box(np.array([-1.0, 0.0, 0.8]), np.array([0.2, 0.3, 0.5]), 0.05),
        boxes.Box(np.array([-0.5, 0.8]), np.array([0.6, 0.4]), 0.1),
    ]
    env = env_of(drawn)
    assert env.optimal_value() == pytest.approx(boxes.weitzman_value(drawn), abs=1e-12)
    assert env.optimal_value() == pytest.approx(-0.05 + 0.5 * 0.8 + 0.5 * (0.4 * 0.8 - 0.1))


def test_the_independent_program_of_the_optima():
    """200 random instances of four boxes: mean V*, and mean of the best set opened in advance."""
    rng = np.random.default_rng(3)
    drawn = [uniform_boxes(4, rng) for _ in range(200)]
    assert np.mean([boxes.weitzman_value(one) for one in drawn]) == pytest.approx(0.65918, abs=6e-6)
    assert np.mean([boxes.best_fixed_set(one) for one in drawn]) == pytest.approx(0.63313, abs=6e-6)


def test_what_hand_made_rules_leave_on_the_table():
    """The mean over 100 default instances: no rule of thumb is optimal, and deciding in advance is worse."""
    rows = []
    for seed in range(100):
        env = by_name("pandora", {"seed": seed})
        rows.append([env.optimal_value(), *env.baselines().values()])
        assert env.null() == ("stop", 0.0)
    mean = dict(zip(("optimum", *env.baselines()), np.mean(rows, axis=0), strict=True))
    ratio = {name: round(value / mean["optimum"], 3) for name, value in mean.items()}
    assert ratio == {"optimum": 1.0, "best-fixed-set": 0.909, "myopic": 0.989, "by-mean": 0.979, "open-all": 0.647}


@few
@given(seeds, st.integers(2, 4), st.floats(0.001, 1.5))
def test_the_reservation_value_pays_its_price(seed, values, cost):
    box = boxes.drawn_boxes(1, values, rng=np.random.default_rng(seed))[0]._replace(cost=cost)
    sigma = boxes.reservation_value(box)
    assert np.maximum(box.values - sigma, 0) @ box.chances == pytest.approx(cost, abs=1e-12)


@given(st.floats(0.001, 1.5))
def test_closed_reservation_values_of_uniform_and_exponential_boxes(cost):
    s = boxes.uniform_index(cost)
    assert ((1 - s) ** 2 / 2 if s >= 0 else 0.5 - s) == pytest.approx(cost, abs=1e-12)
    s = boxes.exponential_index(cost, rate=2.0)
    assert (math.exp(-2 * s) / 2 if s >= 0 else 0.5 - s) == pytest.approx(cost, abs=1e-12)


@given(st.floats(0.001, 1.5), st.floats(0.05, 1.0), st.floats(0.1, 2.0))
def test_the_closed_reservation_value_of_a_bernoulli_box_is_the_discrete_one(cost, chance, value):
    box = boxes.Box(np.array([0.0, value]), np.array([1 - chance, chance]), cost)
    closed = boxes.bernoulli_index(cost, chance=chance, value=value)
    assert closed == pytest.approx(boxes.reservation_value(box), abs=1e-12)


@given(st.floats(1e-4, 3.0), st.floats(-1, 1), st.floats(0.05, 2))
def test_the_reservation_value_of_a_normal_box_pays_its_price(cost, mean, std):
    z = (boxes.normal_index(cost, mean=mean, std=std) - mean) / std
    density, above = math.exp(-z * z / 2) / math.sqrt(2 * math.pi), math.erfc(z / math.sqrt(2)) / 2
    assert std * (density - z * above) == pytest.approx(cost, abs=1e-9)


def test_reservation_values_that_are_known():
    assert boxes.uniform_index(0.05) == pytest.approx(0.68377, abs=6e-6)
    assert boxes.uniform_index(0.6) == pytest.approx(-0.1)
    assert boxes.exponential_index(0.05, rate=2) == pytest.approx(1.15129, abs=6e-6)
    assert boxes.exponential_index(0.7, rate=2) == pytest.approx(-0.2)
    assert boxes.bernoulli_index(0.05, chance=0.3, value=1) == pytest.approx(0.83333, abs=6e-6)
    assert boxes.bernoulli_index(0.35, chance=0.3, value=1) == pytest.approx(-0.05)
    assert boxes.normal_index(0.02, mean=0.4, std=0.2) == pytest.approx(0.580469, abs=1e-6)


def test_the_same_box_looks_the_same_among_more_boxes():
    """Features have the columns of any size, and a row depends on its own box and on summaries of the others."""
    small, large = (by_name("pandora", {"boxes": n, "seed": 4}) for n in (4, 8))
    assert small.features().shape[1] == large.features().shape[1]
    assert small.action_features().shape[2] == large.action_features().shape[2]
    drawn = uniform_boxes(3, np.random.default_rng(0))
    one, two = env_of(drawn), env_of(drawn[::-1])
    swapped = one.action_features()[0, [0, 3, 2, 1]]
    np.testing.assert_allclose(two.action_features()[0], swapped, atol=1e-12)
    np.testing.assert_allclose(one.features()[0], two.features()[0], atol=1e-12)
    assert not one.action_features()[~one.legal()].any()


def test_what_a_policy_sees_of_a_box():
    drawn = [
        boxes.Box(np.array([0.1, 0.5]), np.array([0.4, 0.6]), 0.1),
        boxes.Box(np.array([0.2, 0.9]), np.array([0.75, 0.25]), 0.05),
    ]
    env = env_of(drawn)
    state = next(s for s in range(len(env.legal())) if env.state_name(s) == "closed: 2; best 0.5")
    seen = [1, 0.5, 0.25, -0.125, 0.05, 0.25, 0.4, -0.3, 0, 0, 0.25, 0.75, 0, 0, 0, 0, 0, 0]
    assert env.action_features()[state, 2] == pytest.approx(seen)
    assert env.action_features()[state, 0] == pytest.approx([0, 0.5, *[0] * 12, math.log(2), 0.05, 0.4, -0.125])
    assert env.features()[state] == pytest.approx([0.5, math.log(2), 0.05, 0.4])


def test_an_episode_spawns_an_attempt_for_each_box_and_stops_with_the_best():
    env = by_name("pandora", {"seed": 1})
    last_legal = len(env.actions) - 1 - env.legal()[:, ::-1].argmax(axis=1)
    everything = np.eye(len(env.actions))[last_legal]
    trace = env.episode(everything, rng=np.random.default_rng(0), trace_id="t")
    kinds = [type(event).__name__ for event in trace.events]
    assert [kinds.count(kind) for kind in ("Spawn", "Delegate", "Return", "Aggregate", "Stop")] == [4, 4, 4, 1, 1]
    returned = max(float(event.content.preview) for event in trace.events if type(event).__name__ == "Return")
    cost = sum(box.cost for box in instances_of({"seed": 1, "boxes": 4, "values": 3, "instances": 1})[0])
    assert trace.rewards["team"] == pytest.approx(returned - cost, abs=1e-3)


def test_an_attempt_is_described():
    text = by_name("pandora").describe(0)
    assert "The best result so far is worth 0.000." in text
    assert len([line for line in text.splitlines() if line.startswith("Attempt")]) == 4


def test_too_many_states_are_refused():
    with pytest.raises(RecipeError, match="states, above"):
        by_name("pandora", {"boxes": 10, "values": 4, "instances": 200})


@pytest.mark.parametrize("chosen", [{"boxes": 1, "values": 2}, {"boxes": 5, "values": 4, "instances": 6}])
def test_boxes_at_the_edges_keep_the_contract(chosen):
    check_env(by_name("pandora", chosen), np.random.default_rng(1), episodes=500, traces=20)
