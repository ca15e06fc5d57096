"""No text, whatever it holds, breaks out of the element it is put in."""

from html.parser import HTMLParser

from hypothesis import example, given
from hypothesis import strategies as st

from orchestrace.trace import escaped
from orchestrace.viewer.markup import Markup, cut, element, joined, shown

HOSTILE = "</text><script>alert(1)</script>\"' onload=x \x1b[31m\u202e&amp;<!-- ]]> \x00\ud800"


class Page(HTMLParser):
    """Collects tags, attributes and texts, as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(st.text(max_size=60), st.text(max_size=60))
@example(HOSTILE, HOSTILE)
def test_a_text_comes_out_as_it_went_in_and_makes_no_tag(words: str, value: str) -> None:
    page = Page(element("p", words, title=value))
    assert page.tags == ["p"]
    assert "".join(page.texts) == escaped(words)
    assert page.attributes == [("title", escaped(value))]


@given(st.text(max_size=60))
def test_what_is_escaped_stays_as_it_is(words: str) -> None:
    assert shown(shown(words)) == shown(words)
    assert joined([words, Markup("<br>")]) == shown(words) + "<br>"


def test_attributes() -> None:
    assert element("rect", x=1.26, y=2.0, class_="a", stroke_width=3, rx=None) == (
        '<rect x="1.3" y="2" class="a" stroke-width="3"></rect>'
    )


@given(st.text(max_size=40), st.integers(1, 30))
def test_a_cut_text_is_no_longer_than_asked(words: str, n: int) -> None:
    assert len(cut(words, n)) <= n
    assert cut(words, 40) == words
