"""Votes: each weighting gives equal votes to what it counts, and the votes of a policy sum to 1."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.rows.weights import Voter, token_weights

VOTERS = st.lists(st.builds(Voter, st.sampled_from("pq"), st.sampled_from("abc"), st.integers(1, 5)), max_size=8)
COUNTED = {
    "per_rollout": lambda voter, _: voter.rollout,
    "per_row": lambda _, place: place,
}


def votes(voters, weights, of):
    """The sum of token weights by what is counted, for each policy."""
    found = {}
    for place, (voter, weight) in enumerate(zip(voters, weights, strict=True)):
        key = (voter.policy, of(voter, place))
        found[key] = found.get(key, 0.0) + weight * voter.trained
    return found


@pytest.mark.parametrize("weighting", ["per_rollout", "per_row", "per_token"])
@given(VOTERS)
def test_the_votes_of_a_policy_sum_to_one(weighting, voters):
    sums = votes(voters, token_weights(voters, weighting), lambda *_: None)
    assert all(isclose(total, 1.0) for total in sums.values())


@pytest.mark.parametrize("weighting", list(COUNTED))
@given(VOTERS)
def test_what_is_counted_has_equal_votes(weighting, voters):
    found = votes(voters, token_weights(voters, weighting), COUNTED[weighting])
    for policy in "pq":
        own = [vote for (name, _), vote in found.items() if name == policy]
        assert all(isclose(vote, 1 / len(own)) for vote in own)


@given(VOTERS)
def test_every_token_has_the_same_vote(voters):
    for policy in "pq":
        own = [voter for voter in voters if voter.policy == policy]
        tokens = sum(voter.trained for voter in own)
        assert token_weights(own, "per_token") == [1 / tokens for _ in own]


@given(VOTERS, st.integers(0, 7))
def test_a_rollout_that_is_cut_in_more_rows_has_the_same_weights(voters, place):
    if place < len(voters) and voters[place].trained > 1:
        whole = voters[place]
        cut = [*voters[:place], whole._replace(trained=1), whole._replace(trained=whole.trained - 1)]
        weights = token_weights(voters, "per_rollout")
        again = token_weights([*cut, *voters[place + 1 :]], "per_rollout")
        assert again == [*weights[: place + 1], *weights[place:]]


def test_a_worked_example():
    """Two rollouts with 1 and 3 rows (the case of Agent Lightning): by rows the second has three quarters."""
    voters = [Voter("p", "a", 4), Voter("p", "b", 2), Voter("p", "b", 1), Voter("p", "b", 3)]
    assert token_weights(voters, "per_rollout") == [1 / 8, 1 / 12, 1 / 12, 1 / 12]
    assert token_weights(voters, "per_row") == [1 / 16, 1 / 8, 1 / 4, 1 / 12]
    assert token_weights(voters, "per_token") == [1 / 10] * 4


def test_odd_input():
    assert token_weights([], "per_rollout") == []
    with pytest.raises(ValueError, match="no such weighting 'per_agent'; there are per_rollout, per_row, per_token"):
        token_weights([], "per_agent")
    with pytest.raises(ValueError, match="a row of rollout 'a' trains 0 tokens"):
        token_weights([Voter("p", "a", 0)], "per_row")
