"""PARL: the outcome, and two auxiliary rewards for a team, annealed to nothing.

    r = r_perf + λ₁ r_parallel + λ₂ r_finish,     λ₁, λ₂ → 0
    r_parallel = min(agents that the action starts, cap) / cap
    r_finish   = agents that finished / agents started, at the end of the episode; 0 where none was started

r_parallel is against serial collapse: until an orchestrator knows how to use a team, working alone looks better, and it
stops trying. r_finish is against starting agents for nothing. Never annealed, r_parallel is farmed: the team grows and
the outcome falls. Annealed too early, the collapse comes after all.

Sources: Kimi K2.5 (arXiv 2602.02276) for the sum and the annealing [confirmed]; its closed forms, weights and schedule
are not disclosed [unknown], r_parallel and r_finish are OpenPARL's reading [confirmed in its code]. Learning is PPO's
step (`clipped_policy`); Kimi's own objective, a clipped-out log-ratio on a group mean, is `grpo`'s family.

Departures
  - In these tables no agent fails by itself, so an agent has finished unless the episode was cut off at the horizon.
  - The schedules are `rewards.schedules`; the convergence-triggered one is ours.
  - Critical steps are capped by the horizon of the rollouts, where OpenPARL has a budget of 48.
  - Every channel is told apart in the figures: a sum hides an outcome that falls.
"""

import numpy as np

from orchestrace.errors import RecipeError
from orchestrace.rewards import schedules
from orchestrace.training._torch import torch
from orchestrace.training.clipped_policy import learned
from orchestrace.training.learner import Learner, Moment, Trainee, Update
from orchestrace.training.recipe import Recipe
from orchestrace.training.settings import Parl
from orchestrace.training.stack import Floats, Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """PARL before its first update.

    Raises:
      RecipeError: the environment does not say how many agents an action starts.
    """
    if not stack.envs[0].spawns:
        problem = "this environment does not say how many agents an action starts"
        raise RecipeError(problem, place="algorithm", remedy='choose "ppo"')
    return Annealed(recipe, stack, generator=generator)


class Memory(torch.nn.Module):
    """What the convergence-triggered schedule remembers, as a buffer, so that a checkpoint holds it."""

    def __init__(self) -> None:
        super().__init__()
        # updates, average, anchor, quiet, the update at which annealing began or -1
        self.register_buffer("state", torch.tensor([0.0, 0.0, 0.0, 0.0, -1.0], dtype=torch.float64))

    def read(self) -> schedules.ConvergenceState:
        """The state."""
        updates, average, anchor, quiet, began = self.get_buffer("state").tolist()
        return schedules.ConvergenceState(int(updates), average, anchor, int(quiet), None if began < 0 else int(began))

    def write(self, now: schedules.ConvergenceState) -> None:
        """Remember a state."""
        began = -1.0 if now.began is None else float(now.began)
        values = [float(now.updates), now.average, now.anchor, float(now.quiet), began]
        self.get_buffer("state").copy_(torch.tensor(values, dtype=torch.float64))


class Annealed(Trainee):
    """PPO on the outcome and the annealed auxiliaries."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        self.memory, self.rule = Memory(), schedules.Convergence()

    @property
    def networks(self) -> dict[str, torch.nn.Module]:
        """The policy and the schedule's memory."""
        return {"policy": self.policy, "memory": self.memory}

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, add the auxiliaries, learn."""
        settings, batch = self.recipe.parl, self.played(rng)
        spawned = np.asarray(self.stack.envs[0].spawns)[batch.actions] * batch.taken
        parallel = np.minimum(spawned, settings.cap) / settings.cap
        finish = np.zeros(batch.taken.shape)
        last = batch.taken.sum(axis=0) - 1
        finish[last, np.arange(len(last))] = (spawned.sum(axis=0) > 0) & (batch.beyond < 0)
        share = self._share(moment)
        aided = batch.rewards + share * (settings.parallel * parallel + settings.finish * finish)
        done = learned(self, batch._replace(rewards=aided), moment=moment, rng=rng)
        rate = float(spawned.sum(axis=0).mean())
        self.memory.write(schedules.observed(self.rule, self.memory.read(), spawn_rate=rate))
        told = {
            "spawn_rate": rate,
            "delegation_rate": float((spawned.sum(axis=0) > 0).mean()),
            "auxiliary_share": share,
            "r_perf": _of_episode(batch.rewards),
            "r_parallel": _of_episode(parallel),
            "r_finish": _of_episode(finish),
        }
        return done._replace(figures={**done.figures, **told})

    def _share(self, moment: Moment) -> float:
        """The factor that both weights have now."""
        if self.recipe.parl.schedule == "convergence":
            return float(schedules.annealed(self.rule, self.memory.read()))
        return float(schedules.factor(_schedule(self.recipe.parl), moment.share))


def _schedule(settings: Parl) -> schedules.Schedule:
    if settings.schedule == "constant":
        return schedules.Constant()
    return schedules.Linear(settings.until) if settings.schedule == "linear" else schedules.Cosine(settings.until)


def _of_episode(channel: Floats) -> float:
    """Mean over episodes of a channel's sum."""
    return float(channel.sum(axis=0).mean())
