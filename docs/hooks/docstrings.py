"""How docstrings of this project become Markdown: examples are code, and sections end where prose begins.

Our docstrings have the sections of NumPy's, followed by prose and examples without headings of their own. The
reader of docstrings would take these for further parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from griffe import Extension, Function, Object

UNDERLINE = re.compile(r"-{3,}$")
ITEM = re.compile(r"(?P<names>\*{0,2}\w+(, \*{0,2}\w+)*)(?P<type> : .+)?$")
PROMPT = ">>>"
# Defaults that are named in the code, and where.
NAMED = re.compile(r"defaults\.(\w+)$")
DEFAULTS = "multiutility.vision.defaults"


class Docstrings(Extension):
    """Rewrites each docstring before it is read, and puts values in the place of names of defaults."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(markdown(obj.docstring.value.splitlines()))

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Look defaults up."""
        for parameter in func.parameters:
            named = NAMED.match(str(parameter.default))
            if named:
                parameter.default = repr(getattr(import_module(DEFAULTS), named[1]))


def markdown(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with a heading above what follows a section, and fences around examples.

    >>> lines = ["Add.", "", "Parameters", "---", "a : int", "    Number.", "", "Words.", "", ">>> 1", "1"]
    >>> print(*list(markdown(lines))[6:], sep="|")
    |Notes|-----|Words.||```pycon|>>> 1|1|```
    """
    within, fenced = False, False
    lines = list(split_items(lines))
    for n, line in enumerate(lines):
        within |= n > 0 and bool(UNDERLINE.match(line))
        heading = n + 1 < len(lines) and bool(UNDERLINE.match(lines[n + 1]))
        begins = bool(line) and not heading and (n == 0 or not lines[n - 1])
        if within and begins and not line.startswith(" ") and not item(lines, n):
            within = False
            yield from ("Notes", "-----")
        if begins and line.startswith(PROMPT):
            fenced = True
            yield "```pycon"
        elif fenced and not line:
            fenced = False
            yield "```"
        yield line
    if fenced:
        yield "```"


def split_items(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with an item for each of several names, which would share the default of the first.

    >>> print(*split_items(["a, b : int", "    Numbers.", "c : str", "    Text."]), sep="|")
    a : int|    Numbers.|b : int|    Numbers.|c : str|    Text.
    """
    for n, line in enumerate(lines):
        found = item(lines, n)
        if found is None or "," not in found["names"]:
            yield line
            continue
        *others, last = found["names"].split(", ")
        for name in others:
            yield f"{name}{found['type'] or ''}"
            yield from described(lines[n + 1 :])
        yield f"{last}{found['type'] or ''}"


def described(lines: Sequence[str]) -> Iterator[str]:
    """Yield what is indented at the beginning."""
    for line in lines:
        if not line.startswith(" "):
            return
        yield line


def item(lines: Sequence[str], n: int) -> re.Match[str] | None:
    """Return the names and the type of a parameter, if a line has them and an indented line follows."""
    follows = n + 1 < len(lines) and lines[n + 1].startswith(" ")
    return ITEM.match(lines[n]) if follows else None
