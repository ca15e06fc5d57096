"""Episodes of voting as traces: who was asked, what came back, when the orchestrator stopped.

The clock is simulated: deciding and aggregating take no time, a voter takes 0.5 to 1.5 s, and the voters of a round
run in parallel. The orchestrator is a table of probabilities, so it has choices but no turns.
"""

import math

import numpy as np

from orchestrace.envs.dynamic_programming import checked_policy
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.voting.rules import STOP, Truth, Voting
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Choice,
    HumanIntervention,
    OrchestratorDecision,
    Return,
    Spawn,
    Stop,
    Trace,
    Turn,
)

ORCHESTRATOR = "orchestrator"
QUESTION = "Which answer is right, A or B?"


def voting_episode(voting: Voting, policy: Floats, *, rng: np.random.Generator, trace_id: str) -> Trace:
    """One episode under a policy [S, A]: a native trace, equal seeds giving equal bytes.

    Each round is a choice, its spawns, a turn and a return of each voter, and the aggregate. A choice that asks one
    voter sits on its spawn; one that asks several, on an orchestrator_decision. The episode ends in a stop: reason
    `answer` where the policy stopped, `limit` where it was cut off without an answer. Whether the answer is right is
    decided by the truth that the voters knew, which is a label of the stop (`truth`).
    """
    return _Episode(voting, checked_policy(voting.process, policy), rng, trace_id).run()


class _Episode:
    """One episode while it runs."""

    def __init__(self, voting: Voting, policy: Floats, rng: np.random.Generator, trace_id: str) -> None:
        self.voting, self.policy, self.rng = voting, policy, rng
        self.truth: Truth = voting.truth(rng)
        self.state, self.t = voting.start, 0.0
        self.rounds, self.voters, self.price = 0, 0, 0.0
        self.builder = Builder(
            trace_id=trace_id,
            task_id=f"{voting.name}({', '.join(f'{key}={value:g}' for key, value in voting.settings.items())})",
            clock="simulated",
            system="orchestrace.envs",
            topology="centralized",
        )
        self.builder.agent(Agent(ORCHESTRATOR, role="orchestrator"))

    def run(self) -> Trace:
        question = self.builder.text(QUESTION)
        self.builder.append(
            HumanIntervention, ORCHESTRATOR, t=0.0, content=question, kind="prompt", initial=True, simulated=True
        )
        while True:
            choice, action = self.choice()
            if action == STOP:
                return self.answered(choice)
            self.ask(choice, action)
            if self.state == END:
                return self.cut_off()

    def choice(self) -> tuple[Choice, int]:
        """Draw an action from the policy."""
        voting, row = self.voting, self.policy[self.state]
        action = int(self.rng.choice(len(row), p=row))
        legal = voting.process.legal[self.state]
        choice = Choice(
            "O5" if action == STOP else voting.ask,
            voting.actions,
            action,
            logprob=math.log(row[action]),
            legal=None if legal.all() else tuple(legal.tolist()),
        )
        return choice, action

    def ask(self, choice: Choice, action: int) -> None:
        """One round: spawn the voters, let them vote in parallel, aggregate, move on."""
        size, append = self.voting.sizes[action], self.builder.append
        if size > 1:
            append(OrchestratorDecision, ORCHESTRATOR, t=self.t, choice=choice)
        names = [f"v{self.voters + i}" for i in range(size)]
        for name in names:
            self.builder.agent(Agent(name, role="voter", parent=ORCHESTRATOR))
            append(Spawn, ORCHESTRATOR, t=self.t, choice=choice if size == 1 else None, to=name)
        votes = self.rng.random(size) < self.truth.chance_a
        durations = np.round(self.rng.uniform(0.5, 1.5, size), 3)
        turns = [
            append(Turn, name, t=self.t, duration_s=float(duration))
            for name, duration in zip(names, durations, strict=True)
        ]
        returns = {}
        for i in np.argsort(durations, kind="stable"):
            vote = self.builder.text("A" if votes[i] else "B")
            done = self.t + float(durations[i])
            returns[i] = append(Return, names[i], turn=turns[i].id, t=done, content=vote, to=ORCHESTRATOR)
        self.rounds, self.voters = self.rounds + 1, self.voters + size
        self.price += float(self.voting.prices[action])
        self.t += float(durations.max())
        process = self.voting.process
        self.state = int(process.targets[process.first[process.pairs[self.state, action]] + votes.sum()])
        inputs = tuple(returns[i].id for i in range(size))
        self.aggregate(inputs, int(votes.sum()))

    def aggregate(self, inputs: tuple[str, ...], votes_a: int) -> None:
        summary = f"{votes_a} for A, {len(inputs) - votes_a} for B in this round"
        if self.state != END:
            summary += f"; A is right with chance {self.voting.posterior[self.state]:.4f}"
        self.builder.append(
            Aggregate,
            ORCHESTRATOR,
            t=self.t,
            content=self.builder.text(summary),
            method="weighted_vote" if self.voting.weighted else "vote",
            inputs=inputs,
        )

    def answered(self, choice: Choice) -> Trace:
        answer = "A" if self.voting.posterior[self.state] >= 0.5 else "B"
        self.builder.append(
            Stop,
            ORCHESTRATOR,
            t=self.t,
            content=self.builder.text(answer),
            choice=choice,
            labels={"truth": self.truth.answer},
            reason="answer",
        )
        confidence = float(self.voting.confidence[self.state])
        return self.finished(correct=answer == self.truth.answer, confidence=confidence)

    def cut_off(self) -> Trace:
        self.builder.append(Stop, ORCHESTRATOR, t=self.t, labels={"truth": self.truth.answer}, reason="limit")
        return self.finished(correct=False, confidence=None)

    def finished(self, *, correct: bool, confidence: float | None) -> Trace:
        metrics = {"correct": float(correct)}
        if confidence is not None:
            metrics["confidence"] = confidence
        return self.builder.build(
            rewards={"team": correct - self.price},
            costs={"price": self.price, "rounds": self.rounds, "voters": self.voters},
            metrics=metrics,
            blobs=self.builder.blobs,
        )
