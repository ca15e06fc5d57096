"""MinHash against the Jaccard similarity it estimates."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.metrics.near import ORDERS, SHINGLE_BYTES, repeats, signature, similarity

LOREM = (
    b"the orchestrator asked three agents to read the same page and each of them wrote a summary of what it had found "
    b"there, so that in the end one long answer could be put together from the parts that agreed with one another"
)


def jaccard(a, b):
    def shingles(text):
        return {text[i : i + SHINGLE_BYTES] for i in range(max(len(text) - SHINGLE_BYTES + 1, 1))}

    return len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))


@settings(max_examples=30)
@given(st.integers(0, len(LOREM)), st.binary(min_size=0, max_size=60).map(lambda b: b.hex().encode()))
def test_the_estimate_is_near_the_similarity(place, inserted):
    changed = LOREM[:place] + inserted + LOREM[place:]
    true = jaccard(LOREM, changed)
    error = similarity(signature(LOREM), signature(changed)) - true
    assert abs(error) <= 5 * np.sqrt(0.25 / ORDERS)


def test_white_space_and_case_make_no_difference():
    assert (signature(b"Read  the\n page now") == signature(b"read the page NOW")).all()


def test_repeats_are_the_later_ones():
    texts = [LOREM, b"something else entirely, about other things", LOREM, LOREM + b"!", b"", b"", b"x", b"y"]
    assert repeats(texts) == (False, False, True, True, False, True, False, False)
    assert repeats([]) == ()


def test_a_long_text_is_no_trouble():
    long = LOREM * 500
    assert repeats([long, long + b" and so on"]) == (False, True)
