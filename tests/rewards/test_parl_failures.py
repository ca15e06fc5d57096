"""PARL's two known failures in a small simulation, and what our report says about them.

The policy is a table p over a few behaviours, each one a real trace. An update is one exact step of mirror ascent on
the expected reward, p ← p · exp(η · reward) / Σ, with the reward that `parl` gives to that behaviour's trace. What was
rolled out on the way, with outcomes of 0 or 1, goes into the report.
"""

from math import exp

import msgspec
import numpy as np
import pytest

from orchestrace.annotations import Evidence
from orchestrace.rewards import detect
from orchestrace.rewards.parl import parl
from orchestrace.rewards.schedules import Constant, Convergence, ConvergenceState, Linear, annealed, factor, observed
from orchestrace.trace import Agent, Aggregate, Builder, Return, Spawn, Stop, Tokens, Turn

UPDATES, ROLLOUTS = 40, 16


def behaviour(spawns, *, status="completed"):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    turn = b.append(Turn, "main", tokens=Tokens(output=10))
    answers = []
    for n in range(spawns):
        b.agent(Agent(f"w{n}", parent="main"))
        b.append(Spawn, "main", to=f"w{n}", turn=turn.id)
    for n in range(spawns):
        own = b.append(Turn, f"w{n}", tokens=Tokens(output=10))
        answers.append(b.append(Return, f"w{n}", to="main", turn=own.id, status=status))
    last = b.append(Turn, "main", tokens=Tokens(output=10))
    if answers:
        b.append(Aggregate, "main", turn=last.id, inputs=tuple(answer.id for answer in answers))
    b.append(Stop, "main", turn=last.id)
    return b.build()


class Training:
    """A policy over behaviours while it learns."""

    def __init__(self, behaviours, outcomes, start, **weights):
        self.behaviours, self.outcomes, self.weights = behaviours, np.array(outcomes), weights
        self.p = np.array(start) / sum(start)
        self.rng = np.random.default_rng(0)
        self.traces, self.evidence, self.accuracy = [], {}, []

    def rewards(self, anneal):
        graded = zip(self.behaviours, self.outcomes.tolist(), strict=True)
        return np.array(
            [parl(t, Evidence(grades={"team": {"t": g}}), anneal=anneal, **self.weights).total for t, g in graded]
        )

    def update(self, anneal, *, step):
        """Roll out, note what happened, learn; gives the mean number of spawns."""
        drawn = self.rng.choice(len(self.p), size=ROLLOUTS, p=self.p)
        for which in drawn.tolist():
            name = f"t{len(self.traces)}"
            self.traces.append(msgspec.structs.replace(self.behaviours[which], trace_id=name))
            grade = float(self.rng.random() < self.outcomes[which])
            self.evidence[name] = Evidence(grades={"team": {name: grade}})
        self.accuracy.append(float(self.p @ self.outcomes))
        self.p = self.p * np.exp(step * (self.rewards(anneal) - 1))
        self.p /= self.p.sum()
        return float(np.mean([sum(isinstance(e, Spawn) for e in t.events) for t in self.traces[-ROLLOUTS:]]))

    def report(self, last=UPDATES):
        """What detectors find in the last so many updates."""
        found = detect(self.traces[-last * ROLLOUTS :], self.evidence)
        return {finding.detector: finding.says for finding in found if finding.known}


def by_spawns(parallel):
    """0 to 12 workers. Three are right for the task; each one more costs 0.04 of accuracy, and earns parallel/10."""
    outcomes = [0.3 + 0.5 * min(n, 3) / 3 - 0.04 * max(0, n - 3) for n in range(13)]
    start = [exp(-((n - 3) ** 2) / 2) for n in range(13)]
    return Training([behaviour(n) for n in range(13)], outcomes, start, parallel=parallel)


def spawns(training):
    return float(training.p @ np.arange(13))


def test_lambdas_that_are_never_annealed_have_spawns_farmed_while_the_outcome_falls():
    training = by_spawns(parallel=0.6)
    for n in range(UPDATES):
        training.update(factor(Constant(), n / UPDATES), step=15)
    assert spawns(training) > 9
    assert training.accuracy[-1] < training.accuracy[0] - 0.15
    assert set(training.report()) == {"pseudo_parallelism"}
    assert training.report()["pseudo_parallelism"].startswith("Spawns rose from ")


def test_annealed_by_progress_they_do_not():
    training = by_spawns(parallel=0.6)
    for n in range(UPDATES):
        training.update(factor(Linear(0.4), n / UPDATES), step=15)
    assert spawns(training) == pytest.approx(3, abs=0.5)
    assert training.accuracy[-1] > training.accuracy[0]
    assert training.report() == {}


def test_annealed_once_the_spawn_rate_is_stable_they_do_not_either():
    rule, state = Convergence(window=5, tolerance=1.0, patience=5, over=10, latest=20), ConvergenceState()
    training = by_spawns(parallel=0.6)
    for _ in range(UPDATES):
        rate = training.update(annealed(rule, state), step=15)
        state = observed(rule, state, spawn_rate=rate)
    assert state.began is not None
    assert annealed(rule, state) == 0
    assert max(training.accuracy[20:30]) < training.accuracy[0] - 0.1  # it was farmed until then
    assert spawns(training) == pytest.approx(3, abs=0.5)
    assert training.accuracy[-1] > training.accuracy[0]
    assert training.report(last=20) == {}


def with_direct_action(allowed):
    """Answer at once, delegate, or work alone. Who may not work alone cannot mend what comes back truncated.

    Then delegating is right in 0.23 of the cases and answering at once in 0.27: too little to be seen in the outcome,
    and more than the 0.03 that a spawn earns.
    """
    behaviours = [behaviour(0), behaviour(1, status="completed" if allowed else "truncated")]
    outcomes, start = [0.27, 0.6 if allowed else 0.23], [0.05, 0.95]
    if allowed:
        behaviours, outcomes, start = [*behaviours, behaviour(0)], [*outcomes, 0.45], [0.05, 0.9, 0.05]
    return Training(behaviours, outcomes, start)


def test_without_direct_action_delegation_collapses():
    training = with_direct_action(False)
    for _ in range(UPDATES):
        training.update(1.0, step=25)
    assert training.p[1] < 0.1
    assert set(training.report()) == {"delegation_collapse"}


def test_with_direct_action_it_stays():
    training = with_direct_action(True)
    for _ in range(UPDATES):
        training.update(1.0, step=25)
    assert training.p[1] > 0.9
    assert training.report() == {}
