"""Markdown, for pages that commands write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["cell", "accuracy"], [["tags", "0.5"]]))
    | cell | accuracy |
    | --- | --- |
    | tags | 0.5 |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
