"""What a browser would see in a page."""

from html.parser import HTMLParser

LOADING_TAGS = {
    "script",
    "img",
    "link",
    "iframe",
    "object",
    "embed",
    "video",
    "audio",
    "source",
    "base",
    "form",
    "image",
}
LOADING_ATTRIBUTES = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"}


class _Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.loading = []
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in LOADING_TAGS:
            self.loading.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (name in LOADING_ATTRIBUTES and not (value or "").startswith("#")):
                self.loading.append(f"{tag} {name}={value}")
            if name == "style" and "url(" in (value or ""):
                self.loading.append(f"{tag} {name}={value}")


def loads(page):
    """Everything in a page that a browser would run or fetch."""
    seen = _Seen()
    seen.feed(page)
    assert {"html", "body", "svg"} <= seen.tags
    style = page.partition("<style>")[2].partition("</style>")[0]
    return [*seen.loading, *(["style"] if "@import" in style or "url(" in style else [])]
