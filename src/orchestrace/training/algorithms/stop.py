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
∇ log π(a | s_t), all arms summed, none sampled. `snell` puts Q of the greedy continuation in its place: a step of
policy improvement, close to the gradient in direction but not equal to it.

Sources: full-width Q(λ) as in Stop-RAG (arXiv 2510.14337) [secondary]; the cut is Watkins 1989; the Snell envelope.
That stopping is the one decision whose counterfactual is observed at no cost is ours.

Departures
  - Errors beyond the greedy policy's stop weigh less (`beyond`): they matter only if the policy comes there.
  - Prices are paid when they arise; there is no discount.
"""

from typing import NamedTuple

import numpy as np

from orchestrace.errors import RecipeError
from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Tensor, Trainee, Update, counted, frozen, tensor
from orchestrace.training.policies import View, portions
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import Batch, collected
from orchestrace.training.stack import Bools, Floats, Ints, Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """The learner before its first update.

    Raises:
      RecipeError: in some state with a choice, no action is to stop.
    """
    unstoppable = (stack.stops < 0) & (stack.legal.sum(axis=1) > 1)
    if unstoppable.any():
        where = stack.envs[0].state_name(int(np.argmax(unstoppable)))
        raise RecipeError(f"in the state {where!r} no action is to stop", place="algorithm", remedy='choose "ppo"')
    return Stopping(recipe, stack, generator=generator)


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
    """Cut Q(λ) on full-width episodes."""

    def arms(self, view: View, cells: Ints | None = None) -> Arms:
        """Both arms in these cells of any view, or in all of them."""
        wanted = np.arange(len(view)) if cells is None else cells
        with torch.no_grad():
            parts = [self.policy.marks(view.at(tensor(part)))[0].numpy() for part in portions(wanted)]
        gains = np.concatenate(parts).astype(np.float64)
        r = view.stop_values[wanted]
        floor = np.where(np.isfinite(r), r, 0.0)  # a state that cannot be stopped has one action, whatever its value
        legal = view.legal.numpy()[wanted].copy()
        able = np.flatnonzero(view.stops[wanted] >= 0)
        legal[able, view.stops[wanted][able]] = False
        return Arms(r, np.where(legal, floor[:, None] + gains, -np.inf))

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[n, A] the greedy policy."""
        wanted = np.arange(len(view)) if cells is None else cells
        arms = self.arms(view, wanted)
        best = np.where(arms.stops, view.stops[wanted], arms.go_on.argmax(axis=1))
        table = np.zeros(arms.go_on.shape)
        table[np.arange(len(table)), best] = 1.0
        return table

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play to the end without stopping, then regress."""
        settings, sizes = self.recipe.stop, self.recipe.rollouts
        arms = self.arms(self.view)
        actor = frozen(lambda cells: _forced(arms, self.view.stops, cells, settings.explore), cells=len(self.view))
        batch = collected(self.stack, actor, episodes=sizes.episodes, horizon=sizes.horizon, rng=rng)
        goes_on = batch.taken & (batch.actions != self.view.stops[batch.cells])
        targets = cut_targets(batch, arms, goes_on=goes_on, trace_lambda=settings.trace_lambda)
        weights = np.where(reached(batch, arms), 1.0, settings.beyond)
        cells, actions = tensor(batch.cells[goes_on]), tensor(batch.actions[goes_on])
        gains = tensor(targets[goes_on] - self.view.stop_values[batch.cells[goes_on]])
        share = tensor(weights[goes_on] / weights[goes_on].mean())
        losses = []
        for part in np.array_split(rng.permutation(len(cells)), settings.steps):
            if len(part):
                d = tensor(part)
                losses.append(self._step(cells[d], actions[d], gains=gains[d], weights=share[d], moment=moment))
        return counted(batch, {"value_loss": float(np.mean(losses)), "stops": float(arms.stops.mean())})

    def _step(self, cells: Tensor, actions: Tensor, *, gains: Tensor, weights: Tensor, moment: Moment) -> float:
        different, place = torch.unique(cells, return_inverse=True)
        said = self.policy.marks(self.view.at(different))[0][place].gather(1, actions[:, None])[:, 0]
        loss = (weights * (said - gains).square()).mean()
        self.descend(loss, moment)
        return loss.item()


def cut_targets(batch: Batch, arms: Arms, *, goes_on: Bools, trace_lambda: float) -> Floats:
    """[T, B] G of each decision that went on; 0 elsewhere.

    Args:
      batch: full-width episodes.
      arms: what was known of every cell when they were played.
      goes_on: [T, B] True where the action taken was not the stop.
      trace_lambda: λ.
    """
    targets = np.zeros(batch.taken.shape)
    best, stops, greedy = arms.best, arms.stops, arms.go_on.argmax(axis=1)
    value = np.maximum(arms.stop, best)
    cut_off = batch.beyond >= 0
    ahead = np.where(cut_off, value[np.maximum(batch.beyond, 0)], 0.0)  # U of what comes after the last decision
    for t in reversed(range(len(targets))):
        cells, taken = batch.cells[t], batch.taken[t]
        targets[t] = np.where(goes_on[t], batch.rewards[t] + ahead, 0.0)
        follows = (1 - trace_lambda) * best[cells] + trace_lambda * targets[t]
        onward = np.where(batch.actions[t] == greedy[cells], follows, best[cells])
        ahead = np.where(taken, np.where(stops[cells] | ~goes_on[t], arms.stop[cells], onward), ahead)
    return targets


def reached(batch: Batch, arms: Arms) -> Bools:
    """[T, B] True up to the decision at which the greedy policy would first have stopped, that one included."""
    stopped = np.cumsum(arms.stops[batch.cells] & batch.taken, axis=0)
    before = np.vstack([np.zeros((1, stopped.shape[1]), dtype=stopped.dtype), stopped[:-1]])
    first: Bools = before == 0
    return first


def _forced(arms: Arms, stops: Ints, cells: Ints, explore: float) -> Floats:
    """[n, A] who plays: goes on by the best action or, with chance `explore`, by any; stops only where it must."""
    q = arms.go_on[cells]
    able = np.isfinite(q)
    count = able.sum(axis=1)
    chances: Floats = explore * able / np.maximum(count, 1)[:, None]
    chances[np.arange(len(q)), q.argmax(axis=1)] += 1 - explore
    last = np.flatnonzero(count == 0)
    chances[last] = 0.0
    chances[last, stops[cells[last]]] = 1.0
    return chances
