"""Pages of the documentation, and the code blocks in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block: its language, as written behind the fence, and its text."""

    language: str
    text: str


def pages() -> list[str]:
    """Paths of all pages, as seen from the folder."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def blocks(page: str) -> Iterator[Block]:
    """Code blocks of a page, in order."""
    for match in FENCE.finditer((DOCS / page).read_text("utf-8")):
        yield Block(match["language"], match["text"])


def commands(page: str) -> list[str]:
    """Commands of a page, without comments: all of shell blocks, those with a prompt of console blocks."""
    lines = [line for block in blocks(page) for line in command_lines(block)]
    return [words for line in lines if (words := line.split(" #")[0].strip())]


def command_lines(block: Block) -> list[str]:
    """Lines of a block that are typed into a terminal."""
    lines = block.text.splitlines()
    if block.language == "console":
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return lines if block.language == "sh" else []
