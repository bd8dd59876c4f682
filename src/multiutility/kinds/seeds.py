"""Seeds: points that a person has clicked on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from multiutility.kinds.kind import Kind, Table
from multiutility.kinds.problems import Problem, extent


@dataclass(frozen=True, slots=True)
class PixelSeed:
    """A pixel of an object: column and row, from 0."""

    label: int
    x: int
    y: int


def make_seed(label: int, numbers: Sequence[float], wrong: list[Problem]) -> PixelSeed:
    """Seed at this place."""
    x, y = numbers
    if not (x.is_integer() and y.is_integer()):
        wrong.append((f"x {x:g}, y {y:g} is not a pixel", "write whole numbers, counted from 0"))
    return PixelSeed(label, int(x), int(y))


def seed_values(seed: PixelSeed) -> tuple[float, ...]:
    """Place of a seed."""
    return seed.x, seed.y


def seed_problem(seed: PixelSeed, height: int, width: int) -> Problem | None:
    """Return why a seed cannot be used in an image: it is outside.

    >>> seed_problem(PixelSeed(0, x=6, y=0), height=4, width=6)
    ('the seed (x 6, y 0) is outside: the image has width 6 and height 4', 'pixels are counted from 0')
    """
    if not (0 <= seed.x < width and 0 <= seed.y < height):
        what = f"the seed (x {seed.x}, y {seed.y}) is outside: {extent(height, width)}"
        return what, "pixels are counted from 0"
    return None


SEEDS = Kind(
    "seeds",
    "seeds",
    mended=0.5,  # it leaves open how far the object reaches
    table=Table(
        "seeds.csv",
        ("x", "y"),
        make_seed,
        seed_values,
        attrgetter("label"),
        placed=True,
        problem=seed_problem,
    ),
)
