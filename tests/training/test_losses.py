"""Losses against textbook loops, and their gradients against finite differences."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.losses.objectives import Objective, token_weights
from orchestrace.training.losses import clipped_surrogate, entropy, policy_gradient_loss, value_loss

numbers = st.floats(-3, 3, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_policy_gradient_is_the_mean_of_minus_advantage_times_logprob(rows):
    logprobs, advantages = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
    slow = -sum(a * lp for lp, a in rows) / len(rows)
    assert policy_gradient_loss(logprobs, advantages).item() == pytest.approx(slow)


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=20), st.floats(0.01, 0.5))
def test_clipped_surrogate_is_the_loop(rows, clip):
    logprobs, old, advantages = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
    slow = 0.0
    for lp, lp_old, a in rows:
        ratio = math.exp(lp - lp_old)
        slow -= min(ratio * a, min(max(ratio, 1 - clip), 1 + clip) * a)
    loss = clipped_surrogate(logprobs, old, advantages=advantages, clip=clip)
    assert loss.item() == pytest.approx(slow / len(rows))


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=20), st.floats(0.01, 0.5))
def test_the_learners_loss_and_the_reference_objective_agree(rows, clip):
    """The same arrays through torch and through numpy: value and gradient."""
    new, old, advantages = (np.array(column) for column in zip(*rows, strict=True))
    every = np.ones(len(new), bool)
    objective = Objective(clip_low=clip, clip_high=clip)
    weights = token_weights("token_mean", every, sequence=np.arange(len(new)))
    ratios = objective.ratio.ratios(new, old, mask=every)
    reference = objective.surrogate(advantages, ratios, mask=every, weights=weights)
    logprobs = torch.tensor(new, requires_grad=True)
    loss = clipped_surrogate(logprobs, torch.tensor(old), advantages=torch.tensor(advantages), clip=clip)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    assert loss.item() == pytest.approx(-reference.value)
    on_an_edge = np.isclose(np.abs(ratios.values - 1), clip, rtol=1e-9)  # torch shares a tie's gradient, we do not
    assert gradient.numpy()[~on_an_edge] == pytest.approx(-reference.gradient[~on_an_edge])


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_value_loss_is_half_the_mean_square(rows):
    values, targets = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
    assert value_loss(values, targets).item() == pytest.approx(sum((v - g) ** 2 for v, g in rows) / len(rows) / 2)


def test_entropy_of_even_odds_and_of_certainty():
    even = torch.full((1, 4), math.log(0.25))
    sure = torch.tensor([[0.0, -1e9]])
    assert entropy(even).item() == pytest.approx(math.log(4))
    assert entropy(sure).item() == 0


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_finite_differences(seed):
    die = torch.Generator().manual_seed(seed)
    logits = torch.randn(6, 3, dtype=torch.float64, generator=die, requires_grad=True)
    actions = torch.randint(3, (6,), generator=die)
    advantages = torch.randn(6, dtype=torch.float64, generator=die)
    old = torch.log_softmax(torch.randn(6, 3, dtype=torch.float64, generator=die), -1)

    def losses(x):
        logprobs = torch.log_softmax(x, -1)
        taken = logprobs.gather(1, actions[:, None])[:, 0]
        yield policy_gradient_loss(taken, advantages)
        yield clipped_surrogate(taken, old.gather(1, actions[:, None])[:, 0], advantages=advantages, clip=0.2)
        yield entropy(logprobs).mean()

    for which in range(3):
        (gradient,) = torch.autograd.grad(list(losses(logits))[which], logits)
        with torch.no_grad():
            for place in [(0, 0), (3, 1), (5, 2)]:
                step = torch.zeros_like(logits)
                step[place] = 1e-6
                up, down = list(losses(logits + step))[which], list(losses(logits - step))[which]
                assert gradient[place].item() == pytest.approx(((up - down) / 2e-6).item(), abs=1e-6)
