"""Annotations of pixels as annotations of superpixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations import UNIFORM, Annotation, Box, Full, Joint, Profile, Seed
from multiutility.annotations.partition import Partition
from multiutility.arrays import IndexArray, check_shape, check_values, freeze, numeric_array
from multiutility.kinds import PixelAnnotation, PixelSeed
from multiutility.kinds.boxes import box_nodes, clip, union_areas
from multiutility.kinds.mask import label_histograms
from multiutility.kinds.seeds import grid_seeds


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
    >>> from multiutility.kinds import PixelBox
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
