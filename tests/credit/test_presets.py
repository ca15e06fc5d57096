"""The laws of advantages that compare rows, for every published method that obeys them."""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credit.batches import ONE_VOTE, PRESETS, at, batches, keys_of, moved
from orchestrace.credit import ADVANTAGE_METHODS, methods, rows
from orchestrace.credit.groups.baselines import grouped

FEWER = settings(max_examples=max(settings.default.max_examples // 4, 1))
"""There are many methods."""


def named(law):
    return pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if law(preset)])


@named(lambda preset: preset.key is not None)
@FEWER
@given(given_=batches())
def test_a_group_sums_to_zero_over_its_votes(name, given_):
    """Rows of a rollout are one vote, with their mean."""
    preset = PRESETS[name]
    found = preset.of(given_).values
    counted = given_.parent < 0 if preset.votes == "root" else np.ones(len(given_), np.bool_)
    groups = grouped(*(getattr(given_, key) for key in preset.key))
    votes = np.arange(len(given_)) if preset.votes == "row" else given_.rollout
    for group in set(groups[counted].tolist()):
        own = counted & (groups == group)
        assert sum(found[own & (votes == vote)].mean() for vote in set(votes[own].tolist())) == pytest.approx(
            0, abs=1e-9
        )


@named(lambda preset: preset.shift)
@FEWER
@given(given_=batches(), shift=st.integers(-8, 8))
def test_a_constant_added_changes_nothing(name, given_, shift):
    of = PRESETS[name].of
    assert of(moved(given_, shift=shift)).values == pytest.approx(of(given_).values, abs=1e-9)


@named(lambda preset: preset.scale)
@FEWER
@given(given_=batches(), factor=st.sampled_from([0.5, 3.0]))
def test_a_factor_changes_nothing_where_the_deviation_is_divided_out(name, given_, factor):
    of = PRESETS[name].of
    assert of(moved(given_, factor=factor)).values == pytest.approx(of(given_).values, abs=1e-4)


@named(lambda preset: True)
@FEWER
@given(given_=batches(), die=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_keys_say_nothing(name, given_, die):
    order = list(range(len(given_)))
    die.shuffle(order)
    order = np.array(order)
    names = {
        "task": 7 - 3 * given_.task[order],
        "rollout": 1000 - given_.rollout[order],
        "agent": 5 - given_.agent[order] * 10**17,
        "role": -given_.role[order] * 10**12,
    }
    of = PRESETS[name].of
    found, again = of(given_), of(at(given_, order, **names))
    assert again.values == pytest.approx(found.values[order], abs=1e-9)
    assert again.degenerate == found.degenerate


@named(lambda preset: True)
@pytest.mark.parametrize("reward", [0.0, 1.0, -3.5, 1e15, 1e-15])
def test_a_group_of_one_teaches_nothing_and_is_counted(name, reward):
    """The trap of verl, Dr. MAS, ReMA and MATPO: its raw reward becomes the advantage."""
    found = PRESETS[name].of(rows([reward] * 3, task=[0, 1, 2]))
    assert found.values.tolist() == [0, 0, 0]
    assert found.degenerate == 3


@pytest.mark.parametrize(
    "name", [name for name in PRESETS if not name.startswith(("sharp", "gigpo")) and name != "marshal"]
)
@FEWER
@given(given_=batches(), unit=st.sampled_from([1e-15, 0.1, 1e15]))
def test_equal_rewards_teach_nothing(name, given_, unit):
    """Whatever the tasks earned, if all rollouts of each earned the same."""
    equal = rows(unit * (given_.task + 0.3), **keys_of(given_))
    assert PRESETS[name].of(equal).values == pytest.approx(np.zeros(len(given_)), abs=1e-9 * max(unit, 1))


@named(lambda preset: preset.scale)
def test_rounding_is_no_spread(name):
    found = PRESETS[name].of(rows([1e6 * (0.1 + 0.2), 1e6 * 0.3], task=[0, 0], context=[0, 0]))
    assert found.values.tolist() == [0, 0]
    assert found.degenerate == 2


@pytest.mark.parametrize("name", ONE_VOTE)
@FEWER
@given(given_=batches(), data=st.data())
def test_a_rollout_has_one_vote_however_many_rows(name, given_, data):
    one = data.draw(st.integers(0, len(given_) - 1))
    same = np.flatnonzero((given_.rollout == given_.rollout[one]) & (given_.agent == given_.agent[one]))
    again = PRESETS[name].of(at(given_, np.concatenate([np.arange(len(given_)), same, same])))
    assert again.values[: len(given_)] == pytest.approx(PRESETS[name].of(given_).values, abs=1e-9)


@named(lambda preset: True)
def test_nothing_gives_nothing(name):
    found = PRESETS[name].of(rows([]))
    assert found.values.shape == (0,)
    assert found.degenerate == 0


def test_every_method_that_compares_rows_is_tested_here():
    """By its source: a public function that takes rows and returns advantages."""
    elsewhere = {"magrpo_cross", "spiral", "m_grpo"}
    files = ("outcome", "agents", "roles", "orchestrators")
    public = {
        node.name
        for file in files
        for node in ast.parse((Path(methods.__file__).parent / f"{file}.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if node.returns and "Advantages" in ast.unparse(node.returns)
    }
    assert public - elsewhere == {name for name in PRESETS if "," not in name}
    assert {method.of for method in ADVANTAGE_METHODS.values()} <= {preset.of for preset in PRESETS.values()}
