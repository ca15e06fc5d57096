"""Every credit method that these episodes allow: a sample in, a credit for each decision and the extra calls out.

Methods of the first kind are given the episodes alone. What they need to know of states (values, action values) they
estimate from the other half of the episodes (two folds), so no decision is judged by a value it took part in. Methods
of the second kind re-run the team. Reading order: outcome, critics, stops, re-runs, `CONTENDERS`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from orchestrace.credit import (
    GroupBaseline,
    anchor_balance,
    anchor_values,
    anchored,
    branch_advantages,
    difference_shares,
    gae,
    grpo,
    policy_advantages,
    rloo,
    rows,
)
from orchestrace.training.credit_quality.sample import Sample, rerun
from orchestrace.training.stack import Floats, Ints, stop_arms

ANCHOR_BETA = 2.0
"""β of AnchorTB, as in the paper's configuration."""
GAE_LAMBDA = 0.95


class Credited(NamedTuple):
    """What a method says."""

    values: Floats
    """[D] credit of each decision."""
    calls: int = 0
    """Model calls beyond those of the episodes themselves."""


class Contender(NamedTuple):
    """A method in the comparison."""

    about: str
    credit: Callable[[Sample, np.random.Generator], Credited]
    applies: Callable[[Sample], bool] = lambda _: True


def team_outcome(sample: Sample, rng: np.random.Generator) -> Credited:
    """Every decision gets the episode's return."""
    del rng
    return Credited(sample.returns[sample.episode])


def group(rule: Callable[..., Floats]) -> Callable[[Sample, np.random.Generator], Credited]:
    """A group baseline over the episodes with one start, the same for all decisions of an episode."""

    def credit(sample: Sample, rng: np.random.Generator) -> Credited:
        del rng
        return Credited(rule(rows(sample.returns, task=_starts(sample)))[sample.episode])

    return credit


def return_to_go(sample: Sample, rng: np.random.Generator) -> Credited:
    """What came after, less the mean of what came after the decisions of the same number."""
    del rng
    steps = sample.step
    mean = np.bincount(steps, sample.to_go) / np.bincount(steps)
    return Credited(sample.to_go - mean[steps])


def gigpo(sample: Sample, rng: np.random.Generator) -> Credited:
    """What came after, against the others that met the very same state (GiGPO's step advantage, without scaling)."""
    del rng
    given = rows(sample.to_go, rollout=sample.episode, context=sample.states)
    return Credited(sample.to_go - anchored(given, GroupBaseline()).baseline)


def critic(lam: float) -> Callable[[Sample, np.random.Generator], Credited]:
    """Generalised advantage estimation with values from the other half of the episodes."""

    def credit(sample: Sample, rng: np.random.Generator) -> Credited:
        del rng
        values = state_values(sample)
        mask = np.zeros((sample.episode[-1] + 1, sample.step.max() + 1), dtype=np.bool_)
        mask[sample.episode, sample.step] = True
        wide = [np.zeros(mask.shape) for _ in range(2)]
        for array, column in zip(wide, (sample.rewards, values), strict=True):
            array[mask] = column
        return Credited(gae(wide[0], wide[1], lam=lam, mask=mask).values[mask])

    return credit


def progress(sample: Sample, rng: np.random.Generator) -> Credited:
    """V(s′) − V(s), rewards left out: process rewards as progress. At the end V(s′) is what the end paid."""
    del rng
    values = state_values(sample)
    last = np.append(np.diff(sample.episode), 1) > 0
    after = np.where(last, sample.rewards, np.roll(values, -1))
    return Credited(after - values)


def rudder(sample: Sample, rng: np.random.Generator) -> Credited:
    """RUDDER's shares: the rise of the predicted return with each step, corrected to sum to the return."""
    del rng
    values = state_values(sample)
    paid = np.concatenate([np.cumsum(part) for part in _by_episode(sample, sample.rewards)])
    last = np.append(np.diff(sample.episode), 1) > 0
    predicted = np.where(last, paid, paid + np.roll(values, -1))
    parts = zip(_by_episode(sample, predicted), sample.returns, strict=True)
    return Credited(np.concatenate([difference_shares(part, float(R)).values for part, R in parts]))


