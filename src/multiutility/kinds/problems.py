"""What can be wrong with an annotation, and how to mend it."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from numpy.typing import NDArray

# What is wrong, and how to mend it.
Problem: TypeAlias = tuple[str, str]
# Characters of a value in a message.
SHOWN = 60


def shown(value: object) -> str:
    """Return a value as messages have it, shortened if it is long.

    >>> shown("grass"), shown("x" * 1000)[-5:]
    ("'grass'", 'xx...')
    """
    text = repr(value if not isinstance(value, str) else value[:SHOWN])
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def number(text: str, column: str, wrong: list[Problem]) -> float:
    """Finite number of a field; 0 and a problem if it is none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and "_" not in text:
        return value
    fix = "write digits, and a point before decimals"
    wrong.append((f"{column} is {shown(text)}: not a number", fix))
    return 0.0


def extent(height: int, width: int) -> str:
    """Return the size of an image as text."""
    return f"the image has width {width} and height {height}"


def size_problem(indices: NDArray[Any], height: int, width: int) -> Problem | None:
    """Return how the size of a mask differs from that of the image."""
    if indices.shape != (height, width):
        what = f"has width {indices.shape[1]} and height {indices.shape[0]}: {extent(height, width)}"
        return what, "make them the same size, pixel by pixel"
    return None


def raise_problem(what: str, problem: Problem | None) -> None:
    """Raise if there is a problem."""
    if problem:
        raise ValueError(f"{what}: {problem[0]}; {problem[1]}")
