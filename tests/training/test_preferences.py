"""Pairs, and the losses that have a twin in numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.credit import OBJECTIVES, anchor_balance, token_weights
from orchestrace.envs import by_name
from orchestrace.training.algorithms.grpo import episode_means
from orchestrace.training.losses import balance_loss, preference_loss, weighted_surrogate
from orchestrace.training.policies import tensor
from orchestrace.training.preferences import decisions, pairs
from orchestrace.training.rollouts import collected
from orchestrace.training.stack import stack


def played(seed, episodes=41):
    one = stack([by_name("split")])
    legal = one.legal / one.legal.sum(axis=1, keepdims=True)
    return collected(one, lambda c: legal[c], episodes=episodes, horizon=9, rng=np.random.default_rng(seed))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_pairs_share_a_start_and_the_better_earned_more(seed):
    batch = played(seed)
    found = pairs(batch, np.random.default_rng(seed))
    earned = batch.rewards.sum(axis=0)
    assert (earned[found.better] > earned[found.worse]).all()
    assert (batch.cells[0][found.better] == batch.cells[0][found.worse]).all()
    used = np.concatenate([found.better, found.worse])
    assert len(set(used.tolist())) == len(used)
    groups = np.unique(batch.cells[0], return_counts=True)[1]
    assert len(found.better) + found.ties == sum(n // 2 for n in groups)


def test_sums_over_episodes():
    batch = played(3)
    flat = decisions(batch)
    rewards = tensor(batch.rewards[batch.taken])
    np.testing.assert_allclose(flat.summed(rewards).numpy(), batch.rewards.sum(axis=0), rtol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["grpo", "dr_grpo", "dapo", "gspo", "srpo"]))
def test_the_surrogate_and_its_gradient_are_those_of_the_numpy_twin(seed, flavour):
    rng, rule = np.random.default_rng(seed), OBJECTIVES[flavour]
    episode = np.sort(rng.integers(0, 5, size=20))
    old, advantages = rng.normal(-1, 0.5, 20), rng.normal(size=5)[episode]
    new = old + rng.normal(0, 0.3, 20)
    mask, events = np.ones(20, dtype=bool), np.arange(20) if rule.ratio.level == "set" else episode
    weights = token_weights(rule.aggregation, mask, sequence=events, longest=7)
    ratios = rule.ratio.ratios(new, old, mask=mask, unit=events, members=np.zeros(20, dtype=int))
    twin = rule.surrogate(advantages, ratios, mask=mask, weights=weights)
    logprobs = torch.tensor(new, requires_grad=True)
    logs = logprobs - torch.tensor(old)
    if rule.ratio.level == "sequence":
        logs = episode_means(logs, torch.tensor(episode), 5)
    loss = weighted_surrogate(
        logs, torch.tensor(advantages), weights=torch.tensor(weights), clip_low=rule.clip_low, clip_high=rule.clip_high
    )
    loss.backward()
    assert -loss.item() == pytest.approx(twin.value, abs=1e-9)
    np.testing.assert_allclose(-logprobs.grad.numpy(), twin.gradient, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_the_balance_and_its_gradient_are_those_of_the_numpy_twin(lengths, seed):
    rng, T, B = np.random.default_rng(seed), max(lengths), len(lengths)
    taken = np.arange(T)[:, None] < np.array(lengths)[None, :]
    logs = np.where(taken, rng.normal(size=(T, B)), 0.0)
    nodes = rng.normal(size=(T + 1, B))
    l, u = torch.tensor(logs, requires_grad=True), torch.tensor(nodes)  # noqa: E741
    loss = balance_loss(u, l, taken=torch.tensor(taken))
    loss.backward()
    twins = [anchor_balance(nodes[: n + 1, b], logs[:n, b]) for b, n in enumerate(lengths)]
    assert loss.item() == pytest.approx(np.mean([twin.loss for twin in twins]), abs=1e-9)
    for b, twin in enumerate(twins):
        np.testing.assert_allclose(l.grad.numpy()[: lengths[b], b], twin.log_ratio_gradients / B, atol=1e-9)


def test_preferences_are_a_likelihood():
    margins = torch.tensor([0.3, -1.2, 4.0])
    slow = -np.mean(np.log(1 / (1 + np.exp(-margins.numpy()))))
    assert preference_loss(margins).item() == pytest.approx(slow, abs=1e-6)
