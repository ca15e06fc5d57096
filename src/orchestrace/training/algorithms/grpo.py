"""The GRPO family: episodes of one start against each other, with a ratio, a clip and weights that make the method.

    J = Σ_d w_d min(ρ_d A_i, clip(ρ_d, 1 − ε_low, 1 + ε_high) A_i),     i the episode of decision d

    grpo      A = (R − mean) / std     ρ of the decision             ε .2 / .2        episodes weigh alike
    dr-grpo   A = R − mean             ρ of the decision             ε .2 / .2        1 / (episodes · horizon)
    dapo      as grpo                  ρ of the decision             ε .2 / .28       decisions weigh alike
    gspo      as grpo                  mean log ρ of the episode     ε 3e-4 / 4e-4    episodes weigh alike
    srpo      as grpo                  log ρ over the root of the    ε .2 / .2        events weigh alike
                                       number of outputs an event consumed

Sources: DeepSeekMath (GRPO) [confirmed], Dr. GRPO [confirmed], DAPO [confirmed], GSPO [confirmed], SRPO
(arXiv 2609.08452) [secondary]. The flavours are `credit.OBJECTIVES`, whose numpy twin of this loss the tests compare.

Departures
  - A decision takes the place of a token.
  - One orchestrator's decision consumes one output, so SRPO's events are single decisions here.
  - A group is all episodes of an update that began in the same state, so that random starts are compared with their
    like; a group of one says nothing and gives 0.
  - DAPO's dynamic sampling is not needed: a group whose episodes earned alike gives 0 by itself.
  - No penalty for leaving a reference; the entropy bonus is the recipe's.
"""

import dataclasses

import numpy as np

from orchestrace.credit import OBJECTIVES, GroupBaseline, Objective, grpo, rows, token_weights
from orchestrace.training._torch import torch
from orchestrace.training.learner import Figures, Learner, Moment, Trainee, Update, counted, tensor
from orchestrace.training.losses import entropy, weighted_surrogate
from orchestrace.training.policies import Tensor
from orchestrace.training.preferences import Decisions, decisions
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import Batch
from orchestrace.training.settings import Grpo
from orchestrace.training.stack import Floats, Ints, Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """GRPO before its first update."""
    return GroupRelative(recipe, stack, generator=generator)


class GroupRelative(Trainee):
    """Several passes over the episodes in minibatches of whole episodes."""

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, then learn."""
        settings, batch = self.recipe.grpo, self.played(rng)
        credit, flat = tensor(advantages(batch, settings.flavour)), decisions(batch)
        with torch.no_grad():
            old = self.answer(flat.cells).logprobs.gather(1, flat.actions[:, None])[:, 0]
        parts = [
            part
            for _ in range(settings.epochs)
            for part in np.array_split(rng.permutation(flat.size), settings.minibatches)
            if len(part)
        ]
        told = [self._step(flat, old, credit=credit, episodes=part, moment=moment) for part in parts]
        return counted(batch, {name: float(np.mean([row[name] for row in told])) for name in told[0]})

    def _step(self, flat: Decisions, old: Tensor, *, credit: Tensor, episodes: Ints, moment: Moment) -> Figures:
        """One optimiser step on the decisions of some episodes."""
        rule = objective(self.recipe.grpo)
        chosen = torch.zeros(flat.size, dtype=torch.bool)
        chosen[tensor(episodes)] = True
        d = torch.nonzero(chosen[flat.episodes])[:, 0]
        of = flat.episodes[d]
        answer = self.answer(flat.cells[d])
        logs = answer.logprobs.gather(1, flat.actions[d][:, None])[:, 0] - old[d]
        if rule.ratio.level == "sequence":
            logs = episode_means(logs, of, flat.size)
        weights = tensor(_weights(rule, of.numpy(), self.recipe.rollouts.horizon))
        surrogate = weighted_surrogate(
            logs, credit[of], weights=weights, clip_low=rule.clip_low, clip_high=rule.clip_high
        )
        spread = entropy(answer.logprobs).mean()
        norm = self.descend(surrogate - moment.entropy_weight * spread, moment)
        outside = (logs.exp() < 1 - rule.clip_low) | (logs.exp() > 1 + rule.clip_high)
        clipped = outside.float().mean().item()
        return {"policy_loss": surrogate.item(), "entropy": spread.item(), "clipped": clipped, "gradient_norm": norm}


def objective(settings: Grpo) -> Objective:
    """The flavour's objective, with the recipe's clip where it gives one."""
    known = OBJECTIVES[settings.flavour.replace("-", "_")]
    return dataclasses.replace(
        known, clip_low=settings.clip_low or known.clip_low, clip_high=settings.clip_high or known.clip_high
    )


def advantages(batch: Batch, flavour: str) -> Floats:
    """[B] of each episode against those that began in the same cell."""
    given = rows(batch.rewards.sum(axis=0), task=batch.cells[0])
    return (GroupBaseline().advantages(given) if flavour == "dr-grpo" else grpo(given)).values


def episode_means(values: Tensor, episodes: Tensor, count: int) -> Tensor:
    """[D] the mean over the decisions of each one's episode."""
    sums = torch.zeros(count, dtype=values.dtype).index_add(0, episodes, values)
    sizes = torch.zeros(count, dtype=values.dtype).index_add(0, episodes, torch.ones_like(values))
    return (sums / sizes.clamp(min=1))[episodes]


def _weights(rule: Objective, episodes: Ints, horizon: int) -> Floats:
    events = np.arange(len(episodes)) if rule.ratio.level == "set" else episodes
    return token_weights(rule.aggregation, np.ones(len(episodes), dtype=np.bool_), sequence=events, longest=horizon)
