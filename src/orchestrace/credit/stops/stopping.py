"""Credit for stopping, exact at every prefix: there one can stop, aggregate what is there and grade it.

    r(s)  stop value: E[grade if stopped in s] − costs so far
    C(s)  value of going on: E[V(s′)], −∞ where going on is impossible
    V(s) = max(r(s), C(s))     (Snell)

**A stop value must be a conditional mean**: a posterior, a fitted value, the mean of very many grades. One 0/1 grade
inside the maximum is E[max] where max E is meant, which overstates V and teaches to go on for ever. Where all one has
is grades, use them as targets of a regression and take the maximum of what was fitted: `stop_bounds.fitted_means`.

**What was never seen has no value.** Logs of a policy that stopped say nothing about what would have come after. One
forced step beyond each stop is enough to know; targets that would need it are NaN here.

Reading order: credit of the two arms; targets for C along paths; hindsight; finite chains are in `stop_chains`, fits
and certificates in `stop_bounds`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, bools, floats, ints
from orchestrace.credit.results import Advantages


class StopCredit(NamedTuple):
    """What the two arms are worth, relative to the state. Both are known at every visit, whichever was taken."""

    stop: Floats
    """r − V; 0 where stopping is right, under the values of `snell_values`."""
    go_on: Floats
    """C − V; −∞ where going on is impossible."""
    values: Floats
    """V: the better arm, or the policy's own mix of both."""

    def taken(self, stopped: ArrayLike) -> Advantages:
        """The advantage of what was done.

        Args:
          stopped: True where the episode was stopped; the shape of the arms, which is [D] or is flattened to it.

        Raises:
          ValueError: another shape, or an episode went on where that is impossible.
        """
        flags = bools("stopped", stopped, ndim=self.stop.ndim)
        if flags.shape != self.stop.shape:
            raise ValueError(f"stopped has shape {flags.shape}, but the arms have {self.stop.shape}")
        chosen = np.where(flags, self.stop, self.go_on).ravel()
        if np.isneginf(chosen).any():
            raise ValueError(f"decision {int(np.argmin(chosen))} went on where go_on_values is -inf")
        return Advantages(values=chosen)


class LambdaTargets(NamedTuple):
    """Regression targets for both arms at each prefix of each path."""

    stop: Floats
    """[B, P] r; NaN past the end of a path."""
    go_on: Floats
    """[B, P] G; NaN at a path's last prefix and past it, where nothing was seen."""


def snell_values(stop_values: ArrayLike, go_on_values: ArrayLike) -> Floats:
    """V = max(r, C), the Snell envelope, given what going on is worth.

    Args:
      stop_values: r, any shape; conditional means, net of costs so far.
      go_on_values: C, same shape; −∞ where going on is impossible.
    """
    r, c = _both_arms(stop_values, go_on_values)
    values: Floats = np.maximum(r, c)
    return values


def stop_credit(
    stop_values: ArrayLike, go_on_values: ArrayLike, *, stop_chances: ArrayLike | None = None
) -> StopCredit:
    """Advantages of both arms over the value of the state.

        V = max(r, C), or p r + (1 − p) C for a policy that stops with chance p

    With the policy's own V and C, averaging the two over the policy gives 0, and weighting ∇ log π with them gives the
    policy gradient. With max(r, C) and the optimal C the direction is a policy improvement step, close to the gradient
    (cosine .9997 on the voting chain) but not equal to it.

    Args:
      stop_values: r, any shape; conditional means, net of costs so far.
      go_on_values: C, same shape; −∞ where going on is impossible.
      stop_chances: p in [0, 1], same shape, taken as 1 where going on is impossible; None: the better arm.

    Raises:
      ValueError: shapes that differ, a value that is NaN or +∞, a chance outside [0, 1].
    """
    r, c = _both_arms(stop_values, go_on_values)
    if stop_chances is None:
        values = np.maximum(r, c)
    else:
        p = _chances(stop_chances, r)
        finite = np.where(np.isfinite(c), c, r)
        values = p * r + (1 - p) * finite
    return StopCredit(r - values, c - values, values)


