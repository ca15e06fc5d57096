"""What each algorithm may be told: one frozen struct an algorithm, read when the recipe names it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]
# Upper limits stand where a slip of the keyboard would fill the memory.


class Component(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of a recipe."""


class Reinforce(Component, frozen=True):
    """REINFORCE with a leave-one-out baseline; read when `algorithm = "reinforce"`."""

    group: Annotated[int, Meta(ge=2)] = 64
    """Episodes from the same start that are each other's baseline; divides `rollouts.episodes`."""


class Ppo(Component, frozen=True):
    """Proximal policy optimisation; read when `algorithm = "ppo"`."""

    clip: Positive = 0.2
    """The probability ratio counts only within 1 ± clip."""
    epochs: Count = 4
    """Passes over the decisions of an update."""
    minibatches: Count = 4
    """Parts into which a pass cuts them; one optimiser step each."""
    gae_lambda: Ratio = 0.95
    """λ of generalised advantage estimation: 0 trusts the value head, 1 the realised return."""
    value_weight: NonNegative = 0.5
    """Weight of the value head's squared error in the loss."""


class Stop(Component, frozen=True):
    """Learning when to stop from exact stop credit; read when `algorithm = "stop"`."""

    mode: Literal["q-lambda", "gradient", "snell"] = "q-lambda"
    """q-lambda: regression on cut Q(λ), judged greedily. gradient: the policy gradient, both arms known at every
    prefix. snell: the same with Snell values, a policy improvement step."""
    trace_lambda: Ratio = 0.9
    """λ of the targets of going on; cut where the greedy policy stops or another action was taken."""
    explore: Ratio = 0.1
    """Chance of a random action among those that go on, where there are several."""
    beyond: Ratio = 0.1
    """Weight of what lies beyond the greedy policy's stop, where episodes are forced to go on."""
    steps: Count = 4
    """Optimiser steps on each batch, of each network."""
    average: Ratio = 0.95
    """What the average of the weights, by which q-lambda is judged, keeps of itself at each update; 0: no average."""


class Parl(Component, frozen=True):
    """PPO with PARL's two auxiliary rewards; read when `algorithm = "parl"`, with `ppo` for the learning step."""

    parallel: NonNegative = 0.3
    """λ₁, weight of r_parallel = min(agents started, cap) / cap of each action, at the first update."""
    finish: NonNegative = 0.2
    """λ₂, weight of r_finish, the share of the agents started that finished, at the first update."""
    cap: Count = 10
    """Agents beyond which starting more earns nothing."""
    schedule: Literal["linear", "cosine", "constant", "convergence"] = "linear"
    """How both weights go to 0. constant: they do not. convergence: linearly, once the spawn rate is stable."""
    until: Positive = 0.4
    """When linear and cosine reach 0, as a share of all updates; beyond 1 they do not."""


class Grpo(Component, frozen=True):
    """The GRPO family; read when `algorithm = "grpo"`."""

    flavour: Literal["grpo", "dr-grpo", "dapo", "gspo", "srpo"] = "grpo"
    """Which advantages, ratio, clip and weights: those of the published method."""
    epochs: Count = 4
    """Passes over the episodes of an update."""
    minibatches: Count = 4
    """Parts into which a pass cuts the episodes; one optimiser step each."""
    clip_low: NonNegative = 0.0
    """ε below 1; 0: the flavour's own."""
    clip_high: NonNegative = 0.0
    """ε above 1; 0: the flavour's own."""


class AnchorTb(Component, frozen=True):
    """EvoSteer's balance of all spans; read when `algorithm = "anchor-tb"`."""

    beta: Annotated[float, Meta(gt=0, le=50)] = 4.0
    """β of u = log(1 + (e^β − 1) r), r the return scaled into [0, 1]; 2 in the paper."""
    read: Literal["greedy", "sampled"] = "greedy"
    """How the policy is judged: at its optimum it is the reference times e^u, which is soft."""
    steps: Count = 4
    """Optimiser steps on each batch."""
    refresh: Annotated[int, Meta(ge=0)] = 10
    """Updates after which the policy becomes the reference; 0: never, as in the paper."""


class Dpo(Component, frozen=True):
    """Direct preference optimisation; read when `algorithm = "dpo"`."""

    beta: Positive = 1.0
    """β: how far the policy may leave the reference for a preference."""
    refresh: Count = 10
    """Updates after which the policy becomes the reference, which plays."""
    steps: Count = 4
    """Optimiser steps on each batch of pairs."""


class Rlhf(Component, frozen=True):
    """A reward model from preferences, then PPO against it; read when `algorithm = "rlhf"`, with `ppo`."""

    kl: NonNegative = 0.01
    """Price of a nat of divergence from the reference, the policy at the start."""
    steps: Count = 8
    """Optimiser steps of the reward model an update."""
    held_out: Ratio = 0.1
    """Share of the pairs on which the reward model's accuracy is measured and not learned."""


class Mappo(Component, frozen=True):
    """PPO for a team; read when `algorithm = "mappo"`, with `ppo` for clip, epochs and the like."""

    critic: Literal["central", "own"] = "central"
    """central: one value of all that there is to see (MAPPO). own: each agent's, of what it sees itself (IPPO)."""


class Coma(Component, frozen=True):
    """Counterfactual baselines; read when `algorithm = "coma"`."""

    trace_lambda: Ratio = 0.8
    """λ of the critic's targets."""
    critic_steps: Count = 8
    """Optimiser steps of the critic on each batch, before the policy's one."""


class Qmix(Component, frozen=True):
    """Values that add up or mix monotonically; read when `algorithm = "qmix"`."""

    mixer: Literal["qmix", "vdn"] = "qmix"
    """qmix: monotone, by weights that depend on the state. vdn: the sum."""
    explore: Ratio = 1.0
    """ε of ε-greedy at the first update; falls with the entropy schedule's `until`."""
    explore_end: Ratio = 0.05
    """ε from `exploration.until` on."""
    steps: Count = 8
    """Optimiser steps on each batch."""
    refresh: Count = 4
    """Updates after which the target network becomes the network."""


class Maddpg(Component, frozen=True):
    """Deterministic policy gradients made discrete; read when `algorithm = "maddpg"`."""

    temperature: Positive = 1.0
    """Of the Gumbel-softmax."""
    steps: Count = 4
    """Optimiser steps of critics and actors on each batch."""
    refresh: Count = 4
    """Updates after which the target networks become the networks."""
