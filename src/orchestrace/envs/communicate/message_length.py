"""E3b, `message-length`: how many bits to spend on a message.

A sub-agent knows a number from N(0, s²) and may report it in b bits, at a price for each bit. With the best quantiser
that can be built (Lloyd 1982, Max 1960) the squared error is s² D(b); no code can beat Shannon's s² 2^(−2b).

    reward = −(s² D(b) + price · b)

An episode draws its variance s² from `variances` equally likely ones, which are shown; each has its own best length.
V_null is the best single length. A reward that forgets the price teaches to be long (`always-longest`).
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import ORCHESTRATOR, Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

DECIDES: SubDecision = "O3"
PARAMETERS: Mapping[str, Parameter] = {
    "price": Parameter(0.02, 0.0, 1.0, "price of a bit"),
    "most_bits": Parameter(6, 1, 6, "longest message", whole=True),
    "variances": Parameter(5, 1, 9, "variances that an episode is drawn from: 4, 1, 1/4, ...", whole=True),
}
SETTLED = 1e-10
"""Lloyd's iteration ends where no level moves by more."""


def message_length(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E3b. A policy sees [log₂ s² / 8, s² / 4, price]; of an action [bits / 6, 2^(−2 bits), price · bits].

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing, for the reward is the mean squared error itself.
    """
    variances, bits = drawn_variances(int(settings["variances"])), np.arange(int(settings["most_bits"]) + 1)
    errors = np.array([distortion(int(b)) for b in bits])
    rewards = -(variances[:, None] * errors[None, :] + settings["price"] * bits[None, :])
    seen = np.column_stack([np.log2(variances) / 8, variances / 4, np.full(len(variances), settings["price"])])
    options = np.column_stack([bits / 6, 4.0**-bits, settings["price"] * bits])
    moves = (Moves(s, b, [END], [1.0], [float(rewards[s, b])]) for s in range(len(variances)) for b in range(len(bits)))
    return TableEnv(
        name="message-length",
        settings=settings,
        actions=tuple(f"{b} bits" for b in bits),
        decides=(DECIDES,) * len(bits),
        process=process_of(moves, states=len(variances), actions=len(bits)),
        starts=np.full(len(variances), 1 / len(variances)),
        seen=seen,
        options_seen=np.broadcast_to(options, (len(variances), *options.shape)).copy(),
        named=lambda state: f"variance {variances[state]:g}",
        told=lambda state: (
            f"A sub-agent knows a number from a normal distribution of variance {variances[state]:g} and mean 0. How "
            f"many bits may its report have? A bit costs {settings['price']:g}; you lose the squared error."
        ),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="What is the number?", tell=_tell
        ),
        compare=_compared,
        grade=grade,
    )


def drawn_variances(count: int) -> Floats:
    """[count] 4, 1, 1/4, ...: a factor of four moves the best length by about a bit."""
    found: Floats = np.power(4.0, 1 - np.arange(count)).astype(np.float64)
    return found


@lru_cache
def distortion(bits: int) -> float:
    """D(b), the mean squared error of the best quantiser of N(0, 1) with 2ᵇ levels.

    Lloyd's iteration: boundaries half way between levels, levels at the mean of their cell. It starts from levels of
    density φ^(1/3), which are nearly right.
    """
    if not bits:
        return 1.0
    n = 2**bits
    wide = NormalDist(0, math.sqrt(3))
    levels: Floats = np.array([wide.inv_cdf((i + 0.5) / n) for i in range(n)])
    while True:
        middle = (levels[1:] + levels[:-1]) / 2
        below = np.array([0.0, *(0.5 * (1 + math.erf(x / math.sqrt(2))) for x in middle), 1.0])
        density = np.concatenate([[0.0], np.exp(-(middle**2) / 2) / math.sqrt(2 * math.pi), [0.0]])
        mass = np.diff(below)
        better: Floats = (-np.diff(density) / mass).astype(np.float64)
        if np.abs(better - levels).max() < SETTLED:
            return float(1 - mass @ better**2)
        levels = better


def shannon_bound(bits: float) -> float:
    """2^(−2b): no code of b bits has a smaller mean squared error for N(0, 1)."""
    return float(4.0**-bits)


def _compared(env: TableEnv) -> dict[str, float]:
    variances, last = drawn_variances(int(env.settings["variances"])), len(env.actions) - 1
    price = env.settings["price"]
    ideal = [0.5 * math.log2(2 * math.log(2) * v / price) if price else last for v in variances]
    rounded = np.clip(np.round(ideal), 0, last).astype(np.int64)
    return {
        "always-longest": plan_value(env, np.full(len(variances), last)),
        "never": plan_value(env, np.zeros(len(variances), dtype=np.int64)),
        "shannon-length": plan_value(env, rounded),
    }


def _tell(story: Story, move: Move) -> None:
    story.spawned("observer", role="observer")
    story.decided(move.choice)
    returned = story.worked({"observer": f"a report of {move.action} bits"}, seconds=story.drawn_seconds(1))
    story.costs["bits"] = float(move.action)
    story.aggregated(list(returned.values()), f"{ORCHESTRATOR} reads the report", method="custom")
    story.ended("the reported number")