def greedy_stops(stop_values: ArrayLike, go_on_values: ArrayLike) -> Ints:
    """[B] the first prefix of each path at which stopping is at least as good as going on; −1 where there is none.

    Args:
      stop_values: [B, P]
      go_on_values: [B, P]; −∞ where going on is impossible.
    """
    r, c = _both_arms(stop_values, go_on_values, ndim=2)
    stops = r >= c
    if not stops.shape[1]:
        return np.full(len(r), -1, np.int64)
    first: Ints = np.where(stops.any(axis=1), stops.argmax(axis=1), -1).astype(np.int64)
    return first


def lambda_targets(
    stop_values: ArrayLike, go_on_values: ArrayLike, *, lam: float, lengths: ArrayLike | None = None
) -> LambdaTargets:
    """Full-width Q(λ) targets, cut where the greedy policy stops (Watkins 1989).

        G_t = r_{t+1}                              if r_{t+1} ≥ C_{t+1}
        G_t = (1 − λ) C_{t+1} + λ G_{t+1}          otherwise

    Full width: both arms of every prefix get a target, also those the path did not take. On the true C the mean of
    G_t given s_t is C(s_t), for every λ. Stop-RAG (arXiv 2510.14337) is described without the cut; uncut, values from
    beyond the stop leak in and the targets are too low for every λ > 0 (a greedy policy worth .9786 of the optimum at
    λ = .8 and .8883 at λ = .95 on the voting chain at price .01).

    Args:
      stop_values: [B, P] r at the prefixes of B paths; conditional means, net of costs so far.
      go_on_values: [B, P] the present estimate of C; −∞ where going on is impossible (a forced end).
      lam: λ in [0, 1].
      lengths: [B] prefixes in each path; None: P in all. A path whose last prefix could have gone on is bootstrapped
        from C there.

    Raises:
      ValueError: shapes that differ, λ outside [0, 1], a path that went on where that is impossible.
    """
    r, c = _both_arms(stop_values, go_on_values, ndim=2)
    if not 0 <= lam <= 1:
        raise ValueError(f"lam is {lam}; it must be in [0, 1]")
    last = _lengths(lengths, r) - 1
    stops = r >= c
    finite = np.where(np.isneginf(c), 0.0, c)  # read only where the path goes on
    targets = np.full(r.shape, np.nan)
    backed_up = np.full(len(r), np.nan)
    for t in reversed(range(r.shape[1])):
        targets[:, t] = np.where(t < last, backed_up, np.nan)
        if (impossible := np.isneginf(c[:, t]) & (t < last)).any():
            raise ValueError(f"path {int(np.argmax(impossible))} went on at prefix {t}, where go_on_values is -inf")
        onward = np.where(t < last, (1 - lam) * finite[:, t] + lam * targets[:, t], finite[:, t])
        backed_up = np.where(stops[:, t], r[:, t], onward)
    inside = np.arange(r.shape[1]) <= last[:, None]
    return LambdaTargets(np.where(inside, r, np.nan), targets)


def policy_go_on_values(stop_values: ArrayLike, stop_chances: ArrayLike) -> Floats:
    """[B, P] what going on brought on the same path, under a policy that stops with chance p at every prefix.

        C_t = W_{t+1},     W_t = p_t r_t + (1 − p_t) C_t,     W at the last prefix = r

    A sample of C(s_t) that costs no more draws: the stop is averaged over, never sampled. Ours.

    Args:
      stop_values: [B, P] on paths that were forced to go on to their last prefix.
      stop_chances: [B, P] in [0, 1]. Paths that end earlier are padded with chance 1.

    Returns:
      [B, P]; −∞ at the last prefix.
    """
    r = floats("stop_values", stop_values, ndim=2)
    p = _chances(stop_chances, r)
    found = np.full(r.shape, -np.inf)
    if not r.shape[1]:
        return found
    ahead = r[:, -1]
    for t in reversed(range(r.shape[1] - 1)):
        found[:, t] = ahead
        ahead = p[:, t] * r[:, t] + (1 - p[:, t]) * ahead
    return found


