"""An inquiry as a finite process. States are numbered so that every move leads to a higher number.

    round t:  O5 (stop, go)  →  O1 (which team)  →  O2 (which jobs)  →  O3 (keep the signs, buy the details)  →  t + 1
    stop   →  O4 (answer by the log-odds, abstain)  →  end

Only states that can be reached are there. A round in which only the orchestrator worked has no O3.
"""

import itertools
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Process
from orchestrace.envs.joint.inquiry_physics import Ask, Context, Report, asks, detailed, logistic, seen
from orchestrace.envs.protocol import END, Bools, Floats, Ints

Team = tuple[int, int]


class State(NamedTuple):
    """Where an inquiry stands."""

    context: int
    level: str
    """`O1` to `O5`: what is to be decided."""
    round: int
    team: Team
    x: int
    """Log-odds of +1 in units, before the report that is pending."""
    report: Report | None = None
    """Pending at O3."""


class Options(NamedTuple):
    """The actions, in order: stop, go, the teams, the asks, keep, detail, answer, abstain."""

    teams: tuple[Team, ...]
    asks: tuple[Ask, ...]

    @property
    def keep(self) -> int:
        """Number of `keep`; `detail`, `answer`, `abstain` follow."""
        return 2 + len(self.teams) + len(self.asks)

    @property
    def size(self) -> int:
        """A."""
        return self.keep + 4

    def team(self, team: Team) -> int:
        """Number of having this team."""
        return 2 + self.teams.index(team)

    def ask(self, ask: Ask) -> int:
        """Number of handing out these jobs."""
        return 2 + len(self.teams) + self.asks.index(ask)


STOP, GO = 0, 1


def options(most: int) -> Options:
    """The actions with at most so many agents of each kind."""
    every = range(most + 1)
    return Options(tuple(itertools.product(every, every)), tuple(asks((most, most))))


class Built(NamedTuple):
    """The process of several contexts, each equally likely."""

    process: Process
    states: tuple[State, ...]
    starts: Floats


class Part(NamedTuple):
    """Pairs with one action and equally many outcomes."""

    states: Ints
    """[n]"""
    action: int
    targets: Ints
    """[n, M]"""
    chances: Floats
    rewards: Floats


