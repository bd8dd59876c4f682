"""Reads HTML back: every element is closed where it should be, and what text there is."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"img", "br", "input", "meta", "link", "hr"}


class Reader(HTMLParser):
    """Collects texts, and keeps count of what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        del attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Pass an element that closes itself."""

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if data.strip():
            self.texts.append(data.strip())


def texts(html: str) -> list[str]:
    """Return the texts between elements; fails if these are not nested."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader.texts
