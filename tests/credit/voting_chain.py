"""A twin of E5d for tests: votes of unknown quality, solved layer by layer as a textbook would.

State: a votes for A, b for B; the chance that a voter says A is uniform. Stopping pays the posterior of the likelier
answer, each vote costs c, and after N votes one must stop. All tables are [N + 1, N + 1], indexed by (a, b).
"""

import math
from functools import cache

import numpy as np

CAP = 40


@cache
def posterior(most):
    """P(θ > ½ | a, b) = P(Bin(a + b + 1, ½) ≤ a)."""
    table = np.zeros((most + 1, most + 1))
    for a in range(most + 1):
        for b in range(most + 1):
            n = a + b + 1
            table[a, b] = sum(math.comb(n, k) for k in range(a + 1)) / 2**n
    return table


class Votes:
    def __init__(self, c, most=CAP):
        self.c, self.most = c, most
        a, b = np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij")
        self.n = a + b
        self.confidence = np.maximum(posterior(most), 1 - posterior(most))
        self.r = self.confidence - c * self.n  # net of the votes so far
        self.says_a = (a + 1) / (self.n + 2)
        self.reached = self.n <= most

    def backwards(self, ahead):
        """C[a, b] = E[ahead(C, a′, b′)], from the last layer to the first; −∞ where voting is over."""
        C = np.full(self.r.shape, -np.inf)
        for n in reversed(range(self.most)):
            a = np.arange(n + 1)
            b = n - a
            p = self.says_a[a, b]
            C[a, b] = p * ahead(C, a + 1, b) + (1 - p) * ahead(C, a, b + 1)
        return C

    def optimum(self):
        return self.backwards(lambda C, a, b: np.maximum(self.r[a, b], C[a, b]))

    def value(self, stops):
        """[N + 1, N + 1] what a rule is worth; stops: bool, or chances."""
        C = self.backwards(lambda C, a, b: self._mixed(stops, C, a, b))
        everything = np.arange(self.most + 1)
        return self._mixed(stops, C, everything[:, None], everything[None, :])

    def _mixed(self, stops, C, a, b):
        p = np.where(np.isneginf(C[a, b]), 1.0, stops[a, b])
        return p * self.r[a, b] + (1 - p) * np.where(np.isneginf(C[a, b]), 0.0, C[a, b])

    def greedy(self, C):
        return self.r >= C

    def uncut(self, lam):
        """The fixed point of full-width Q(λ) without the cut: (1 − λ) max(r, C) + λ C at every later state."""

        def ahead(C, a, b):
            over = np.isneginf(C[a, b])
            finite = np.where(over, 0.0, C[a, b])
            mixed = (1 - lam) * np.maximum(self.r[a, b], finite) + lam * finite
            return np.where(over, self.r[a, b], mixed)

        return self.backwards(ahead)

    def graded(self, grades):
        """C when the mean of 0/1 grades, instead of their expectation, enters the maximum."""

        def ahead(C, a, b):
            total = np.zeros(np.broadcast(a, b).shape)
            q = self.confidence[a, b]
            for k in range(grades + 1):
                chance = math.comb(grades, k) * q**k * (1 - q) ** (grades - k)
                total += chance * np.maximum(k / grades - self.c * self.n[a, b], C[a, b])
            return np.where(np.isneginf(C[a, b]), self.r[a, b], total)

        return self.backwards(ahead)

    def paths(self, count, rng):
        """(θ [count], a [count, N + 1], b): paths forced to the last vote."""
        theta = rng.random(count)
        says_a = rng.random((count, self.most)) < theta[:, None]
        a = np.concatenate([np.zeros((count, 1), int), says_a.cumsum(axis=1)], axis=1)
        return theta, a, np.arange(self.most + 1) - a

    def expected(self, V):
        """E[V(s′) | s]; 0 where voting is over."""
        E = self.backwards(lambda _, a, b: V[a, b])
        return np.where(np.isneginf(E), 0.0, E)

    def chain(self):
        """(states [S, 2], stop values [S] without costs, transitions [S, S]) for the library's chains."""
        states = np.array([(a, n - a) for n in range(self.most + 1) for a in range(n + 1)])
        number = {(a, b): i for i, (a, b) in enumerate(states.tolist())}
        P = np.zeros((len(states), len(states)))
        for (a, b), i in number.items():
            if a + b < self.most:
                P[i, number[a + 1, b]] = self.says_a[a, b]
                P[i, number[a, b + 1]] = 1 - self.says_a[a, b]
        return states, self.confidence[tuple(states.T)], P

    def every_path(self):
        """(chances [2^N], a [2^N, N + 1], b): all vote sequences."""
        bits = (np.arange(2**self.most)[:, None] >> np.arange(self.most)) & 1
        a = np.concatenate([np.zeros((len(bits), 1), int), bits.cumsum(axis=1)], axis=1)
        b = np.arange(self.most + 1) - a
        p = self.says_a[a[:, :-1], b[:, :-1]]
        return np.where(bits, p, 1 - p).prod(axis=1), a, b
