"""What is lost when one decision of an inquiry is frozen, and the best plan that sees nothing."""

from collections.abc import Sequence

import numpy as np

from orchestrace.envs.dynamic_programming import pair_values
from orchestrace.envs.joint.inquiry_physics import Context, Report, detailed, logistic
from orchestrace.envs.joint.inquiry_process import GO, STOP, Options, State
from orchestrace.envs.probability import binomial_pmf
from orchestrace.envs.protocol import Bools, Floats
from orchestrace.envs.table_env import TableEnv

NONE = (0, 0)


def restricted_values(env: TableEnv, states: Sequence[State], choices: Options) -> dict[str, float]:
    """Optimal values when one decision is frozen and all others are optimal.

    Args:
      env: the inquiry.
      states: what its states are.
      choices: its actions.
    """
    level = np.array([state.level for state in states])
    rounds = np.array([state.round for state in states])
    alone = np.array([state.team == NONE for state in states])
    sourced = np.array([state.report is not None for state in states])
    jobs = {choices.ask(ask): ask for ask in choices.asks}
    with_own, several = [a for a, j in jobs.items() if j.own], [a for a, j in jobs.items() if j.a + j.b + j.own > 1]

    def value(*barred: tuple[Bools, Sequence[int]]) -> float:
        allowed = env.process.legal.copy()
        for where, actions in barred:
            allowed[np.ix_(np.flatnonzero(where), np.array(actions, dtype=np.int64))] = False
        return _best_value(env, allowed)

    every = np.ones(len(states), dtype=np.bool_)
    spawning = [choices.team(m) for m in choices.teams if m != NONE]
    stop, keep, detail, abstain = [STOP], [choices.keep], [choices.keep + 1], [choices.keep + 3]
    none_yet, nobody = (level == "O1") & alone, [choices.team(NONE)]
    found = {
        "serial": value((every, spawning)),
        "one-at-a-time": value((every, several)),
        "one-shot": value((rounds > 0, [GO])),
        "must-delegate": value((every, with_own), (none_yet, nobody)),
        "never-details": value((sourced, detail)),
        "always-details": value((sourced, keep)),
        "never-abstains": value((level == "O4", abstain)),
    }
    last = int(rounds.max())
    fixed = [value((rounds >= k, [GO]), ((level == "O5") & (rounds < k), stop)) for k in range(last + 1)]
    return {**found, "fixed-rounds": max(fixed)}


def _best_value(env: TableEnv, allowed: Bools) -> float:
    """V* over the starts with only these actions [S, A]; minus infinity from where nothing is allowed."""
    process, S = env.process, len(env.starts)
    barred = ~allowed[process.legal]
    starts = np.searchsorted(process.states, np.arange(S))
    values = np.zeros(S)
    for _ in range(S):
        q = pair_values(process, values)
        q[barred] = -1e9  # finite: an outcome of chance p times infinity would poison the mean of a legal one
        swept = np.maximum.reduceat(q, starts)
        if np.array_equal(swept, values):
            break
        values = swept
    return float(env.starts @ values)


def fixed_plan(contexts: Sequence[Context]) -> tuple[str, float]:
    """The best plan for all contexts, fixed in advance, and its mean value; what it is, in words.

    A plan is a number of rounds, how many of them it works itself in, how many jobs go to each kind, spread evenly over
    the rounds, and whether details are bought. Source: the worked model's `open_loop`.
    """
    rounds, most = contexts[0].rounds, contexts[0].most
    best = ("abstain at once", float(np.mean([context.abstain for context in contexts])))
    answer = ("answer at once", 0.5)
    best = max(best, answer, key=lambda plan: plan[1])
    for R in range(1, rounds + 1):
        jobs = range(most * R + 1)
        for details in (0, 1):
            tables = [_plan_values(context, R, details=details) for context in contexts]
            mean = np.mean(tables, axis=0)  # [own, jobs A, jobs B]
            for own in range(R + 1):
                for a in jobs:
                    for b in jobs:
                        if own + a + b >= R and mean[own, a, b] > best[1]:
                            bought = "with" if details else "without"
                            said = f"{R} rounds, own work in {own}, {a} jobs to A, {b} to B, {bought} details"
                            best = (said, float(mean[own, a, b]))
    return best


def _plan_values(context: Context, R: int, *, details: int) -> Floats:
    """[R + 1, N R + 1, N R + 1] value of each plan of R rounds."""
    most = context.most * R
    laws = [[_jobs_law(context, g, k, R, details=details) for k in range(most + 1)] for g in (0, 1)]
    own = [_own_law(context, n) for n in range(R + 1)]
    values = np.full((R + 1, most + 1, most + 1), -np.inf)
    for a, (law_a, sources_a) in enumerate(laws[0]):
        for b, (law_b, sources_b) in enumerate(laws[1]):
            both = np.convolve(law_a, law_b)
            team = -(-a // R) + -(-b // R)
            price = context.round_price * R + context.spawn_price * team + context.job_price * (a + b)
            price += context.detail_price * (sources_a + sources_b) if details else 0.0
            for n, law in enumerate(own):
                values[n, a, b] = _answer_value(np.convolve(both, law)) - price - context.own_price * n
    return values


def _jobs_law(context: Context, kind: int, jobs: int, R: int, *, details: int) -> tuple[Floats, float]:
    """Law of the log-odds from all jobs of a kind, θ = +1, centred; and how many distinct sources they have."""
    law, sources = np.ones(1), 0.0
    for i in range(R):
        n = jobs // R + (i < jobs % R)
        if not n:
            continue
        mixed = np.zeros(1)
        for distinct in range(1, n + 1):
            chance = float(binomial_pmf(n - 1, 1 - context.copying)[distinct - 1])
            sources += chance * distinct
            mixed = _sum(mixed, chance * _sources_law(context, kind, distinct, details=details))
        law = np.convolve(law, mixed)
    return law, sources


def _sources_law(context: Context, kind: int, n: int, *, details: int) -> Floats:
    """Law of the log-odds from n distinct sources, θ = +1, centred."""
    g = context.agent_weights[kind]
    right = float(logistic(g * context.unit))
    one = np.zeros(2 * (2 * g if details else g) + 1)
    if details:
        for up in (0, 1):
            report = Report(1, 0, up, 0, 0) if kind == 0 else Report(0, 1, 0, up, 0)
            for shift, plus, _ in detailed(context, report):
                one[shift + 2 * g] += (right if up else 1 - right) * plus
    else:
        one[0], one[-1] = 1 - right, right
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, one)
    return law


def _own_law(context: Context, n: int) -> Floats:
    g = context.weights[2]
    right = float(logistic(g * context.unit))
    one = np.zeros(2 * g + 1)
    one[0], one[-1] = 1 - right, right
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, one)
    return law


def _answer_value(law: Floats) -> float:
    """Chance that the sign of the log-odds is right; a tie is right half the time."""
    middle = len(law) // 2
    return float(law[middle + 1 :].sum() + 0.5 * law[middle])


def _sum(a: Floats, b: Floats) -> Floats:
    """Two centred laws of different length, added."""
    wide, narrow = (a, b) if len(a) >= len(b) else (b, a)
    found, pad = wide.copy(), (len(wide) - len(narrow)) // 2
    found[pad : len(wide) - pad] += narrow
    return found