def stop_gradients(stop_values: ArrayLike, go_on_values: ArrayLike, *, stop_chances: ArrayLike) -> Floats:
    """[B, P] ∂J/∂logit of stopping at each prefix, at full width: no stop is ever sampled.

        g_t = Π_{k<t} (1 − p_k) · p_t (1 − p_t) · (r_t − C_t)

    The mean over paths of Σ_t g_t ∇logit_t is the policy gradient, with C from `policy_go_on_values` or from a critic
    of the same policy. Per episode its variance on the voting chain is .0002 with a critic, against .557 for
    REINFORCE and .0133 for REINFORCE with a value baseline; it costs the steps beyond the stop. Ours.

    Args:
      stop_values: [B, P] r on paths that were forced to go on.
      go_on_values: [B, P] C; −∞ where going on is impossible.
      stop_chances: [B, P] p in [0, 1], taken as 1 where going on is impossible.
    """
    r, c = _both_arms(stop_values, go_on_values, ndim=2)
    p = np.where(np.isneginf(c), 1.0, _chances(stop_chances, r))
    before = np.cumprod(1 - p, axis=1)
    reach = np.concatenate([np.ones((len(r), 1)), before[:, :-1]], axis=1) if r.shape[1] else before
    gap = r - np.where(np.isneginf(c), r, c)
    gradients: Floats = reach * p * (1 - p) * gap
    return gradients


def hindsight_stops(stop_values: ArrayLike) -> Ints:
    """[B] the prefix of each path with the highest stop value, the first among equals; a label for a warm start only.

    It is biased towards going on: it knows the future (E[max] .885 where V* is .833 on the voting chain).

    Args:
      stop_values: [B, P]

    Raises:
      ValueError: paths without a prefix.
    """
    r = floats("stop_values", stop_values, ndim=2)
    if not r.shape[1]:
        raise ValueError(f"stop_values has shape {r.shape}; a path has at least one prefix")
    best: Ints = r.argmax(axis=1).astype(np.int64)
    return best


def _both_arms(stop_values: ArrayLike, go_on_values: ArrayLike, *, ndim: int | None = None) -> tuple[Floats, Floats]:
    r = floats("stop_values", stop_values, ndim=np.ndim(stop_values) if ndim is None else ndim)
    c = np.asarray(go_on_values, dtype=np.float64)
    if c.shape != r.shape:
        raise ValueError(f"go_on_values has shape {c.shape}, but stop_values has {r.shape}")
    if (bad := np.isnan(c) | np.isposinf(c)).any():
        place = ", ".join(str(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"go_on_values[{place}] is {c[bad][0]}; it must be finite, or -inf where it is impossible")
    return r, c


def _chances(stop_chances: ArrayLike, r: Floats) -> Floats:
    p = floats("stop_chances", stop_chances, ndim=r.ndim)
    if p.shape != r.shape:
        raise ValueError(f"stop_chances has shape {p.shape}, but stop_values has {r.shape}")
    if ((p < 0) | (p > 1)).any():
        raise ValueError("stop_chances must be in [0, 1]")
    return p


def _lengths(lengths: ArrayLike | None, r: Floats) -> Ints:
    if lengths is None:
        return np.full(len(r), r.shape[1], np.int64)
    found = ints("lengths", lengths, like=("stop_values", len(r)))
    if ((found < 0) | (found > r.shape[1])).any():
        raise ValueError(f"lengths must be between 0 and {r.shape[1]}, the prefixes in stop_values")
    return found
