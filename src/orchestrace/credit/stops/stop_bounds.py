"""Continuation values from paths, and certificates of a stop rule that need no optimum to compare with.

    low    value of the greedy rule on fresh paths                      V(rule) ≤ V*
    high   E[max_t (r_t − M_t)] for any martingale M with M₀ = 0        V* ≤ high

Paths are forced to go on to their last prefix. Fit on some of them, certify on others: in-sample the low value is
biased up.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats, ints
from orchestrace.credit.stops.stopping import greedy_stops


class ContinuationFit(NamedTuple):
    """C(s_t) ≈ features_t · coefficients_t."""

    coefficients: Floats
    """[P − 1, F] one row for each prefix but the last, where going on is impossible."""
    in_sample: float
    """Mean payoff of the rule on the paths that it was fitted to: biased up, so no certificate."""


class Bound(NamedTuple):
    """One side of a certificate."""

    value: float
    std_error: float
    """Of the mean over paths; NaN for a single path."""


def fitted_means(features: ArrayLike, grades: ArrayLike, *, folds: ArrayLike) -> Floats:
    """[n] stop values from noisy grades: least squares, each row predicted by the fit to the other folds.

    The only way a grade may come near a maximum: as the target of a regression, and never into its own prediction.
    One-hot features give the mean of the other grades of the same state. Ours.

    Args:
      features: [n, F] the basis, one row for each graded prefix.
      grades: [n] what the grader said, 0 or 1 or anything finite; without costs.
      folds: [n] whole numbers, at least two of them; the prefixes of one path share one.

    Raises:
      ValueError: shapes that differ, or fewer than two folds.
    """
    x = floats("features", features, ndim=2)
    y = floats("grades", grades, like=("features", len(x)))
    fold = ints("folds", folds, like=("features", len(x)))
    names = np.unique(fold)
    if len(names) < 2:
        raise ValueError(f"folds has {len(names)} different values; at least two are needed to predict across")
    found = np.empty(len(x))
    for name in names:
        inside = fold == name
        found[inside] = x[inside] @ _least_squares(x[~inside], y[~inside])
    return found


def continuation_fit(
    stop_values: ArrayLike, features: ArrayLike, *, payoffs: ArrayLike | None = None
) -> ContinuationFit:
    """Longstaff and Schwartz (2001): regress what going on brought, backwards in time.

        Y_T = g_T;   β_t = argmin Σ (features_t · β − Y_{t+1})²;   Y_t = g_t where r_t ≥ features_t · β_t, else Y_{t+1}

    The decision uses r, which the state knows; the targets are payoffs g, which may be 0/1 grades net of costs.

    Args:
      stop_values: [B, P] r; conditional means, net of costs so far.
      features: [B, P, F] the basis at each prefix; the last prefix's are not used.
      payoffs: [B, P] g, what stopping at each prefix paid; None: the stop values themselves.

    Raises:
      ValueError: shapes that differ, or no path, prefix or feature at all.
    """
    r = floats("stop_values", stop_values, ndim=2)
    x = floats("features", features, ndim=3)
    g = r if payoffs is None else floats("payoffs", payoffs, ndim=2)
    if x.shape[:2] != r.shape or g.shape != r.shape:
        raise ValueError(f"features has shape {x.shape} and payoffs {g.shape}, but stop_values has {r.shape}")
    if not x.size:
        raise ValueError(f"features has shape {x.shape}; there is nothing to fit")
    paid = g[:, -1].copy()
    coefficients = np.empty((r.shape[1] - 1, x.shape[2]))
    for t in reversed(range(r.shape[1] - 1)):
        coefficients[t] = _least_squares(x[:, t], paid)
        paid = np.where(r[:, t] >= x[:, t] @ coefficients[t], g[:, t], paid)
    return ContinuationFit(coefficients, float(paid.mean()))


def continuation_values(fit: ContinuationFit, features: ArrayLike) -> Floats:
    """[B, P] C at every prefix of any paths; −∞ at the last, where going on is impossible.

    Args:
      fit: from `continuation_fit`.
      features: [B, P, F] the same basis.

    Raises:
      ValueError: another number of prefixes or features than the fit has.
    """
    x = floats("features", features, ndim=3)
    prefixes, basis = fit.coefficients.shape
    if x.shape[1:] != (prefixes + 1, basis):
        raise ValueError(f"features has shape {x.shape}, but the fit has P={prefixes + 1} and F={basis}")
    found = np.full(x.shape[:2], -np.inf)
    found[:, :-1] = np.einsum("bpf,pf->bp", x[:, :-1], fit.coefficients)
    return found


def low_value(stop_values: ArrayLike, go_on_values: ArrayLike, *, payoffs: ArrayLike | None = None) -> Bound:
    """What the greedy rule earns on fresh paths: a lower bound of V*, up to its standard error.

    Args:
      stop_values: [B, P] r on paths that the values were not fitted to.
      go_on_values: [B, P] C of the fit; −∞ where going on is impossible.
      payoffs: [B, P] what stopping paid, if it is not r itself: grades net of costs are unbiased here, being in no
        maximum.

    Raises:
      ValueError: no path, shapes that differ, or a path on which the rule never stops.
    """
    r = floats("stop_values", stop_values, ndim=2)
    g = r if payoffs is None else floats("payoffs", payoffs, ndim=2)
    if g.shape != r.shape:
        raise ValueError(f"payoffs has shape {g.shape}, but stop_values has {r.shape}")
    at = greedy_stops(r, go_on_values)
    if (at < 0).any():
        raise ValueError(f"on path {int(np.argmin(at))} the rule never stops; its last go_on_value should be -inf")
    return _bound(g[np.arange(len(g)), at])


def high_value(stop_values: ArrayLike, values: ArrayLike, *, expected_values: ArrayLike) -> Bound:
    """The martingale upper bound of V* (Rogers 2002; Haugh and Kogan 2004), up to its standard error.

        M_t = Σ_{k≤t} (V(s_k) − E[V(s_k) | s_{k−1}]),     high = mean over paths of max_t (r_t − M_t)

    Any V gives a bound; the closer to V*, the tighter. The value of the rule itself (Andersen and Broadie 2004) is
    tighter than max(r, C) of a fit: .90566 for V* = .90565 on the voting chain at price .002, against .90588.

    Args:
      stop_values: [B, P] r, conditional means. Noisy grades in this maximum make it useless: 1.07 in the same case.
      values: [B, P] V at each prefix, net of costs so far.
      expected_values: [B, P − 1] E[V(s_{t+1}) | s_t] at each prefix but the last: exact, or the mean of V over fresh
        next states drawn independently of the path, which is still a bound but a looser one.

    Raises:
      ValueError: no path or prefix, or shapes that differ.
    """
    r = floats("stop_values", stop_values, ndim=2)
    v = floats("values", values, ndim=2)
    e = floats("expected_values", expected_values, ndim=2)
    if v.shape != r.shape or e.shape != (len(r), max(r.shape[1] - 1, 0)):
        raise ValueError(
            f"values has shape {v.shape} and expected_values {e.shape}, but stop_values has {r.shape}: "
            "they must be the same and one prefix shorter"
        )
    if not r.shape[1]:
        raise ValueError(f"stop_values has shape {r.shape}; a path has at least one prefix")
    martingale = np.zeros(r.shape)
    np.cumsum(v[:, 1:] - e, axis=1, out=martingale[:, 1:])
    return _bound((r - martingale).max(axis=1))


def _least_squares(features: Floats, targets: Floats) -> Floats:
    """[F] of smallest norm, so that features that do not vary do no harm."""
    return np.asarray(np.linalg.lstsq(features, targets, rcond=None)[0], dtype=np.float64)


def _bound(samples: Floats) -> Bound:
    if not len(samples):
        raise ValueError("there is no path to average over")
    error = float(samples.std(ddof=1)) / math.sqrt(len(samples)) if len(samples) > 1 else math.nan
    return Bound(float(samples.mean()), error)
