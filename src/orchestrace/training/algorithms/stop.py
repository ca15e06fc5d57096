"""When to stop, from what is exactly known: at every prefix one can aggregate what is there and grade it.

Stopping in s pays r(s), a conditional mean, and needs no sample. So no stop is ever sampled either: episodes are forced
to go on to their end (full width), and every prefix teaches both arms. Going on by action a is worth Q(s, a), learned
as the gain over stopping, Q = r + g. With V(s) = max(r(s), max_a Q(s, a)), the target of a decision that went on is

    G_t = cost_t + U_{t+1}
    U = r                                     where the greedy policy stops: the trace is cut (Watkins)
    U = (1 − λ) max_a Q + λ G_{t+1}           where the action taken was the greedy one
    U = max_a Q                               where it was another: cut as well

The uncut recursion mixes in what lies beyond the stop and is biased down; a single 0/1 grade inside the maximum is
E[max], biased up. The policy is greedy, and stops on a tie.

`gradient` learns a softmax policy over the same episodes. With W the policy's own value and Q from the same regression
(with W in place of V), the gradient of E[payoff] is Σ_t P(not stopped before t) Σ_a π(a | s_t) (Q(s_t, a) − W(s_t))
∇ log π(a | s_t), all arms summed, none sampled. `snell` has Q of the greedy continuation in its place, and steps along
Σ_t P(not stopped before t) (V − Σ_a π(a | s_t) Q(s_t, a)) ∇ log π(best | s_t): policy improvement, not the gradient. It
does not vanish where the policy is sure and wrong. Both are scaled to unit size, so that entropy weighs alike at all
prices.

Sources: full-width Q(λ) as in Stop-RAG (arXiv 2510.14337) [secondary]; the cut is Watkins 1989; the Snell envelope.
That stopping is the one decision whose counterfactual is observed at no cost is ours.

Departures
  - Errors beyond the greedy policy's stop weigh less (`beyond`): they matter only if the policy comes there.
  - A batch serves several policy steps (`steps`): values and chances of coming to a cell are those it was played with.
  - Prices are paid when they arise; there is no discount.
"""

import copy
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from orchestrace.errors import RecipeError
from orchestrace.training._torch import torch
from orchestrace.training.learner import (
    Learner,
    Moment,
    Tensor,
    Trainee,
    Update,
    adam,
    counted,
    descend,
    tensor,
)
from orchestrace.training.losses import entropy
from orchestrace.training.policies import Policy, View, distributions, legal_logprobs, policy_for, portions
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import Actor, Batch
from orchestrace.training.stack import Bools, Floats, Ints, Stack

TINY = 1e-8
"""Keeps arms that are all equal from being divided by zero."""


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """The learner before its first update.

    Raises:
      RecipeError: in some state with a choice, no action is to stop.
    """
    unstoppable = (stack.stops < 0) & (stack.legal.sum(axis=1) > 1)
    if unstoppable.any():
        where = stack.envs[0].state_name(int(np.argmax(unstoppable)))
        raise RecipeError(f"in the state {where!r} no action is to stop", place="algorithm", remedy='choose "ppo"')
    kind = Stopping if recipe.stop.mode == "q-lambda" else SoftStopping
    return kind(recipe, stack, generator=generator)


class Arms(NamedTuple):
    """What is known of n cells."""

    stop: Floats
    """[n] r."""
    go_on: Floats
    """[n, A] Q; minus infinity where the action is not legal or is the stop."""

    @property
    def best(self) -> Floats:
        """[n] max_a Q."""
        best: Floats = self.go_on.max(axis=1)
        return best

    @property
    def stops(self) -> Bools:
        """[n] True where the greedy policy stops; on a tie it does."""
        return self.stop >= self.best


