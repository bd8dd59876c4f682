"""Boxes: rectangles around objects, which touch all four sides, or are just inside if a box is loose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from multiutility.annotations import UNIFORM, Box, Profile
from multiutility.annotations.boxed import Boxed
from multiutility.annotations.lines import MARGIN, loosened
from multiutility.arrays import MAX_INDEX, IndexArray
from multiutility.kinds.drawing import Sketch, contrast, draw_dashes, text_height
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import FromMask, Inaccuracy, Kind, Page, Seconds, Table, Words
from multiutility.kinds.objects import Content, Object
from multiutility.kinds.problems import Problem, extent, raise_problem

# Pixel centers that lie on the border of a shrunk box are in it, whatever the rounding of the margins.
ROUNDING = 1e-9
# Boxes that are larger than twice their objects say next to nothing.
MAX_LOOSENED = 1.0


@dataclass(frozen=True, slots=True)
class PixelBox:
    """A box around an object; ``right`` and ``bottom`` are exclusive, so that the width is right - left.

    A pixel is in the box if its center is: that of column x is x + 0.5. If the box is not ``tight``, the
    object is inside, and need not touch the sides.

    >>> PixelBox(0, 1, 2, 3, 4), PixelBox(0, 1, 2, 3, 4, tight=False).tight
    (PixelBox(label=0, left=1, top=2, right=3, bottom=4), False)
    """

    label: int
    left: float
    top: float
    right: float
    bottom: float
    tight: bool = True

    def __repr__(self) -> str:
        loose = "" if self.tight else ", tight=False"
        places = f"left={self.left}, top={self.top}, right={self.right}, bottom={self.bottom}"
        return f"PixelBox(label={self.label}, {places}{loose})"

    def n_pixels(self, height: int, width: int) -> int:
        """Return the number of pixels of an image that are in the box.

        >>> PixelBox(0, left=-5, top=1, right=2, bottom=2.4).n_pixels(height=4, width=6)
        2
        """
        columns = centers(self.left, self.right, width)
        return len(columns) * len(centers(self.top, self.bottom, height))


def centers(first: float, last: float, n: int) -> range:
    """Pixels of a line of n whose centers lie between two places, the last of them exclusive.

    >>> centers(0.5, 2.5, 10), centers(-3, 99, 10)
    (range(0, 2), range(0, 10))
    """
    begin, end = np.clip(np.ceil([first - 0.5, last - 0.5]), 0, n)
    return range(int(begin), int(end))


def make_box(label: int, numbers: Sequence[float], wrong: list[Problem]) -> PixelBox:
    """Box with these sides, and 1 or 0 for whether it is tight."""
    left, top, right, bottom, tight = numbers
    if tight not in (0, 1):
        fix = "write 1 if the object touches all sides of the box, 0 if it is just inside, or leave it blank"
        wrong.append((f"tight is {tight:g}: neither 1 nor 0", fix))
    return PixelBox(label, left, top, right, bottom, tight=bool(tight))


def sides(box: PixelBox) -> tuple[float, ...]:
    """Left, top, right and bottom of a box, and 1 or 0 for whether it is tight."""
    return box.left, box.top, box.right, box.bottom, float(box.tight)


def shape_problem(box: PixelBox) -> Problem | None:
    """Return what is wrong with a box in any image."""
    if box.right <= box.left or box.bottom <= box.top:
        what = f"inverted or empty box: left {box.left:g}, right {box.right:g}, top {box.top:g}, bottom"
        return f"{what} {box.bottom:g}", "left must be less than right, and top less than bottom"
    return None


def box_problem(box: PixelBox, height: int, width: int) -> Problem | None:
    """Return why a box cannot be used in an image: it has none of the pixels.

    >>> box_problem(PixelBox(0, left=7, top=0, right=9, bottom=3), height=4, width=6)[0]
    'no pixel is in the box (left 7, top 0, right 9, bottom 3): the image has width 6 and height 4'
    """
    if shape_problem(box) is None and not box.n_pixels(height, width):
        return f"no pixel is in the box ({corners(box)}): {extent(height, width)}", "correct or remove it"
    return shape_problem(box)


def overhang_problem(box: PixelBox, height: int, width: int, tolerance: float = 1.0) -> Problem | None:
    """Return how far a box reaches beyond the image, if that is more than rounding makes."""
    beyond = max(-box.left, -box.top, box.right - width, box.bottom - height)
    if beyond > tolerance:
        what = f"the box ({corners(box)}) reaches {beyond:g} pixels beyond the image: {extent(height, width)}"
        return what, "cut it at the border, or check that it was drawn in this image, at this size"
    return None


def corners(box: PixelBox) -> str:
    """Return a box as text."""
    return f"left {box.left:g}, top {box.top:g}, right {box.right:g}, bottom {box.bottom:g}"


def resize_box(box: PixelBox, down: float, across: float) -> PixelBox:
    """The box in an image that is scaled by these factors."""
    left, top, right, bottom = box.left * across, box.top * down, box.right * across, box.bottom * down
    return PixelBox(box.label, left, top, right, bottom, box.tight)


def clip(box: PixelBox, shape: Sequence[int], what: str = "box") -> PixelBox:
    """The part of the box that is in an image of the shape (H, W).

    >>> clip(PixelBox(0, left=-3, top=1, right=5, bottom=9), shape=(4, 6))
    PixelBox(label=0, left=0, top=1, right=5, bottom=4)
    """
    height, width = shape
    raise_problem(what, box_problem(box, height, width))
    left, top = max(box.left, 0), max(box.top, 0)
    return PixelBox(box.label, left, top, min(box.right, width), min(box.bottom, height), box.tight)


def loosen(box: PixelBox, share: float, shape: Sequence[int]) -> PixelBox:
    """A loose box that is larger by a share of its width and height, half on each side, cut at the border.

    >>> loosen(PixelBox(0, left=10, top=0, right=30, bottom=10), share=0.2, shape=(50, 31))
    PixelBox(label=0, left=8.0, top=0, right=31, bottom=11.0, tight=False)
    """
    check_share(share)
    across, down = share * (box.right - box.left) / 2, share * (box.bottom - box.top) / 2
    large = PixelBox(box.label, box.left - across, box.top - down, box.right + across, box.bottom + down)
    return loose(clip(large, shape))


def loosen_all(
    boxes: Sequence[PixelBox], share: float, shape: Sequence[int], _name: str, _random_state: int
) -> tuple[PixelBox, ...]:
    """The boxes of an image, all of them larger."""
    return tuple(loosen(box, share, shape) for box in boxes)


def loose(box: PixelBox) -> PixelBox:
    """The same box, but not tight.

    >>> loose(PixelBox(0, left=1, top=2, right=3, bottom=4))
    PixelBox(label=0, left=1, top=2, right=3, bottom=4, tight=False)
    """
    return replace(box, tight=False)


def check_share(share: float) -> None:
    """Raise unless boxes can be made larger by this share."""
    if not 0 <= share <= MAX_LOOSENED:
        raise ValueError(f"boxes larger by {share:g} of their size: expected 0 to {MAX_LOOSENED:g}")


def inner_lines(start: float, stop: float, margin: float) -> range:
    """Pixels of one axis whose centers are in start + margin .. stop - margin."""
    first = np.ceil(start + margin - 0.5 - ROUNDING)
    last = np.floor(stop - margin - 0.5 + ROUNDING)
    return range(int(first), int(last) + 1)


def shrunk(box: PixelBox, shrink: float) -> tuple[range, range]:
    """Rows and columns of the pixels whose centers are in the shrunk box, or in the box if there are none.

    >>> shrunk(PixelBox(0, left=10, top=0, right=30, bottom=3), shrink=0.06)
    (range(0, 3), range(11, 29))
    """
    if not 0 <= shrink < 0.5:
        raise ValueError(
            f"shrink is {shrink}: expected a share of the box for each side, at least 0, below 0.5"
        )
    rows = inner_lines(box.top, box.bottom, shrink * (box.bottom - box.top))
    columns = inner_lines(box.left, box.right, shrink * (box.right - box.left))
    if rows and columns:
        return rows, columns
    return centers(box.top, box.bottom, MAX_INDEX), centers(box.left, box.right, MAX_INDEX)


def box_nodes(
    box: PixelBox,
    regions: IndexArray,
    shrink: float = 0.06,
    profile: Profile | None = None,
    cell: float = 1.0,
    margin: float = MARGIN,
) -> Box:
    """The box, which is in the image, in superpixels: its shrunk part, with the area of all of it.

    >>> regions = np.array([[0, 0, 1], [2, 2, 2]], dtype=np.int32)
    >>> box_nodes(PixelBox(7, left=1, top=0, right=3, bottom=2), regions)
    Box(label=7, nodes=[0, 1, 2], area=4)
    """
    rows, columns = shrunk(box, shrink)
    height, width = box.bottom - box.top, box.right - box.left
    part = regions[rows.start : rows.stop, columns.start : columns.stop]
    above, beside = shrunk(box, 0.0)
    inside = regions[above.start : above.stop, beside.start : beside.stop]
    return Box(
        box.label,
        part,
        part.T,
        area=cell * height * width,
        profile=profile,
        row_positions=np.clip((np.array(rows) + 0.5 - box.top) / height, 0, 1),
        column_positions=np.clip((np.array(columns) + 0.5 - box.left) / width, 0, 1),
        tight=box.tight,
        margin=margin,
        shrink=shrink,
        contents=cell * np.bincount(inside.ravel())[np.unique(part)],
    )


def boxes_term(boxes: Sequence[PixelBox], grid: Grid) -> Boxed:
    """The boxes in superpixels; those with a pixel center in a shrunk box are its nodes."""
    clipped = [clip(box, grid.regions.shape, f"boxes[{b}]") for b, box in enumerate(boxes)]
    profiles = [profile_of(box, grid) for box in clipped]
    pairs = zip(clipped, profiles, strict=True)
    nodes = [
        box_nodes(box, grid.regions, grid.shrink, profile, grid.cell, grid.margin) for box, profile in pairs
    ]
    return Boxed(nodes, union_areas(clipped, grid.cell), grid.tight)


def profile_of(box: PixelBox, grid: Grid) -> Profile:
    """What is expected of the lines of a box: profiles of labels are those of their tight boxes."""
    profile = grid.profiles.get(box.label)
    if box.tight:
        return profile or UNIFORM
    return loosened(profile or UNIFORM, grid.margin)


def union_areas(boxes: Sequence[PixelBox], cell: float = 1.0) -> dict[int, float]:
    """Area of the union of the boxes of each label.

    >>> union_areas([PixelBox(3, 0, 0, 2, 2), PixelBox(3, 1, 1, 3, 3), PixelBox(5, 0, 0, 1, 1)])
    {3: 7.0, 5: 1.0}
    """
    labels = sorted({box.label for box in boxes})
    return {label: cell * union_area([box for box in boxes if box.label == label]) for label in labels}


def union_area(boxes: Sequence[PixelBox]) -> float:
    """Area of the union of boxes, which may lie between pixels: cut by all their sides into a small grid."""
    sides = np.array([(box.left, box.right, box.top, box.bottom) for box in boxes], dtype=np.float64)
    x, y = np.unique(sides[:, :2]), np.unique(sides[:, 2:])
    inside = np.zeros((len(y) - 1, len(x) - 1), dtype=np.bool_)
    for left, right, top, bottom in sides:
        rows, columns = np.searchsorted(y, (top, bottom)), np.searchsorted(x, (left, right))
        inside[rows[0] : rows[1], columns[0] : columns[1]] = True
    return float(np.diff(y) @ inside @ np.diff(x))


def box_of(thing: Object) -> PixelBox:
    """The tight box of an object."""
    return PixelBox(thing.label, thing.columns.start, thing.rows.start, thing.columns.stop, thing.rows.stop)


def outline(content: Content) -> tuple[PixelBox, ...]:
    """A tight box for each object."""
    return tuple(map(box_of, content.objects))


def fill_boxes(boxes: Sequence[PixelBox], regions: IndexArray) -> Iterator[tuple[tuple[slice, slice], int]]:
    """All of the boxes, the smaller over the larger."""
    height, width = regions.shape
    for box in sorted(boxes, key=lambda box: -box.n_pixels(height, width)):
        rows, columns = centers(box.top, box.bottom, height), centers(box.left, box.right, width)
        yield (slice(rows.start, rows.stop), slice(columns.start, columns.stop)), box.label


def draw_boxes(sketch: Sketch, boxes: Sequence[PixelBox]) -> None:
    """Frames in two colors, so that they are seen on any ground; the largest box of a label has its name.

    Those of loose boxes have gaps.
    """
    for box in sorted(boxes, key=lambda box: (box.left - box.right) * (box.bottom - box.top)):
        color = sketch.color(box.label)
        # Pillow draws on pixels, both ends included.
        frame = (box.left, box.top, max(box.right - 1, box.left), max(box.bottom - 1, box.top))
        for outline_color, width in ((contrast(color), sketch.unit + 2), (color, sketch.unit + 1)):
            if box.tight:
                sketch.draw.rectangle(frame, outline=outline_color, width=width)
            else:
                draw_dashes(sketch, frame, outline_color, width)
        sketch.write_name(box.label, box.left, box.top - text_height(sketch.font) - 2)


BOXES = Kind(
    "boxes",
    Words("box", "boxes", "Boxes", "A box around each thing; the rest is named.", "boxed"),
    Page("boxes", "With boxes", "with boxes", "with boxes"),
    Seconds(each=10.0, image=20.0, mark=7.0),  # Papadopoulos, Uijlings, Keller and Ferrari (2017)
    level=1,
    mended=0.8,  # it leaves open which of its pixels are the object
    draw=draw_boxes,
    fill=fill_boxes,
    weaken=(FromMask("boxes", outline, "Make boxes of things."),),
    inaccuracy=Inaccuracy(
        "loosen_boxes",
        "SHARE",
        MAX_LOOSENED,
        "Make boxes that are larger than things by this share, such as 0.2, and loose (tight = 0).",
        check_share,
        loosen_all,
    ),
    says=Boxed.says,
    term=boxes_term,
    table=Table(
        "boxes.csv",
        ("left", "top", "right", "bottom"),
        make_box,
        sides,
        attrgetter("label"),
        resize_box,
        flaw=shape_problem,
        problem=box_problem,
        doubt=overhang_problem,
        optional={"tight": 1.0},
    ),
)
