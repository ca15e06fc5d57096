"""Environments by name: strict about keys and values."""

import math

import pytest

from orchestrace.envs import ENVIRONMENTS, NAMES, by_name
from orchestrace.errors import RecipeError


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_in_range_and_complete(name):
    entry = ENVIRONMENTS[name]
    env = by_name(name)
    assert env.name == name
    assert env.settings == {key: parameter.default for key, parameter in entry.parameters.items()}
    assert entry.about.startswith(("E", "Ours"))
    assert all(parameter.about for parameter in entry.parameters.values())


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("batch-votin", {}, "did you mean 'batch-voting'?"),
        ("xyz", {}, f"there are: {', '.join(NAMES)}"),
        ("batch-voting", {"max_bacth": 3}, "max_bacth: there is no such setting; did you mean 'max_batch'?"),
        ("sequential-voting", {"zzz": 3}, "there are: p, c"),
        ("sequential-voting", {"p": 0.5}, "p: 0.5 is not a number from 0.51 to 0.99"),
        ("sequential-voting", {"c": 0}, "c: 0 is not a number"),
        ("sequential-voting", {"c": math.nan}, "c: nan is not a number"),
        ("sequential-voting", {"c": math.inf}, "c: inf is not a number"),
        ("sequential-voting", {"c": "0.1"}, "c: '0.1' is not a number"),
        ("sequential-voting", {"c": True}, "c: True is not a number"),
        ("batch-voting", {"max_batch": 2.5}, "max_batch: 2.5 is not a whole number from 1 to 64"),
        ("batch-voting", {"cr": 0, "ct": 0}, "asking must cost at least"),
        ("unknown-voters", {"max_votes": 10**400}, "max_votes: "),
    ],
)
def test_what_cannot_be_is_named(name, settings, message):
    with pytest.raises(RecipeError) as caught:
        by_name(name, settings)
    assert message in str(caught.value)


def test_an_unknown_grade_is_named():
    with pytest.raises(RecipeError, match="neither 'outcome' nor 'posterior'"):
        by_name("batch-voting", grade="judge")


def test_whole_settings_may_be_written_as_floats():
    assert by_name("batch-voting", {"max_batch": 9.0}).settings["max_batch"] == 9


def test_states_have_names_for_people():
    batch, unknown = by_name("batch-voting"), by_name("unknown-voters")
    assert [batch.state_name(int(batch.starts.argmax()) + d) for d in (-2, 0, 3)] == ["lead -2", "lead 0", "lead 3"]
    assert [unknown.state_name(s) for s in (0, 1, 2, 4)] == [
        "0 for A, 0 for B",
        "0 for A, 1 for B",
        "1 for A, 0 for B",
        "1 for A, 1 for B",
    ]