class Stopping(Trainee):
    """Cut Q(λ) on full-width episodes; the policy's scores are the gains g.

    Judged is the moving average of the weights: what one batch says of a near-tie flips it, and the average does not.
    """

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        self.average = copy.deepcopy(self.policy)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The policy and the average of its weights."""
        return {"policy": self.policy, "average": self.average}

    @property
    def gains(self) -> Policy:
        """The network whose scores are what going on is worth beyond stopping."""
        return self.policy

    def arms(self, view: View, cells: Ints | None = None, *, gains: Policy | None = None) -> Arms:
        """Both arms in these cells of any view, or in all of them; by other gains than those in training if given."""
        wanted, asked = np.arange(len(view)) if cells is None else cells, gains or self.gains
        with torch.no_grad():
            parts = [asked.scores(view.at(tensor(part))).numpy() for part in portions(wanted)]
        found = np.concatenate(parts).astype(np.float64)
        r = view.stop_values[wanted]
        floor = np.where(np.isfinite(r), r, 0.0)  # a state that cannot be stopped has one action, whatever its value
        legal = view.legal.numpy()[wanted].copy()
        able = np.flatnonzero(view.stops[wanted] >= 0)
        legal[able, view.stops[wanted][able]] = False
        return Arms(r, np.where(legal, floor[:, None] + found, -np.inf))

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[n, A] the greedy policy of the averaged weights."""
        wanted = np.arange(len(view)) if cells is None else cells
        arms = self.arms(view, wanted, gains=self.average)
        best = np.where(arms.stops, view.stops[wanted], arms.go_on.argmax(axis=1))
        table = np.zeros(arms.go_on.shape)
        table[np.arange(len(table)), best] = 1.0
        return table

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play to the end without stopping, then regress."""
        arms = self.arms(self.view)
        batch = self.full_width(lambda cells: _greedy_on(arms, cells, self.recipe.stop.explore), rng)
        targets = cut_targets(batch, arms, stops=self.view.stops, trace_lambda=self.recipe.stop.trace_lambda)
        weights = np.where(reached(batch, arms), 1.0, self.recipe.stop.beyond)
        loss = self.regress(batch, targets, weights=weights, moment=moment, rng=rng)
        with torch.no_grad():
            for kept, now in zip(self.average.parameters(), self.policy.parameters(), strict=True):
                kept.lerp_(now, 1 - self.recipe.stop.average)
        return counted(batch, {"value_loss": loss, "stops": float(arms.stops.mean())})

    def full_width(self, actor: Actor, rng: np.random.Generator) -> Batch:
        """Episodes that never stop before they must; `actor` says how they go on, [n, A] in cells [n]."""
        legal = self.view.legal.numpy()

        def forced(cells: Ints) -> Floats:
            chances = actor(cells)
            last = np.flatnonzero(legal[cells].sum(axis=1) == 1)
            chances[last] = legal[cells[last]]
            return chances

        return self.played_by(forced, rng)

    def regress(
        self, batch: Batch, targets: Floats, *, weights: Floats, moment: Moment, rng: np.random.Generator
    ) -> float:
        """Some optimiser steps of the gains towards targets [T, B]; returns the mean loss."""
        goes_on = batch.taken & (batch.actions != self.view.stops[batch.cells])
        cells, actions = tensor(batch.cells[goes_on]), tensor(batch.actions[goes_on])
        wanted = tensor(targets[goes_on] - self.view.stop_values[batch.cells[goes_on]])
        share = tensor(weights[goes_on] / weights[goes_on].mean())
        losses = []
        for part in np.array_split(rng.permutation(len(cells)), self.recipe.stop.steps):
            if len(part):
                d = tensor(part)
                different, place = torch.unique(cells[d], return_inverse=True)
                said = self.gains.scores(self.view.at(different))[place].gather(1, actions[d][:, None])[:, 0]
                loss = (share[d] * (said - wanted[d]).square()).mean()
                self.descend_gains(loss, moment)
                losses.append(loss.item())
        return float(np.mean(losses))

    def descend_gains(self, loss: Tensor, moment: Moment) -> None:
        """One optimiser step of the gains."""
        self.descend(loss, moment)


class SoftStopping(Stopping):
    """A softmax policy by the gradient of all arms, with the gains as its critic."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        self.critic = policy_for(stack, recipe.policy, generator=generator)
        self.critic_optimiser = adam(self.critic, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The policy and its critic."""
        return {"policy": self.policy, "critic": self.critic}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Theirs."""
        return {"policy": self.optimiser, "critic": self.critic_optimiser}

    @property
    def gains(self) -> Policy:
        """The critic."""
        return self.critic

    def descend_gains(self, loss: Tensor, moment: Moment) -> None:
        """One optimiser step of the critic."""
        limit = self.recipe.optimiser.max_norm
        descend(loss, self.critic, self.critic_optimiser, rate=moment.rate, max_norm=limit)

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[n, A] the policy as it samples."""
        return distributions(self.policy, view, cells)

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play to the end without stopping, regress the critic, and follow the gradient of all arms."""
        arms, table, stops = self.arms(self.view), self.judged(self.view), self.view.stops
        legal = self.view.legal.numpy()
        batch = self.full_width(lambda cells: _going_on(table[cells], stops[cells], legal[cells]), rng)
        lam = self.recipe.stop.trace_lambda
        chances = _stop_chances(table, stops)
        if self.recipe.stop.mode == "snell":
            values = np.maximum(arms.stop, arms.best)
            targets = cut_targets(batch, arms, stops=stops, trace_lambda=lam)
        else:
            values = _own_values(arms, table, chances)
            targets = own_targets(batch, arms, values=values, stop_chances=chances, trace_lambda=lam)
        loss = self.regress(batch, targets, weights=np.ones(targets.shape), moment=moment, rng=rng)
        advantages = np.where(np.isfinite(arms.go_on), arms.go_on, 0.0) - values[:, None]
        able = np.flatnonzero(stops >= 0)
        advantages[able, stops[able]] = (arms.stop - values)[able]
        alive = survival(batch, chances)
        figures = [self._follow(batch, advantages, alive, moment=moment) for _ in range(self.recipe.stop.steps)]
        return counted(batch, {"value_loss": loss, **{k: float(np.mean([f[k] for f in figures])) for k in figures[0]}})

    def _follow(self, batch: Batch, advantages: Floats, alive: Floats, *, moment: Moment) -> Mapping[str, float]:
        """One step along Σ_t P(alive) Σ_a π(a) A(a) ∇ log π(a); cells met more than once are summed first."""
        weights = np.bincount(batch.cells[batch.taken], alive[batch.taken], minlength=len(advantages))
        met = np.flatnonzero(weights > 0)
        seen = self.view.at(tensor(met))
        logprobs = legal_logprobs(self.policy.scores(seen), seen.legal)
        share, credit = (
            tensor(weights[met] / weights.sum()),
            tensor(np.where(self.view.legal.numpy()[met], advantages[met], 0.0)),
        )
        if self.recipe.stop.mode == "snell":  # credit is at most 0 here, and 0 for the best arm
            best = tensor(np.where(self.view.legal.numpy()[met], advantages[met], -np.inf).argmax(axis=1))
            regret = share * -(logprobs.exp() * credit).sum(dim=1).detach()
            gained = (regret / (regret.sum() + TINY) * logprobs.gather(1, best[:, None])[:, 0]).sum()
        else:
            chances = logprobs.exp()
            scale = (share[:, None] * chances.detach() * credit.square()).sum().sqrt()
            gained = (share[:, None] * chances * credit).sum() / (scale + TINY)
        spread = (share * entropy(logprobs)).sum()
        norm = self.descend(-gained - moment.entropy_weight * spread, moment)
        return {"gained": gained.item(), "entropy": spread.item(), "gradient_norm": norm}


def cut_targets(batch: Batch, arms: Arms, *, stops: Ints, trace_lambda: float) -> Floats:
    """[T, B] G of each decision that went on; 0 elsewhere.

    Args:
      batch: full-width episodes.
      arms: what was known of every cell when they were played.
      stops: [C] the stop of each cell.
      trace_lambda: λ.
    """
    targets, goes_on = np.zeros(batch.taken.shape), batch.taken & (batch.actions != stops[batch.cells])
    best, settled, greedy = arms.best, arms.stops, arms.go_on.argmax(axis=1)
    value = np.maximum(arms.stop, best)
    finite = np.where(np.isfinite(best), best, 0.0)  # where nothing goes on, what stops is read instead
    cut_off = batch.beyond >= 0
    ahead = np.where(cut_off, value[np.maximum(batch.beyond, 0)], 0.0)  # U of what comes after the last decision
    for t in reversed(range(len(targets))):
        cells, taken = batch.cells[t], batch.taken[t]
        targets[t] = np.where(goes_on[t], batch.rewards[t] + ahead, 0.0)
        follows = (1 - trace_lambda) * finite[cells] + trace_lambda * targets[t]
        onward = np.where(batch.actions[t] == greedy[cells], follows, finite[cells])
        ahead = np.where(taken, np.where(settled[cells] | ~goes_on[t], arms.stop[cells], onward), ahead)
    return targets


def own_targets(batch: Batch, arms: Arms, *, values: Floats, stop_chances: Floats, trace_lambda: float) -> Floats:
    """[T, B] what going on was worth under the policy itself: G_t = cost_t + U_{t+1}; 0 at a last, forced stop.

        U = (1 − λ) W + λ (p r + (1 − p) G_{t+1}),     p the chance that the policy stops

    Args:
      batch: full-width episodes, going on by the policy's own choice among what goes on.
      arms: what was known of every cell when they were played.
      values: [C] W = p r + Σ π(a) Q(a).
      stop_chances: [C] p; 1 where nothing else is legal.
      trace_lambda: λ.
    """
    targets = np.zeros(batch.taken.shape)
    ahead = np.where(batch.beyond >= 0, values[np.maximum(batch.beyond, 0)], 0.0)
    r = np.where(np.isfinite(arms.stop), arms.stop, 0.0)
    for t in reversed(range(len(targets))):
        cells, taken = batch.cells[t], batch.taken[t]
        p, forced = stop_chances[cells], ~np.isfinite(arms.best[cells])
        targets[t] = np.where(taken & ~forced, batch.rewards[t] + ahead, 0.0)
        mixed = (1 - trace_lambda) * values[cells] + trace_lambda * (p * r[cells] + (1 - p) * targets[t])
        ahead = np.where(taken, np.where(forced, r[cells], mixed), ahead)
    return targets


def survival(batch: Batch, stop_chances: Floats) -> Floats:
    """[T, B] chance that the policy would have come to each decision: Π over earlier ones of 1 − p."""
    on = np.where(batch.taken, 1 - stop_chances[batch.cells], 1.0)
    alive = np.ones(on.shape)
    np.cumprod(on[:-1], axis=0, out=alive[1:])
    return alive


def reached(batch: Batch, arms: Arms) -> Bools:
    """[T, B] True up to the decision at which the greedy policy would first have stopped, that one included."""
    stopped = np.cumsum(arms.stops[batch.cells] & batch.taken, axis=0)
    before = np.vstack([np.zeros((1, stopped.shape[1]), dtype=stopped.dtype), stopped[:-1]])
    first: Bools = before == 0
    return first


def _greedy_on(arms: Arms, cells: Ints, explore: float) -> Floats:
    """[n, A] goes on by the best action or, with chance `explore`, by any; nothing where none goes on."""
    q = arms.go_on[cells]
    able = np.isfinite(q)
    chances: Floats = explore * able / np.maximum(able.sum(axis=1), 1)[:, None]
    chances[np.arange(len(q)), q.argmax(axis=1)] += 1 - explore
    return chances


def _going_on(table: Floats, stops: Ints, legal: Bools) -> Floats:
    """[n, A] the policy [n, A] given that it does not stop; evenly where it surely stops."""
    chances = table.copy()
    able = np.flatnonzero(stops >= 0)
    chances[able, stops[able]] = 0.0
    sums = chances.sum(axis=1, keepdims=True)
    even = legal.copy()
    even[able, stops[able]] = False
    spread = even / np.maximum(even.sum(axis=1, keepdims=True), 1)
    return np.where(sums > 0, chances / np.where(sums > 0, sums, 1.0), spread)


def _stop_chances(table: Floats, stops: Ints) -> Floats:
    """[C] chance that the policy stops; 0 where nothing does."""
    chances: Floats = np.where(stops >= 0, table[np.arange(len(table)), np.maximum(stops, 0)], 0.0)
    return chances


def _own_values(arms: Arms, table: Floats, stop_chances: Floats) -> Floats:
    """[C] W = p r + Σ π(a) Q(a)."""
    r = np.where(np.isfinite(arms.stop), arms.stop, 0.0)
    going = np.where(np.isfinite(arms.go_on), table * np.where(np.isfinite(arms.go_on), arms.go_on, 0.0), 0.0)
    values: Floats = stop_chances * r + going.sum(axis=1)
    return values
