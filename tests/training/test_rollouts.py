"""Episodes: padded as promised, drawn from the policy, and worth what the exact value says."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name
from orchestrace.envs.dynamic_programming import optimum
from orchestrace.errors import RecipeError
from orchestrace.training import parse
from orchestrace.training.evaluation import estimate, gap_closed, greedy
from orchestrace.training.learner import asked, frozen
from orchestrace.training.policies import Mlp, PerAction, Seen, Tabular, View, distributions, probabilities, tensor
from orchestrace.training.rollouts import collected, returns
from orchestrace.training.stack import environments, joined, stack

PRICES = [{"cr": 0.02, "ct": 0.005}, {"cr": 0.1, "ct": 0.01}]
STACK = stack([by_name("batch-voting", {**prices, "max_batch": 4}) for prices in PRICES], grade="posterior")

KINDS = ["mlp", "per-action", "tabular"]


def by(table):
    return lambda cells: table[cells]


def random_table(seed):
    weights = np.random.default_rng(seed).exponential(size=STACK.legal.shape) * STACK.legal
    return weights / weights.sum(axis=1, keepdims=True)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), horizon=st.integers(1, 6))
def test_a_batch_is_whole_episodes_padded(seed, horizon):
    batch = collected(STACK, by(random_table(seed)), episodes=20, horizon=horizon, rng=np.random.default_rng(seed))
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


def test_settings_joined_are_each_itself():
    whole = joined([env.process for env in STACK.envs])
    values = optimum(whole).values
    for i, env in enumerate(STACK.envs):
        own = values[STACK.first[i] : STACK.first[i] + len(env.legal())]
        np.testing.assert_allclose(own, optimum(env.process).values, atol=1e-12)
    assert (STACK.stops == 0).all()
    right = np.concatenate([env.process.means[env.process.pairs[:, 0]] for env in STACK.envs])
    assert (STACK.stop_values == right).all()


def test_the_same_die_throws_the_same_batch():
    one, two = (
        collected(STACK, by(random_table(1)), episodes=30, horizon=9, rng=np.random.default_rng(5)) for _ in range(2)
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
    batch = collected(STACK, by(table), episodes=20_000, horizon=1000, rng=np.random.default_rng(0))
    alone = returns(STACK.envs[0], STACK.tables(table)[0], episodes=20_000, rng=np.random.default_rng(1))
    together = batch.rewards.sum(axis=0)[:20_000]
    error = np.sqrt((alone.var() + together.var()) / 20_000)
    assert abs(alone.mean() - together.mean()) < 5 * error


def test_an_action_without_probability_is_never_taken():
    table = np.zeros(STACK.legal.shape)
    table[:, [0, 2]] = [0.3, 0.7]
    batch = collected(STACK, by(table), episodes=5_000, horizon=50, rng=np.random.default_rng(0))
    assert set(np.unique(batch.actions[batch.taken])) == {0, 2}
    first = batch.actions[0]
    assert abs((first == 2).mean() - 0.7) < 0.03


def test_a_setting_without_a_gap_has_no_share_of_it():
    env = by_name("batch-voting", {"cr": 1.0, "ct": 1.0})  # so dear that stopping at once is best
    assert gap_closed(env, 0.5) is None


def test_greedy_takes_the_first_of_the_likeliest():
    assert greedy(np.array([[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])).tolist() == [[0, 1, 0], [1, 0, 0]]


def network(kind, seed, *, features=5, options=3, actions=4):
    generator = torch.Generator().manual_seed(seed)
    if kind == "mlp":
        return Mlp(features=features, actions=actions, hidden=8, layers=2, generator=generator)
    if kind == "per-action":
        return PerAction(features=features, options=options, hidden=8, layers=2, generator=generator)
    return Tabular(cells=30, actions=actions)


def seen(rng, *, actions=4):
    legal = rng.random((30, actions)) < 0.5
    legal[:, 0] = True
    arrays = (np.arange(30), rng.normal(size=(30, 5)), rng.normal(size=(30, actions, 3)), legal)
    return Seen(*map(tensor, arrays)), legal


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_is_a_distribution_over_legal_actions(kind):
    shown, legal = seen(np.random.default_rng(0))
    answer = network(kind, 0)(shown)
    table = probabilities(answer.logprobs)
    assert table.sum(axis=1) == pytest.approx(np.ones(30), abs=1e-12)
    assert (table[~legal] == 0).all()
    assert torch.isfinite(answer.logprobs).all()
    assert answer.values.shape == (30,)
    even = legal / legal.sum(axis=1, keepdims=True)
    assert np.abs(table - even).max() < 0.05  # a young policy has no opinion


def test_a_per_action_policy_is_blind_to_the_order_and_number_of_actions():
    policy = network("per-action", 1)
    shown, _ = seen(np.random.default_rng(1))
    order = torch.tensor([2, 0, 3, 1])
    turned = shown._replace(options=shown.options[:, order], legal=shown.legal[:, order])
    assert torch.allclose(policy(shown).logprobs[:, order], policy(turned).logprobs, atol=1e-5)
    assert torch.allclose(policy(shown).values, policy(turned).values, atol=1e-5)
    padding = torch.zeros(30, 2, 3)
    more = shown._replace(
        options=torch.cat([shown.options, padding], 1),
        legal=torch.cat([shown.legal, torch.zeros(30, 2, dtype=torch.bool)], 1),
    )
    assert torch.allclose(policy(more).logprobs[:, :4], policy(shown).logprobs, atol=1e-5)


def test_cells_asked_once_give_the_gradient_of_every_decision():
    policy, view = network("mlp", 2, features=STACK.features.shape[1], actions=5), View(STACK)
    cells = torch.tensor([3, 9, 3, 3, 20])
    weights = torch.arange(5.0)
    gradients = []
    for answer in (asked(policy, view, cells), policy(view.at(cells))):
        policy.zero_grad()
        (answer.logprobs[:, 1] * weights + answer.values).sum().backward()
        gradients.append(torch.cat([part.grad.flatten() for part in policy.parameters()]))
    assert torch.allclose(gradients[0], gradients[1], atol=1e-5)


def test_an_actor_of_many_cells_looks_up_what_one_of_few_has_computed(monkeypatch):
    table = random_table(0)
    here = np.array([5, 1, 5, 30])
    whole = frozen(by(table), cells=len(table))(here)
    monkeypatch.setattr("orchestrace.training.learner.WHOLE_TABLE", 10)
    assert (frozen(by(table), cells=len(table))(here) == whole).all()
    assert (distributions(network("mlp", 0, features=STACK.features.shape[1], actions=5), View(STACK)) >= 0).all()


@pytest.mark.parametrize("kind", ["mlp", "per-action"])
def test_weights_come_from_the_given_die_alone(kind):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one, two, other = network(kind, 3), network(kind, 3), network(kind, 4)
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
