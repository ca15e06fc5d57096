"""Credit in words, for policies that are prompts, and scores that a judge gives to single turns.

Words cannot be averaged, so what can be checked is who got them: every agent of a trace exactly once, nobody else.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from orchestrace.credit._arrays import Floats


@dataclass(frozen=True, slots=True)
class TextCredit:
    """What a critic says one agent did for the result of one trace."""

    agent: str
    trace_id: str
    text: str
    """In words; never empty."""
    score: float | None = None
    """Where the critic also gave a number; its scale is the critic's. None: it gave none."""


@dataclass(frozen=True, slots=True)
class JudgeCredit:
    """What a judge thinks of one agent's action in one round."""

    agent: str
    round: int
    """From 0."""
    score: float
    """In [0, 1]."""


class TextCritic(Protocol):
    """What gives credit in words: a model behind a prompt, a person, a rule."""

    def __call__(self, trace_id: str, agents: Sequence[str]) -> Sequence[TextCredit]:
        """One credit for each agent of the trace."""
        ...


class LangMARLCalls(NamedTuple):
    """Model calls of one iteration."""

    actor: int
    """K N: every agent acts in every trace."""
    critic: int
    """K: one a trace, for all its agents."""
    gradient: int
    """K N: a direction in words for every agent and trace."""
    optimizer: int
    """2 N: for each agent one to gather its directions and one to rewrite its prompt."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


def checked_texts(given: Iterable[TextCredit], *, agents: Mapping[str, Sequence[str]]) -> tuple[TextCredit, ...]:
    """The credits, by trace and agent as `agents` lists them, if every agent of every trace has exactly one.

    Args:
      given: credits in any order.
      agents: trace id -> the agents that took part in it.

    Raises:
      ValueError: an agent without a credit or with two, one that was not there, an unknown trace, or empty words.
    """
    wanted = [(trace, agent) for trace, names in agents.items() for agent in names]
    if doubled := [key for key, count in Counter(wanted).items() if count > 1]:
        raise ValueError(f"agents lists {doubled[0][1]!r} twice in trace {doubled[0][0]!r}")
    found: dict[tuple[str, str], TextCredit] = {}
    known = set(wanted)
    for credit in given:
        key = (credit.trace_id, credit.agent)
        if credit.trace_id not in agents:
            raise ValueError(f"a credit names trace {credit.trace_id!r}, which agents does not list")
        if key not in known:
            raise ValueError(f"agent {credit.agent!r} has a credit, but took no part in trace {credit.trace_id!r}")
        if key in found:
            raise ValueError(f"agent {credit.agent!r} has two credits in trace {credit.trace_id!r}")
        if not credit.text.strip():
            raise ValueError(f"the credit of agent {credit.agent!r} in trace {credit.trace_id!r} says nothing")
        if credit.score is not None and not np.isfinite(credit.score):
            raise ValueError(f"the score of agent {credit.agent!r} in trace {credit.trace_id!r} is {credit.score}")
        found[key] = credit
    if missing := [key for key in wanted if key not in found]:
        raise ValueError(f"agent {missing[0][1]!r} has no credit in trace {missing[0][0]!r}")
    return tuple(found[key] for key in wanted)


def langmarl_calls(traces: int, *, agents: int) -> LangMARLCalls:
    """What one iteration of LangMARL (arXiv 2604.00722) costs in model calls.

    Args:
      traces: K ≥ 0 an iteration.
      agents: N ≥ 0, all of whom act in every trace.

    Raises:
      ValueError: a negative count.
    """
    if traces < 0 or agents < 0:
        raise ValueError(f"traces is {traces} and agents {agents}; neither may be negative")
    return LangMARLCalls(traces * agents, traces, traces * agents, 2 * agents)


def judge_scores(given: Iterable[JudgeCredit], agents: Sequence[str], *, rounds: int) -> Floats:
    """[T, N] scores of the cells of an agent-by-round matrix (CollabUIAgents, arXiv 2502.14496).

    Args:
      given: one a cell, in any order.
      agents: N names; the order of the columns.
      rounds: T.

    Raises:
      ValueError: a cell with no score or two, one outside the matrix, or a score outside [0, 1].
    """
    if rounds < 0:
        raise ValueError(f"rounds is {rounds}; it must not be negative")
    column = {agent: n for n, agent in enumerate(agents)}
    if len(column) < len(agents):
        raise ValueError(f"agents names {Counter(agents).most_common(1)[0][0]!r} twice")
    scores = np.full((rounds, len(agents)), np.nan)
    for credit in given:
        if credit.agent not in column or not 0 <= credit.round < rounds:
            raise ValueError(f"no cell for agent {credit.agent!r} in round {credit.round}: {rounds} rounds of {agents}")
        if not 0 <= credit.score <= 1:
            raise ValueError(f"the score of {credit.agent!r} in round {credit.round} is {credit.score}, not in [0, 1]")
        cell = credit.round, column[credit.agent]
        if not np.isnan(scores[cell]):
            raise ValueError(f"agent {credit.agent!r} has two scores in round {credit.round}")
        scores[cell] = credit.score
    if np.isnan(scores).any():
        turn, n = (int(i) for i in np.argwhere(np.isnan(scores))[0])
        raise ValueError(f"agent {agents[n]!r} has no score in round {turn}")
    return scores