def anchor_tb(sample: Sample, rng: np.random.Generator) -> Credited:
    """EvoSteer's balance over all spans; the policy is its own reference, so log ratios are 0."""
    del rng
    values = state_values(sample)
    low, high = sample.returns.min(), sample.returns.max()
    scale = (high - low) or 1.0
    found = []
    for inner, paid, R in zip(
        _by_episode(sample, values), _by_episode(sample, sample.rewards), sample.returns, strict=True
    ):
        so_far = np.concatenate([[0.0], np.cumsum(paid)[:-1]])
        success = np.clip((np.append(so_far + inner, R) - low) / scale, 0.0, 1.0)
        found.append(anchor_balance(anchor_values(success, beta=ANCHOR_BETA), np.zeros(len(inner))).credit)
    return Credited(np.concatenate(found))


def fitted_coma(sample: Sample, rng: np.random.Generator) -> Credited:
    """COMA: Q of the action less the policy's mean of Q; Q from the other half of the episodes."""
    del rng
    return Credited(_counterfactual(sample, action_tables(sample)))


def stop_exact(sample: Sample, rng: np.random.Generator) -> Credited:
    """Exact stop credit: what stopping pays is known at every prefix; what going on is worth, from the other half.

    The stop's value costs no call of an agent: one aggregates what is there and grades it. Both arms are then held
    against the policy's own mix of them.
    """
    del rng
    stop, pays = stop_arms(sample.env.process, np.array(sample.env.decides))
    q, able = action_tables(sample), np.flatnonzero(stop[sample.states] >= 0)
    q[able, stop[sample.states[able]]] = pays[sample.states[able]]
    return Credited(_counterfactual(sample, q))


def branches(replays: int) -> Callable[[Sample, np.random.Generator], Credited]:
    """Both sides of a decision re-run from its prefix: the action taken, and the policy's own draws (C3)."""

    def credit(sample: Sample, rng: np.random.Generator) -> Credited:
        D = len(sample.states)
        states = np.repeat(sample.states, replays)
        none = np.full((D * replays, 1), -1)
        chosen = rerun(sample, states, forced=np.repeat(sample.actions, replays)[:, None], rng=rng)
        other = rerun(sample, states, forced=none, rng=rng)
        sides = (side.returns.reshape(D, replays) for side in (chosen, other))
        return Credited(branch_advantages(*sides).values, chosen.calls + other.calls)

    return credit


def leave_one_out(sample: Sample, rng: np.random.Generator) -> Credited:
    """The return less that of a re-run in which π decides anew here and later decisions are kept where legal."""
    kept = _recorded(sample)
    forced = np.full((len(sample.states), kept.shape[1]), -1)
    for d in range(len(forced)):
        rest = kept[sample.episode[d], sample.step[d] + 1 :]
        forced[d, 1 : 1 + len(rest)] = rest
    without = rerun(sample, sample.states, forced=forced, rng=rng)
    return Credited(sample.to_go - without.returns, without.calls)


def shapley(sample: Sample, rng: np.random.Generator) -> Credited:
    """Shapley value of an episode's decisions by one random order an episode; the others are π's to decide anew.

    Each prefix of the order is one re-run from the start, so the shares of an episode sum to its return less that of a
    re-run in which nothing is kept.
    """
    kept = _recorded(sample)
    lengths = np.bincount(sample.episode)
    orders = [rng.permutation(int(length)) for length in lengths]
    forced = np.full((int((lengths).sum()), kept.shape[1]), -1)
    row = 0
    for b, order in enumerate(orders):
        for k in range(len(order)):
            forced[row, order[:k]] = kept[b, order[:k]]
            row += 1
    first = np.searchsorted(sample.episode, np.arange(len(lengths)))
    runs = rerun(sample, np.repeat(sample.states[first], lengths), forced=forced, rng=rng)
    values = np.empty(len(sample.states))
    for b, order in enumerate(orders):
        worth = np.append(runs.returns[first[b] : first[b] + lengths[b]], sample.returns[b])
        values[first[b] + order] = np.diff(worth)
    return Credited(values, runs.calls)


