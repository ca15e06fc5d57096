"""Episodes: padded as promised, drawn from the policy, and worth what the exact value says."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name
from orchestrace.errors import RecipeError
from orchestrace.training import parse
from orchestrace.training.evaluation import estimate, gap_closed, greedy
from orchestrace.training.policies import Policy, probabilities
from orchestrace.training.rollouts import collected, returns
from orchestrace.training.stack import environments, stack

PRICES = [{"cr": 0.02, "ct": 0.005}, {"cr": 0.1, "ct": 0.01}]
STACK = stack([by_name("batch-voting", {**prices, "max_batch": 4}, grade="posterior") for prices in PRICES])


def random_table(seed):
    weights = np.random.default_rng(seed).exponential(size=STACK.legal.shape) * STACK.legal
    return weights / weights.sum(axis=1, keepdims=True)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), horizon=st.integers(1, 6))
def test_a_batch_is_whole_episodes_padded(seed, horizon):
    batch = collected(STACK, random_table(seed), episodes=20, horizon=horizon, rng=np.random.default_rng(seed))
    T, B = batch.taken.shape
    assert horizon >= T
    assert B == 40
    assert batch.settings.tolist() == [0] * 20 + [1] * 20
    assert batch.taken[0].all()
    assert (batch.cells[0] == STACK.reset(20, np.random.default_rng(0))).all()  # one start each
    assert not (batch.taken[1:] & ~batch.taken[:-1]).any()  # no decision after the end
    for padded in (batch.cells, batch.actions, batch.rewards):
        assert not padded[~batch.taken].any()
    assert STACK.legal[batch.cells, batch.actions][batch.taken].all()
    first, last = STACK.first[batch.settings], np.append(STACK.first[1:], len(STACK.legal))[batch.settings]
    assert ((batch.cells >= first) & (batch.cells < last))[batch.taken].all()
    cut = batch.beyond >= 0
    assert (batch.taken[-1][cut]).all()
    assert horizon == T or not cut.any()


def test_the_same_die_throws_the_same_batch():
    one, two = (
        collected(STACK, random_table(1), episodes=30, horizon=9, rng=np.random.default_rng(5)) for _ in range(2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("grade", ["outcome", "posterior"])
def test_simulation_agrees_with_the_exact_value(grade):
    env = by_name("batch-voting", {"cr": 0.02, "ct": 0.005, "max_batch": 4}, grade=grade)
    table = STACK.tables(random_table(3))[0]
    found = estimate(env, table, episodes=20_000, rng=np.random.default_rng(0))
    assert abs(found.value - env.exact_value(table)) < 5 * found.std_error
    low, high = found.ci
    assert low < found.value < high


def test_both_ways_of_playing_earn_alike():
    table = random_table(4)
    batch = collected(STACK, table, episodes=20_000, horizon=1000, rng=np.random.default_rng(0))
    alone = returns(STACK.envs[0], STACK.tables(table)[0], episodes=20_000, rng=np.random.default_rng(1))
    together = batch.rewards.sum(axis=0)[:20_000]
    error = np.sqrt((alone.var() + together.var()) / 20_000)
    assert abs(alone.mean() - together.mean()) < 5 * error


def test_an_action_without_probability_is_never_taken():
    table = np.zeros(STACK.legal.shape)
    table[:, [0, 2]] = [0.3, 0.7]
    batch = collected(STACK, table, episodes=5_000, horizon=50, rng=np.random.default_rng(0))
    assert set(np.unique(batch.actions[batch.taken])) == {0, 2}
    first = batch.actions[0]
    assert abs((first == 2).mean() - 0.7) < 0.03


def test_a_setting_without_a_gap_has_no_share_of_it():
    env = by_name("batch-voting", {"cr": 1.0, "ct": 1.0})  # so dear that stopping at once is best
    assert gap_closed(env, 0.5) is None


def test_greedy_takes_the_first_of_the_likeliest():
    assert greedy(np.array([[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])).tolist() == [[0, 1, 0], [1, 0, 0]]


def network(seed):
    return Policy(features=5, actions=4, hidden=8, layers=2, generator=torch.Generator().manual_seed(seed))


def test_a_policy_is_a_distribution_over_legal_actions():
    rng = np.random.default_rng(0)
    features = torch.from_numpy(rng.normal(size=(30, 5))).float()
    legal = rng.random((30, 4)) < 0.5
    legal[:, 0] = True
    answer = network(0)(features, torch.from_numpy(legal))
    table = probabilities(answer.logprobs)
    assert table.sum(axis=1) == pytest.approx(np.ones(30), abs=1e-12)
    assert (table[~legal] == 0).all()
    assert torch.isfinite(answer.logprobs).all()
    assert answer.values.shape == (30,)
    even = legal / legal.sum(axis=1, keepdims=True)
    assert np.abs(table - even).max() < 0.02  # a young policy has no opinion


def test_weights_come_from_the_given_die_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one, two, other = network(3), network(3), network(4)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_settings_of_different_actions_cannot_share_a_policy():
    with pytest.raises(RecipeError, match=r"settings\[1\]"):
        parse('env = "batch-voting"\nsettings = [{max_batch = 3}, {max_batch = 4}]')


def test_environments_pay_as_asked():
    recipe = parse('env = {name = "batch-voting", p = 0.8}\nsettings = [{cr = 0.1}, {cr = 0.2}]')
    envs = environments(recipe, grade="posterior")
    assert [env.settings["cr"] for env in envs] == [0.1, 0.2]
    assert {env.settings["p"] for env in envs} == {0.8}
