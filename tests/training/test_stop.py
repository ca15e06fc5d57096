"""The stop learner's targets against exact values and against the credit functions."""

import itertools

import numpy as np
import pytest

from orchestrace.credit import lambda_targets, policy_go_on_values, stop_gradients
from orchestrace.envs import action_values, by_name, optimal_policy, policy_values
from orchestrace.errors import RecipeError
from orchestrace.training import parse
from orchestrace.training.algorithms import stop
from orchestrace.training.rollouts import Batch, collected
from orchestrace.training.run_state import advance, started, tables
from orchestrace.training.stack import stack

ASK = 1


def voters(most=6, c=0.02):
    return by_name("unknown-voters", {"max_votes": most, "c": c})


def every_path(env):
    """All vote sequences that are forced to go on, as one batch, and the chance of each."""
    most = int(env.settings["max_votes"])
    votes = np.array(list(itertools.product((0, 1), repeat=most)))  # 1: for A
    a = np.column_stack([np.zeros(len(votes), int), votes.cumsum(axis=1)]).T
    n = np.arange(most + 1)[:, None]
    cells = n * (n + 1) // 2 + a
    actions = np.full(cells.shape, ASK)
    actions[-1] = 0
    says_a = (a[:-1] + 1) / (n[:-1] + 2)
    chances = np.where(votes.T == 1, says_a, 1 - says_a).prod(axis=0)
    rewards = env.process.means[env.process.pairs[cells, actions]]
    return Batch(cells, actions, rewards, np.ones(cells.shape, bool), np.zeros(len(votes), int),
                 np.full(len(votes), -1)), chances  # fmt: skip


def arms_of(env, values):
    """Both arms when the going-on is worth what `values` [S] say."""
    s = stack([env])
    q = action_values(env.process, values)
    q[np.arange(len(q)), s.stops] = -np.inf
    return stop.Arms(s.stop_values, q), s.stops


def means_by_cell(batch, weights, targets, cells):
    """[cells] the mean target of going on in each, by the chance of the paths; NaN where none does."""
    on = batch.actions == ASK
    w = np.broadcast_to(weights, on.shape)[on]
    total = np.bincount(batch.cells[on], w, minlength=cells)
    with np.errstate(invalid="ignore"):
        return np.bincount(batch.cells[on], w * targets[on], minlength=cells) / total