def state_values(sample: Sample) -> Floats:
    """[D] V(s) of each decision's state: the mean of what came after it in the other half of the episodes.

    A state that the other half never met gets the mean of all its states' returns at that step.
    """
    found = np.empty(len(sample.states))
    S = len(sample.policy)
    for fold in (0, 1):
        mine = sample.episode % 2 == fold
        fallback = _means(sample.step[~mine], sample.to_go[~mine], sample.step.max() + 1, sample.to_go.mean())
        table = _means(sample.states[~mine], sample.to_go[~mine], S, np.nan)
        values = table[sample.states[mine]]
        found[mine] = np.where(np.isnan(values), fallback[sample.step[mine]], values)
    return found


def action_tables(sample: Sample) -> Floats:
    """[D, A] Q(s, ·) in each decision's state, from the other half; V(s) where an action was never seen there."""
    S, A = sample.policy.shape
    pairs, values = sample.states * A + sample.actions, state_values(sample)
    found = np.empty((len(sample.states), A))
    for fold in (0, 1):
        mine = sample.episode % 2 == fold
        table = _means(pairs[~mine], sample.to_go[~mine], S * A, np.nan).reshape(S, A)[sample.states[mine]]
        found[mine] = np.where(np.isnan(table), values[mine][:, None], table)
    return found


def _counterfactual(sample: Sample, q: Floats) -> Floats:
    return policy_advantages(q, sample.policy[sample.states], actions=sample.actions).values


def _means(places: Ints, values: Floats, size: int, absent: float) -> Floats:
    counts = np.bincount(places, minlength=size)
    sums = np.bincount(places, values, minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), absent)


def _by_episode(sample: Sample, column: Floats) -> list[Floats]:
    return np.split(column, np.flatnonzero(np.diff(sample.episode)) + 1)


def _starts(sample: Sample) -> Ints:
    """[B] the state in which each episode began: what makes episodes comparable."""
    starts: Ints = sample.states[sample.step == 0]
    return starts


def _recorded(sample: Sample) -> Ints:
    """[B, T] the actions of each episode, -1 past its end."""
    kept = np.full((sample.episode[-1] + 1, sample.step.max() + 1), -1)
    kept[sample.episode, sample.step] = sample.actions
    return kept


def can_stop(sample: Sample) -> bool:
    """True where every decision of the sample could have been to stop."""
    stops, _ = stop_arms(sample.env.process, np.array(sample.env.decides))
    return bool((stops[sample.states[sample.chosen]] >= 0).all())


CONTENDERS: Mapping[str, Contender] = {
    "team-outcome": Contender("R to every decision", team_outcome),
    "grpo": Contender("(R − mean) / std of the episodes with one start", group(lambda given: grpo(given).values)),
    "rloo": Contender("R − mean of the others", group(lambda given: rloo(given).values)),
    "return-to-go": Contender("what came after, less its mean at that step", return_to_go),
    "gigpo": Contender("what came after, against others in the same state", gigpo),
    "gae": Contender("GAE, λ = .95, fitted values", critic(GAE_LAMBDA)),
    "td": Contender("GAE, λ = 0: r + V(s′) − V(s), fitted values", critic(0.0)),
    "progress": Contender("V(s′) − V(s): process rewards", progress),
    "rudder": Contender("shares by the rise of the predicted return", rudder),
    "anchor-tb": Contender("EvoSteer's balance of all spans", anchor_tb),
    "coma": Contender("Q(s, a) − mean of Q under the policy, fitted Q", fitted_coma),
    "stop-credit": Contender("the stop's value known exactly, going on fitted", stop_exact, can_stop),
    "c3-1": Contender("both sides re-run once", branches(1)),
    "c3-8": Contender("both sides re-run 8 times", branches(8)),
    "c3-32": Contender("both sides re-run 32 times", branches(32)),
    "leave-one-out": Contender("R − R with this decision made anew, later ones kept", leave_one_out),
    "shapley": Contender("Shapley value of the decisions, one order an episode", shapley),
}
"""Every method of the comparison, by name."""
