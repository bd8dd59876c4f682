"""Seeds: points that a person has clicked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from multiutility.annotations import Seed
from multiutility.annotations.seed import Gaussian
from multiutility.annotations.seeded import Seeded
from multiutility.annotations.term import Mark
from multiutility.arrays import BoolArray, FloatArray, IndexArray
from multiutility.kinds.drawing import Sketch, contrast
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import FromMask, Kind, Page, Seconds, Table, Words
from multiutility.kinds.objects import Content, Object
from multiutility.kinds.problems import Problem, extent, raise_problem


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


def resize_seed(seed: PixelSeed, down: float, across: float) -> PixelSeed:
    """The seed in an image that is scaled by these factors.

    >>> resize_seed(PixelSeed(1, x=7, y=2), down=0.5, across=0.5)
    PixelSeed(label=1, x=3, y=1)
    """
    return PixelSeed(seed.label, int((seed.x + 0.5) * across), int((seed.y + 0.5) * down))


@dataclass(frozen=True, eq=False)
class FetchedGaussian:
    """A ``Gaussian`` on regions [H, W] that are fetched each time, rather than kept for every image."""

    regions: Callable[[], IndexArray]
    position: tuple[int, int]
    cell: float

    def __call__(self, tau: float) -> FloatArray:
        """Mass of each node [V]."""
        return Gaussian(self.regions(), self.position, self.cell)(tau)


def seeds_term(seeds: Sequence[PixelSeed], grid: Grid) -> Seeded:
    """The seeds with the masses of the superpixels around them."""
    height, width = grid.regions.shape
    for s, seed in enumerate(seeds):
        raise_problem(f"seeds[{s}]", seed_problem(seed, height, width))
    places = [(seed.label, (seed.y, seed.x)) for seed in seeds]
    again, cell = grid.again, grid.cell
    if again is None:
        return Seeded([Seed.in_grid(label, place, grid.regions, cell) for label, place in places])
    return Seeded([Seed(k, int(grid.regions[p]), FetchedGaussian(again, p, cell)) for k, p in places])


def seed_strength(seeds: Sequence[PixelSeed], grid: Grid, s: int, _seed: Mark) -> tuple[float, ...]:
    """The nearer to the center of its superpixel, the surer."""
    return 0, -grid.distance_to_center(seeds[s].y, seeds[s].x)


def seed_of(segment: Object) -> PixelSeed:
    """The pole of inaccessibility of an object: the pixel that is farthest from the outside."""
    y, x = pole(segment.pixels)
    return PixelSeed(segment.label, segment.columns.start + x, segment.rows.start + y)


def pole(pixels: BoolArray) -> tuple[int, int]:
    """Row and column of the pixel that is farthest from all that is outside [H, W], its border included.

    Of several, the one nearest to their mean: the middle of a bar, not its end.

    >>> pole(np.ones((3, 9), dtype=np.bool_))
    (1, 4)
    """
    # Who only reads datasets need not wait for it.
    from scipy import ndimage  # noqa: PLC0415

    distances = ndimage.distance_transform_edt(np.pad(pixels, 1))[1:-1, 1:-1]
    places = np.argwhere(distances == distances.max())
    nearest = np.square(places - places.mean(axis=0)).sum(axis=1).argmin()
    row, column = places[nearest].tolist()
    return row, column


def click(content: Content) -> tuple[PixelSeed, ...]:
    """A point in each object."""
    return tuple(map(seed_of, content.objects))


def click_everywhere(content: Content) -> tuple[PixelSeed, ...]:
    """A point in each segment."""
    return tuple(map(seed_of, content.segments))


def fill_seeds(seeds: Sequence[PixelSeed], regions: IndexArray) -> Iterator[tuple[BoolArray, int]]:
    """The superpixels of the seeds."""
    return ((regions == regions[seed.y, seed.x], seed.label) for seed in seeds)


def draw_seeds(sketch: Sketch, seeds: Sequence[PixelSeed]) -> None:
    """Dots in two colors; the first seed of a label has its name."""
    for seed in seeds:
        sketch.write_name(seed.label, seed.x + 5 * sketch.unit, seed.y - 4 * sketch.unit)
        # Last, as names at the edge would hide them.
        sketch.above.append(partial(draw_seed, sketch, seed))


def draw_seed(sketch: Sketch, seed: PixelSeed) -> None:
    """A dot."""
    color = sketch.color(seed.label)
    sketch.draw.circle((seed.x, seed.y), 4 * sketch.unit, fill=contrast(color))
    sketch.draw.circle((seed.x, seed.y), 3 * sketch.unit, fill=color)


SEEDS = Kind(
    "seeds",
    Words("point", "seeds", "Seeds", "A click on each thing; the rest is named.", "clicked"),
    Page("points", "With points", "with points", "with points"),
    Seconds(each=3.0, image=20.0, mark=2.4),  # Bearman, Russakovsky, Ferrari and Fei-Fei (2016)
    level=1,
    mended=0.5,  # it leaves open how far the object reaches
    draw=draw_seeds,
    fill=fill_seeds,
    weaken=(
        FromMask("seeds", click, "Make seeds of things."),
        FromMask(
            "points",
            click_everywhere,
            "Make seeds of every segment, stuff too, and tags of all labels.",
            everywhere=True,
        ),
    ),
    says=Seeded.says,
    term=seeds_term,
    strength=seed_strength,
    table=Table(
        "seeds.csv",
        ("x", "y"),
        make_seed,
        seed_values,
        attrgetter("label"),
        resize_seed,
        problem=seed_problem,
    ),
)
