"""What a policy sees of unknown voters."""

import numpy as np
import pytest

from orchestrace.envs import by_name


def seen(most, c=0.01):
    return by_name("unknown-voters", {"max_votes": most, "c": c}).features()


@pytest.mark.parametrize("twice", [80, 120])
def test_a_horizon_is_seen_only_as_it_comes_near(twice):
    """A policy that saw N from the first vote on would know of no other N."""
    far = 21 * 22 // 2  # up to 20 votes, so that at least 20 of 40 are left
    here, there = seen(40), seen(twice)
    np.testing.assert_array_equal(here[:far], there[:far])
    near = here[:, 4] > 0
    assert not near[:far].any()
    assert near[far:].all()
    assert here[-1, 4] == 1.0


def test_mirror_images_look_alike_and_nothing_else_does():
    """(a, b) and (b, a); with the price in view every other pair of states differs."""
    features = seen(20)
    votes = np.array([(a, n - a) for n in range(21) for a in range(n + 1)])
    number = {tuple(v): i for i, v in enumerate(votes.tolist())}
    for (a, b), i in number.items():
        np.testing.assert_allclose(features[i], features[number[b, a]], atol=1e-12)
    assert len(np.unique(features.round(9), axis=0)) == sum(a >= b for a, b in number)


def test_all_columns_are_of_order_one():
    for c in (0.001, 0.05):
        assert np.abs(seen(80, c)).max() <= 2.0
