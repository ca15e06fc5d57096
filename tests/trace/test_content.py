"""Texts by hash; previews that a terminal can be given."""

import hashlib
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from orchestrace.trace import described, escaped

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=[]), max_size=400)
JOINERS = "\u200c\u200d"


@given(ANY_TEXT)
def test_nothing_that_a_terminal_acts_upon_comes_through(text):
    for character in escaped(text):
        assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert unicodedata.bidirectional(character) not in {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }
    assert "\n" not in escaped(text)


def test_hidden_and_turning_characters_are_shown():
    for character in "\u200b\u200e\u200f\u2028\u202e\u2066\ufeff\xad\u061c\x1b\x9b\U000e0041":
        assert character not in escaped(f"a{character}b")
    assert escaped("\x1b[31m\n\u202e") == "\\x1b[31m\\n\\u202e"
    assert escaped("👩‍💻 naïve") == "👩‍💻 naïve"


@given(ANY_TEXT)
def test_a_description_names_the_bytes(text):
    content, data = described(text)
    assert content.hash == hashlib.sha256(data).hexdigest()
    assert content.bytes == len(data)
    assert len(content.preview) <= 200
    assert content.preview == escaped(content.preview)
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert data.decode() == text


@given(st.binary(max_size=300))
def test_bytes_are_taken_as_they_are(data):
    assert described(data).data == data
    assert described(data, media="image/png").content.preview == ""
    assert len(described(data).content.preview) <= 200
