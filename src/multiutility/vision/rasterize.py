"""Annotations of pixels as annotations of superpixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.annotations import UNIFORM, Annotation, Box, Full, Joint, Profile, Seed
from multiutility.annotations.partition import Partition
from multiutility.annotations.seed import Gaussian
from multiutility.arrays import (
    MAX_INDEX,
    FloatArray,
    IndexArray,
    check_shape,
    check_values,
    freeze,
    numeric_array,
)
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed
from multiutility.kinds.boxes import box_problem, centers

# Pixel centers that lie on the border of a shrunk box are in it, whatever the rounding of the margins.
from multiutility.kinds.mask import mask_problem

# Pixel centers that lie on the border of a shrunk box are in it, whatever the rounding of the margins.
from multiutility.kinds.problems import Problem, size_problem

# Pixel centers that lie on the border of a shrunk box are in it, whatever the rounding of the margins.
from multiutility.kinds.seeds import seed_problem

# Pixel centers that lie on the border of a shrunk box are in it, whatever the rounding of the margins.
ROUNDING = 1e-9


def rasterize(
    annotation: PixelAnnotation,
    regions: ArrayLike,
    n_labels: int,
    *,
    beta: float = 1.0,
    other: int | None = None,
    shrink: float = 0.06,
    profiles: Mapping[int, Profile] | None = None,
    shares: Mapping[int, float] | None = None,
    strict: bool = False,
    tight: bool = True,
    sum_box_and_seed: bool = False,
    cell: float = 1.0,
    again: Callable[[], IndexArray] | None = None,
    name: str = "annotation",
) -> Annotation | None:
    """What an annotation of pixels says about superpixels ``regions`` [H, W]; None if it says nothing.

    A mask wins over all else, and gives a ``Full``, unless all of it is void; tags, boxes and seeds give a
    ``Joint``. Boxes lose the part ``shrink`` of their width and height on each side; ``V_k`` are the
    superpixels with a pixel center in what is left of the boxes of label k. Node sizes are in pixels, or
    in units of ``1 / cell`` pixels. See ``Joint`` for ``beta``, ``other``, ``shares``, ``strict``, ``tight``
    and ``sum_box_and_seed``, and ``Box`` for ``profiles`` of labels. Seeds keep ``regions``, unless ``again``
    tells how to get them another time. Errors begin with ``name``.

    A superpixel has one label, where its pixels may have several, so not all that is said can be kept:

    - A seed in none of the superpixels of its label's boxes is left out: boxes are around all things of
      their label.
    - Of the seeds of several labels in one superpixel, the one nearest to its center decides; those of other
      labels are left out. Several seeds of one label all count.
    - Where seeds of other labels have taken all superpixels of a box, those in the one that the box has most
      of are left out: the box has no other place, while the label of the seed has the rest of the image.
    - A label that has lost all its seeds, and has no box, becomes a tag.

    >>> regions = np.array([[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> rasterize(PixelAnnotation(tags=(0, 2)), regions, n_labels=3)
    Joint(tags=[0, 2], boxes=[], seeds=[], n_labels=3)
    >>> cow = PixelAnnotation(tags=(0,), boxes=(PixelBox(1, left=1, top=0, right=2, bottom=2),))
    >>> rasterize(cow, regions, n_labels=3)
    Joint(tags=[0], boxes=[Box(label=1, nodes=[0], area=2)], seeds=[], n_labels=3)
    >>> mask = np.array([[0, 0, 2, 2], [1, 2, 2, 2]], dtype=np.uint8)
    >>> rasterize(PixelAnnotation(mask=mask), regions, n_labels=2).histograms
    array([[1., 1.],
           [0., 4.]])
    >>> rasterize(PixelAnnotation(), regions, n_labels=3) is None
    True
    """
    try:
        nodes = frozen_regions(regions)
        if annotation.mask is not None and np.any(annotation.mask):
            return Full(label_histograms(annotation.mask, nodes, n_labels) * cell)
        if not (annotation.tags or annotation.boxes or annotation.seeds):
            return None
        known = profiles or {}
        clipped = [clip(box, nodes.shape, f"boxes[{b}]") for b, box in enumerate(annotation.boxes)]
        boxes = [box_nodes(box, nodes, shrink, known.get(box.label, UNIFORM), cell) for box in clipped]
        said = Partition.of(
            annotation.tags, (b.label for b in clipped), (s.label for s in annotation.seeds), n_labels, other
        )
        placed = grid_seeds(annotation.seeds, nodes, cell, again)
        seeds = resolve_seeds(boxes, placed, annotation.seeds, nodes)
        lost = sorted(set(said.seeded) - {seed.label for seed in seeds})
        # Tags that were seeds neither take the place of ``other``, nor make labels absent that nobody named.
        rest = said.tagged if lost else annotation.tags
        joint = Joint(
            [*rest, *lost],
            boxes,
            seeds,
            n_labels,
            beta,
            other=other,
            complete=said.complete,
            strict=strict,
            tight=tight,
            shares=shares or {},
            box_areas=union_areas(clipped, cell),
            sum_box_and_seed=sum_box_and_seed,
        )
        check_room(joint, nodes)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return joint


def frozen_regions(regions: ArrayLike) -> IndexArray:
    """Superpixels int32 [H, W], read-only, so that all seeds of an image share them."""
    array = numeric_array(regions, "regions", "iu")
    check_shape(array, "regions", (None, None))
    if array.size == 0:
        raise ValueError("regions is empty: an image has at least one pixel")
    check_values(array, "regions", "superpixels", minimum=0)
    return freeze(array, np.int32)


def raise_problem(what: str, problem: Problem | None) -> None:
    """Raise if there is a problem."""
    if problem:
        raise ValueError(f"{what}: {problem[0]}; {problem[1]}")


def label_histograms(mask: NDArray[np.uint8], regions: IndexArray, n_labels: int) -> FloatArray:
    """Pixels of each label in each superpixel [V, K]; the mask [H, W] holds label + 1, and 0 for void.

    >>> mask = np.array([[1, 2, 0]], dtype=np.uint8)
    >>> label_histograms(mask, np.array([[0, 0, 1]], dtype=np.int32), n_labels=2)
    array([[1., 1.],
           [0., 0.]])
    """
    values = np.asarray(mask, dtype=np.uint8)
    height, width = regions.shape
    raise_problem("mask", size_problem(values, height, width) or mask_problem(values, n_labels))
    n_nodes, n_values = int(regions.max()) + 1, n_labels + 1
    cells = regions.ravel().astype(np.int64) * n_values + values.ravel()
    counts = np.bincount(cells, minlength=n_nodes * n_values).reshape(n_nodes, n_values)
    return counts[:, 1:].astype(np.float64)


def clip(box: PixelBox, shape: Sequence[int], what: str = "box") -> PixelBox:
    """The part of the box that is in an image of the shape (H, W).

    >>> clip(PixelBox(0, left=-3, top=1, right=5, bottom=9), shape=(4, 6))
    PixelBox(label=0, left=0, top=1, right=5, bottom=4)
    """
    height, width = shape
    raise_problem(what, box_problem(box, height, width))
    left, top = max(box.left, 0), max(box.top, 0)
    return PixelBox(box.label, left, top, min(box.right, width), min(box.bottom, height))


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
    box: PixelBox, regions: IndexArray, shrink: float = 0.06, profile: Profile = UNIFORM, cell: float = 1.0
) -> Box:
    """The box, which is in the image, in superpixels: its shrunk part, with the area of all of it.

    >>> regions = np.array([[0, 0, 1], [2, 2, 2]], dtype=np.int32)
    >>> box_nodes(PixelBox(7, left=1, top=0, right=3, bottom=2), regions)
    Box(label=7, nodes=[0, 1, 2], area=4)
    """
    rows, columns = shrunk(box, shrink)
    height, width = box.bottom - box.top, box.right - box.left
    part = regions[rows.start : rows.stop, columns.start : columns.stop]
    return Box(
        box.label,
        part,
        part.T,
        area=cell * height * width,
        profile=profile,
        row_positions=np.clip((np.array(rows) + 0.5 - box.top) / height, 0, 1),
        column_positions=np.clip((np.array(columns) + 0.5 - box.left) / width, 0, 1),
    )


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


@dataclass(frozen=True, eq=False)
class FetchedGaussian:
    """A ``Gaussian`` on regions [H, W] that are fetched each time, rather than kept for every image."""

    regions: Callable[[], IndexArray]
    position: tuple[int, int]
    cell: float

    def __call__(self, tau: float) -> FloatArray:
        """Mass of each node [V]."""
        return Gaussian(self.regions(), self.position, self.cell)(tau)


def grid_seeds(
    seeds: Sequence[PixelSeed],
    regions: IndexArray,
    cell: float,
    again: Callable[[], IndexArray] | None = None,
) -> list[Seed]:
    """The seeds with the masses of the superpixels around them."""
    height, width = regions.shape
    for s, seed in enumerate(seeds):
        raise_problem(f"seeds[{s}]", seed_problem(seed, height, width))
    if again is None:
        return [Seed.in_grid(seed.label, (seed.y, seed.x), regions, cell) for seed in seeds]
    places = [(seed.label, (seed.y, seed.x)) for seed in seeds]
    return [Seed(k, int(regions[p]), FetchedGaussian(again, p, cell)) for k, p in places]


def resolve_seeds(
    boxes: Sequence[Box], seeds: Sequence[Seed], points: Sequence[PixelSeed], regions: IndexArray
) -> list[Seed]:
    """The seeds that can be met together, and with the boxes; ``rasterize`` says which they are."""
    homes: dict[int, set[int]] = {}
    for box in boxes:
        homes.setdefault(box.label, set()).update(box.nodes.tolist())
    kept = [s for s, seed in enumerate(seeds) if seed.node in homes.get(seed.label, (seed.node,))]
    labels: dict[int, int] = {}
    for node in {seeds[s].node for s in kept}:
        here = [s for s in kept if seeds[s].node == node]
        if len({seeds[s].label for s in here}) > 1:
            here = [min(here, key=lambda s: distance_to_center(points[s], node, regions))]
        labels[node] = seeds[here[0]].label
    for box in boxes:
        if all(labels.get(node, box.label) != box.label for node in box.nodes.tolist()):
            del labels[main_node(box)]
    return [seeds[s] for s in kept if labels.get(seeds[s].node) == seeds[s].label]


def distance_to_center(point: PixelSeed, node: int, regions: IndexArray) -> float:
    """Distance of the point from the mean place of the superpixel's pixels."""
    rows, columns = np.nonzero(regions == node)
    return float(np.hypot(point.y - rows.mean(), point.x - columns.mean()))


def main_node(box: Box) -> int:
    """The superpixel that has most of the box's pixels."""
    return int(np.bincount(box.rows.nodes, box.rows.counts).argmax())


def check_room(joint: Joint, regions: IndexArray) -> None:
    """Raise if a superpixel is left that no label may have."""
    if joint.partition.anywhere:
        return
    inside = np.unique(np.concatenate([box.nodes for box in joint.boxes]))
    if len(inside) < int(regions.max()) + 1:
        raise ValueError(
            "every class has a box, and there are pixels outside all boxes: no class is left for them. "
            "Delete the boxes of a class that is there too, and tag it"
        )