class _Builder:
    """Numbers the states of one context after another and collects their moves."""

    def __init__(self, most: int) -> None:
        self.options = options(most)
        self.states: list[State] = []
        self.parts: list[Part] = []

    def add(self, number: int, context: Context) -> int:
        """All of one context; returns its start."""
        self.number, self.context, self.X = number, context, context.furthest
        self.x = np.arange(-self.X, self.X + 1)
        self.post = logistic(context.unit * self.x)
        start = len(self.states)
        reached: dict[Team, Bools] = {(0, 0): self.x == 0}
        layers, t = [], 0
        while True:
            layers.append((reached, {team: self.numbered("O5", t, team, mask) for team, mask in reached.items()}))
            if t == context.rounds:
                break
            reached = self.round(t, *layers[-1])
            t += 1
        anywhere = np.logical_or.reduce([mask for masks, _ in layers for mask in masks.values()])
        ends = self.numbered("O4", context.rounds, (0, 0), anywhere)
        for masks, ids in layers:
            for team, mask in masks.items():
                self.sure(ids[team][mask], STOP, ends[mask], 0.0)
        self.answers(ends[anywhere], self.post[anywhere])
        self.link(layers)
        return start

    def numbered(self, level: str, t: int, team: Team, mask: Bools, report: Report | None = None) -> Ints:
        """[nx] numbers of new states at these log-odds; -1 elsewhere."""
        ids = np.full(len(self.x), -1)
        places = np.flatnonzero(mask)
        ids[places] = len(self.states) + np.arange(len(places))
        self.states += [State(self.number, level, t, team, int(self.x[i]), report) for i in places]
        return ids

    def round(self, t: int, masks: dict[Team, Bools], ids: dict[Team, Ints]) -> dict[Team, Bools]:
        """O1 to O3 of a round; returns where the next one may begin. Moves into it are kept for `link`."""
        price, teams = self.context, self.options.teams
        if not t:
            self.pending: list[tuple[int, Team, Ints, int, Ints, Floats, float]] = []
        spawn_ids = {team: self.numbered("O1", t, team, mask) for team, mask in masks.items()}
        for team, mask in masks.items():
            self.sure(ids[team][mask], GO, spawn_ids[team][mask], 0.0)
        grown = {
            m: np.logical_or.reduce([mask for team, mask in masks.items() if team[0] <= m[0] and team[1] <= m[1]])
            for m in teams
        }
        job_ids = {m: self.numbered("O2", t, m, mask) for m, mask in grown.items() if mask.any()}
        for team, mask in masks.items():
            for m in job_ids:
                if team[0] <= m[0] and team[1] <= m[1]:
                    paid = -price.spawn_price * (sum(m) - sum(team))
                    self.sure(spawn_ids[team][mask], self.options.team(m), job_ids[m][mask], paid)
        return {m: self.jobs(t, m, grown[m], job_ids[m]) for m in job_ids}

    def jobs(self, t: int, team: Team, mask: Bools, ids: Ints) -> Bools:
        """O2 and O3 of one team; returns the log-odds at which the next round may begin with it."""
        context, after = self.context, np.zeros(len(self.x), dtype=np.bool_)
        reports = {s.report: s.shift for ask in asks(team) for s in seen(context, ask) if s.report.sources}
        detail_ids = {report: self.numbered("O3", t, team, mask, report) for report in reports}
        x = np.flatnonzero(mask)
        for ask in asks(team):
            brought = seen(context, ask)
            price = -context.round_price - context.job_price * (ask.a + ask.b) - context.own_price * ask.own
            chances = np.stack([self.mixed(x, *s.chances) for s in brought], axis=1)
            if ask.a + ask.b:
                targets = np.stack([detail_ids[s.report][x] for s in brought], axis=1)
                self.parts.append(Part(ids[x], self.options.ask(ask), targets, chances, np.full(chances.shape, price)))
            else:
                places = np.stack([x + s.shift for s in brought], axis=1)
                self.pending.append((t + 1, team, ids[x], self.options.ask(ask), places, chances, price))
                after[places] = True
        for report, shift in reports.items():
            own = detail_ids[report][x]
            self.pending.append((t + 1, team, own, self.options.keep, x[:, None] + shift, np.ones((len(x), 1)), 0.0))
            shifts, plus, minus = (np.array(column) for column in zip(*detailed(context, report), strict=True))
            told = self.after_signs(x, report, plus, minus)
            places = x[:, None] + shifts[None, :].astype(np.int64)
            price = -context.detail_price * report.sources
            self.pending.append((t + 1, team, own, self.options.keep + 1, places, told, price))
            after[x + shift] = True
            after[places] = True
        return after

    def mixed(self, x: Ints, plus: float, minus: float) -> Floats:
        """[n] chance under the current belief of what has these chances under the two answers."""
        mixed: Floats = self.post[x] * plus + (1 - self.post[x]) * minus
        return mixed

    def after_signs(self, x: Ints, report: Report, plus: Floats, minus: Floats) -> Floats:
        """[n, M] chances of what the details say, given the log-odds before the round and the signs."""
        gA, gB = self.context.agent_weights
        shift = gA * (2 * report.up_a - report.sources_a) + gB * (2 * report.up_b - report.sources_b)
        believed = logistic(self.context.unit * (self.x[x] + shift + report.own * self.context.weights[2]))[:, None]
        told: Floats = believed * plus[None, :] + (1 - believed) * minus[None, :]
        return told

    def sure(self, states: Ints, action: int, targets: Ints, reward: float) -> None:
        """A move that has one outcome."""
        shape = (len(states), 1)
        self.parts.append(Part(states, action, targets[:, None], np.ones(shape), np.full(shape, reward)))

    def answers(self, states: Ints, post: Floats) -> None:
        """O4: right or wrong, or what abstaining pays."""
        right = np.maximum(post, 1 - post)
        nowhere, paid = np.full((len(states), 2), END), np.tile([1.0, 0.0], (len(states), 1))
        self.parts.append(Part(states, self.options.keep + 2, nowhere, np.column_stack([right, 1 - right]), paid))
        abstained = np.full((len(states), 1), self.context.abstain)
        self.parts.append(Part(states, self.options.keep + 3, nowhere[:, :1], np.ones(abstained.shape), abstained))

    def link(self, layers: list[tuple[dict[Team, Bools], dict[Team, Ints]]]) -> None:
        """Moves into the next round, now that its states have numbers."""
        for t, team, states, action, places, chances, price in self.pending:
            self.parts.append(Part(states, action, layers[t][1][team][places], chances, np.full(chances.shape, price)))


def built(contexts: list[Context]) -> Built:
    """The process of these contexts, which share `most`."""
    builder = _Builder(contexts[0].most)
    places = [builder.add(i, context) for i, context in enumerate(contexts)]
    starts = np.zeros(len(builder.states))
    starts[places] = 1 / len(contexts)
    process = _joined(builder.parts, states=len(builder.states), actions=builder.options.size)
    return Built(process, tuple(builder.states), starts)


def _joined(parts: list[Part], *, states: int, actions: int) -> Process:
    """Flat arrays from blocks of pairs (states [n], action, targets, chances, rewards [n, M]), in any order."""
    held = [part.chances > 0 for part in parts]
    at = np.concatenate([part.states for part in parts])
    action = np.concatenate([np.full(len(part.states), part.action) for part in parts])
    sizes = np.concatenate([mask.sum(axis=1) for mask in held])
    targets = np.concatenate([part.targets[mask] for part, mask in zip(parts, held, strict=True)])
    chances, rewards = (
        np.concatenate([column[mask] for column, mask in zip(columns, held, strict=True)])
        for columns in ([part.chances for part in parts], [part.rewards for part in parts])
    )
    order = np.lexsort((action, at))
    offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1][order]
    first = np.concatenate([[0], np.cumsum(sizes[order])])
    outcomes = np.repeat(offsets - first[:-1], sizes[order]) + np.arange(first[-1])
    pairs = np.full((states, actions), -1)
    pairs[at[order], action[order]] = np.arange(len(order))
    return Process(pairs, first, targets[outcomes], chances[outcomes], rewards[outcomes])