@pytest.mark.parametrize("trace_lambda", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("c", [0.005, 0.02, 0.06])
def test_the_optimum_is_the_fixed_point_of_cut_targets(c, trace_lambda):
    """E[G | s] = Q*(s, ask) for every λ, exactly: all paths with their chances."""
    env = voters(c=c)
    arms, stops = arms_of(env, env.solution.values)
    batch, chances = every_path(env)
    targets = stop.cut_targets(batch, arms, stops=stops, trace_lambda=trace_lambda)
    found = means_by_cell(batch, chances, targets, len(stops))
    met = np.isfinite(found)
    assert met.sum() == 21
    np.testing.assert_allclose(found[met], env.action_values()[met, ASK], atol=1e-12)


@pytest.mark.parametrize(("name", "settings"), [("batch-voting", {"max_batch": 3}), ("pandora", {"boxes": 3})])
def test_so_it_is_with_several_ways_to_go_on(name, settings):
    env = by_name(name, settings)
    s = stack([env], grade="posterior")
    q = env.action_values()
    able = np.flatnonzero(s.stops >= 0)
    q[able, s.stops[able]] = -np.inf
    arms = stop.Arms(s.stop_values, q)
    goes = np.isfinite(q)
    uniform = np.where(goes.any(axis=1)[:, None], goes, s.legal) / 1.0
    uniform /= uniform.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    batch = collected(s, lambda cells: uniform[cells], episodes=20_000, horizon=8, rng=rng)
    targets = stop.cut_targets(batch, arms, stops=s.stops, trace_lambda=0.8)
    on = batch.taken & (batch.actions != s.stops[batch.cells])
    off = (targets - q[batch.cells, batch.actions])[on]
    pair = (batch.cells * q.shape[1] + batch.actions)[on]
    count, total, square = (np.bincount(pair, w) for w in (None, off, off**2))
    often = count > 200
    error = np.sqrt(square[often] / count[often] / count[often])
    assert often.sum() > 10
    assert (np.abs(total[often] / count[often]) < 4.5 * error + 1e-12).all()


def test_cut_targets_are_those_of_credit():
    """One way to go on: `credit.lambda_targets`, in values net of costs so far."""
    env, rng = voters(c=0.03), np.random.default_rng(1)
    batch, _ = every_path(env)
    arms, stops = arms_of(env, env.solution.values)
    arms = arms._replace(go_on=np.where(np.isfinite(arms.go_on), rng.uniform(0.4, 1.0, arms.go_on.shape), -np.inf))
    spent = (-env.settings["c"] * np.arange(len(batch.cells)))[:, None]
    r, q = arms.stop[batch.cells] + spent, arms.best[batch.cells] + spent
    theirs = lambda_targets(r.T, q.T, lam=0.6).go_on.T
    ours = stop.cut_targets(batch, arms, stops=stops, trace_lambda=0.6) + spent
    np.testing.assert_allclose(ours[:-1], theirs[:-1], atol=1e-12)


def soft(env, rng):
    """A policy that stops by chance, and the same as chances [S]."""
    table = np.where(env.legal(), rng.uniform(0.1, 1.0, env.legal().shape), 0.0)
    table /= table.sum(axis=1, keepdims=True)
    return table, table[:, 0]


@pytest.mark.parametrize("trace_lambda", [0.0, 0.5, 1.0])
def test_own_targets_are_unbiased_for_the_policys_own_values(trace_lambda):
    env = voters()
    table, p = soft(env, np.random.default_rng(2))
    values = policy_values(env.process, table)
    arms, _ = arms_of(env, values)
    batch, chances = every_path(env)
    targets = stop.own_targets(batch, arms, values=values, stop_chances=p, trace_lambda=trace_lambda)
    found = means_by_cell(batch, chances, targets, len(p))
    met = np.isfinite(found)
    np.testing.assert_allclose(found[met], action_values(env.process, values)[met, ASK], atol=1e-12)


def test_the_gradient_is_that_of_credit():
    """Reach times p times (r − W) is ∂J/∂logit of `credit.stop_gradients`, C from the same path."""
    env = voters()
    table, p = soft(env, np.random.default_rng(3))
    batch, chances = every_path(env)
    spent = (-env.settings["c"] * np.arange(len(batch.cells)))[:, None]
    arms, _ = arms_of(env, policy_values(env.process, table))
    r = (arms.stop[batch.cells] + spent).T
    on_path = policy_go_on_values(r, p[batch.cells].T)
    theirs = stop_gradients(r, on_path, stop_chances=p[batch.cells].T)
    own = policy_values(env.process, table)
    ours = (stop.survival(batch, p) * p[batch.cells] * (arms.stop - own)[batch.cells]).T
    np.testing.assert_allclose(chances @ ours[:, :-1], chances @ theirs[:, :-1], atol=1e-12)


def test_reached_ends_with_the_first_stop():
    env = voters()
    arms, _ = arms_of(env, env.solution.values)
    batch, _ = every_path(env)
    seen = stop.reached(batch, arms)
    for b in range(seen.shape[1]):
        first = int(np.argmax(arms.stops[batch.cells[:, b]]))
        assert seen[: first + 1, b].all()
        assert not seen[first + 1 :, b].any()


def test_where_nothing_stops_another_algorithm_is_named():
    recipe = parse('env = "assignment"\nalgorithm = "stop"\n')
    with pytest.raises(RecipeError, match="no action is to stop"):
        started(recipe, *(stack([by_name("assignment")]),) * 2)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("q-lambda", "mlp"),
        ("q-lambda", "tabular"),
        ("q-lambda", "per-action"),
        ("gradient", "mlp"),
        ("snell", "tabular"),
    ],
)
def test_every_kind_of_policy_learns_boxes(mode, kind):
    text = f"""
        env = {{name = "pandora", boxes = 3, seed = 4}}
        algorithm = "stop"
        updates = 80
        policy = {{kind = "{kind}", hidden = 16}}
        rollouts = {{episodes = 128}}
        optimiser = {{rate = {0.2 if kind == "tabular" else 0.01}}}
        stop = {{mode = "{mode}", explore = 0.3, average = 0.8}}
    """
    where = stack([by_name("pandora", {"boxes": 3, "seed": 4})], grade="posterior")
    run = started(parse(text), where, where)
    while run.update < 80:
        advance(run)
    env = where.envs[0]
    assert env.exact_value(tables(run)[0]) >= 0.97 * env.optimal_value()
    assert env.exact_value(optimal_policy(env)) == pytest.approx(env.optimal_value())
