"""Areas: the share of an image that a label covers, as estimated by eye ("percent cover")."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from multiutility.annotations.sized import TOLERANCE, Area, Sized
from multiutility.kinds.drawing import Sketch
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import FromMask, Inaccuracy, Kind, Page, Seconds, Table, Words
from multiutility.kinds.objects import Content
from multiutility.kinds.problems import Problem, number, raise_problem

# Ranges reach so many standard deviations to each side: with noise of 20 %, that is the usual tolerance.
REACH = TOLERANCE / 0.2
# Estimates that are off by more than their own size say nothing.
MAX_NOISE = 1.0
# What shares that are rounded, as people write them, may add up to beyond 1.
ROUNDED = 0.01


@dataclass(frozen=True, slots=True)
class PixelArea:
    """A label, the share of the image's pixels that it covers, and how far that may be off.

    The tolerance is in relation to the share. A share of 0 says that the label is absent.

    >>> PixelArea(2, 0.125), PixelArea(2, 0.125, tolerance=0.5).tolerance
    (PixelArea(label=2, share=0.125, tolerance=0.25), 0.5)
    """

    label: int
    share: float
    tolerance: float = TOLERANCE


def fraction(text: str, column: str, wrong: list[Problem]) -> float:
    """Number of a field; with a percent sign, a hundredth of it.

    >>> wrong = []
    >>> fraction("12.5%", "share", wrong), fraction("0.125", "share", wrong), wrong
    (0.125, 0.125, [])
    """
    stripped = text.strip()
    if stripped.endswith("%"):
        return number(stripped[:-1].strip(), column, wrong) / 100
    return number(text, column, wrong)


def make_area(label: int, numbers: Sequence[float], _wrong: list[Problem]) -> PixelArea:
    """Area of a share and a tolerance."""
    share, tolerance = numbers
    return PixelArea(label, share, tolerance)


def area_values(area: PixelArea) -> tuple[float, ...]:
    """Share and tolerance."""
    return area.share, area.tolerance


def resize_area(area: PixelArea, _down: float, _across: float) -> PixelArea:
    """A share is the same at any size."""
    return area


def area_flaw(area: PixelArea) -> Problem | None:
    """Return what is wrong with an area in any image.

    Numbers above 1 are not taken for percents: 1 itself could be either.

    >>> area_flaw(PixelArea(0, 12.5))
    ('share is 12.5: more than the whole image', 'write 12.5% or 0.125')
    """
    share, tolerance = area.share, area.tolerance
    if 1 < share <= 100:
        return f"share is {share:g}: more than the whole image", f"write {share:g}% or {share / 100:g}"
    if not 0 <= share <= 1:
        return f"share is {share:g}: not a part of the image", "write 0 to 1, or 0% to 100%"
    if not 0 <= tolerance <= 1:
        fix = "write how far the share may be off, as a part of it, from 0 to 1, or leave it blank"
        return f"tolerance is {tolerance:g}: not a part of the share", fix
    return None


def area_problem(area: PixelArea, _height: int, _width: int) -> Problem | None:
    """The same in all images."""
    return area_flaw(area)


def is_there(area: PixelArea) -> bool:
    """Whether there is any of the label."""
    return area.share > 0


def clash(areas: Sequence[PixelArea]) -> tuple[int, Problem] | None:
    """Return which area does not go with the others of its image: by its place, and why.

    >>> clash([PixelArea(0, 0.5), PixelArea(1, 0.2), PixelArea(0, 0.3)])[1][0]
    'the label has a share already: 0.5'
    >>> clash([PixelArea(0, 0.9), PixelArea(1, 0.9)])[1][0]
    'the shares of the image add up to 1.8, and to 1.35 at least'
    """
    seen: dict[int, float] = {}
    for place, area in enumerate(areas):
        if area.label in seen:
            return place, (f"the label has a share already: {seen[area.label]:g}", "remove one of both")
        seen[area.label] = area.share
    least = math.fsum(area.share * (1 - area.tolerance) for area in areas)
    if least > 1 + ROUNDED:
        what = f"the shares of the image add up to {math.fsum(seen.values()):g}, and to {least:g} at least"
        return len(areas) - 1, (what, "correct them: together they are 1 (100%) at most")
    return None


def add_up(areas: Sequence[PixelArea]) -> Sequence[PixelArea]:
    """Return the area of a label that had several, under other names: their sum, as sure as its parts.

    >>> add_up([PixelArea(0, 0.25, tolerance=0.5), PixelArea(0, 0.75, tolerance=0.1)])
    [PixelArea(label=0, share=1.0, tolerance=0.2)]
    """
    share = min(1.0, math.fsum(area.share for area in areas))
    slack = math.fsum(area.share * area.tolerance for area in areas)
    tolerance = slack / share if share else max(area.tolerance for area in areas)
    return [PixelArea(areas[0].label, share, min(1.0, tolerance))]


def areas_term(areas: Sequence[PixelArea], _grid: Grid) -> Sized:
    """Shares are the same of superpixels; those that are rounded up are taken back to the whole."""
    for a, area in enumerate(areas):
        raise_problem(f"areas[{a}]", area_flaw(area))
    if found := clash(areas):
        raise_problem(f"areas[{found[0]}]", found[1])
    least = max(1.0, math.fsum(area.share * (1 - area.tolerance) for area in areas))
    return Sized([Area(area.label, area.share / least, area.tolerance) for area in areas])


def absent_labels(areas: Sequence[PixelArea]) -> list[int]:
    """Labels whose share is 0."""
    return [area.label for area in areas if area.share == 0]


def names_all(areas: Sequence[PixelArea]) -> bool:
    """Whether the shares add up to 1."""
    return Sized([Area(area.label, area.share, area.tolerance) for area in areas]).complete


def told_by_share(areas: Sequence[PixelArea]) -> frozenset[int]:
    """Labels whose shares are apart from those of all others, tolerances and all.

    >>> sorted(told_by_share([PixelArea(0, 0.7), PixelArea(1, 0.16), PixelArea(2, 0.14)]))
    [0]
    """
    limits = {
        area.label: Area(area.label, area.share, area.tolerance).limits for area in areas if area.share > 0
    }
    return frozenset(
        label
        for label, (low, high) in limits.items()
        if all(other == label or high < least or most < low for other, (least, most) in limits.items())
    )


def measure(content: Content) -> tuple[PixelArea, ...]:
    """The area of each label."""
    return tuple(PixelArea(label, share) for label, share in sorted(content.shares.items()))


def noisy(
    areas: Sequence[PixelArea], noise: float, name: str, random_state: int = 0
) -> tuple[PixelArea, ...]:
    """The areas of the image of this name as somebody might estimate them.

    Shares are multiplied by log-normal factors whose logarithms have the standard deviation ``noise``, and
    divided by their sum if that is above 1. Tolerances grow with the noise.

    >>> areas = PixelArea(0, 0.9), PixelArea(1, 0.1)
    >>> [round(area.share, 3) for area in noisy(areas, 0.2, "meadow")]
    [0.908, 0.092]
    """
    check_noise(noise)
    rng = np.random.default_rng([random_state, zlib.crc32(name.encode())])
    factors = np.exp(noise * rng.standard_normal(len(areas)))
    shares = np.array([area.share for area in areas]) * factors
    shares /= max(1.0, float(shares.sum()))
    tolerance = min(1.0, max(TOLERANCE, REACH * noise))
    pairs = zip(areas, shares.tolist(), strict=True)
    return tuple(PixelArea(area.label, share, tolerance) for area, share in pairs)


def misjudge(
    areas: Sequence[PixelArea], noise: float, _shape: Sequence[int], name: str, random_state: int
) -> tuple[PixelArea, ...]:
    """The areas of an image with noise."""
    return noisy(areas, noise, name, random_state)


def check_noise(noise: float) -> None:
    """Raise unless areas can be off by this part of themselves."""
    if not 0 <= noise <= MAX_NOISE:
        raise ValueError(f"areas that are off by {noise:g} of themselves: expected 0 to {MAX_NOISE:g}")


def draw_areas(sketch: Sketch, areas: Sequence[PixelArea]) -> None:
    """Areas have no place: they are listed with their percents."""
    for area in areas:
        sketch.list_name(area.label, f"{100 * area.share:.2g}%")


AREAS = Kind(
    "areas",
    Words("area", "areas", "Areas", "How much of the picture each name covers, by eye.", "measured"),
    Page("areas", "With areas", "with areas", "with areas"),
    Seconds(each=4.0, image=20.0, mark=4.0),  # a guess: naming a label, and one look at the whole picture
    level=0,
    mended=0.1,  # it leaves open where
    draw=draw_areas,
    weaken=(
        FromMask(
            "areas", measure, "Make the share of the image that each label covers, and tags.", tags=True
        ),
    ),
    inaccuracy=Inaccuracy(
        "area_noise",
        "SHARE",
        MAX_NOISE,
        "Make areas that are off by about this part of themselves, such as 0.2.",
        check_noise,
        misjudge,
    ),
    says=Sized.says,
    absent=absent_labels,
    complete=names_all,
    term=areas_term,
    table=Table(
        "areas.csv",
        ("share",),
        make_area,
        area_values,
        attrgetter("label"),
        resize_area,
        flaw=area_flaw,
        problem=area_problem,
        optional={"tolerance": TOLERANCE},
        there=is_there,
        read=fraction,
        clash=clash,
        single=True,
        joined=add_up,
    ),
)
