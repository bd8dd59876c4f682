"""Annotations of pixels as annotations of superpixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations import Annotation, Joint, Profile
from multiutility.annotations.lines import MARGIN
from multiutility.annotations.partition import Partition
from multiutility.annotations.tagged import Tagged
from multiutility.annotations.term import Mark, Says, Term
from multiutility.arrays import IndexArray, check_shape, check_values, freeze, numeric_array
from multiutility.kinds import KINDS, Kind, PixelAnnotation
from multiutility.kinds.grid import Grid

# What kinds say that have marks, if they tell places.
MARKED: tuple[Says, ...] = ("seeded", "there")


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
    margin: float = MARGIN,
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
    and ``sum_box_and_seed``, and ``Box`` for ``profiles`` of labels and the ``margin`` of loose boxes. Seeds
    keep ``regions``, unless ``again`` tells how to get them another time. Errors begin with ``name``.

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
        grid = Grid(
            *(frozen_regions(regions), n_labels, cell, again, shrink, profiles or {}),
            strict=strict,
            tight=tight,
            margin=margin,
        )
        there = [(kind, value) for kind in KINDS if kind.there(value := annotation.value(kind))]
        for kind, value in there:
            if kind.whole is not None and (whole := kind.whole(value, grid)) is not None:
                return whole
        terms = [kind.term(value, grid) for kind, value in there if kind.term is not None]
        if not any(len(term.labels) for term in terms):
            return None
        said = annotation.partition(n_labels, other)
        kept = resolve_marks(terms, [pair for pair in there if pair[0].term is not None], grid)
        joint = Joint.of(
            with_lost(kept, said, annotation, grid),
            n_labels,
            beta,
            other=other,
            complete=said.complete,
            shares=shares,
            sum_box_and_seed=sum_box_and_seed,
        )
        check_room(joint, grid)
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


def resolve_marks(terms: Sequence[Term], values: Sequence[tuple[Kind, Any]], grid: Grid) -> list[Term]:
    """The terms with the marks that can be met together, and with the boxes; ``rasterize`` says which."""
    homes: dict[int, set[int]] = {}
    for home in (home for term in terms for home in term.homes):
        homes.setdefault(home.label, set()).update(home.nodes.tolist())
    marks = [(t, m, mark) for t, term in enumerate(terms) for m, mark in enumerate(term.marks)]
    kept = [one for one in marks if one[2].node in homes.get(one[2].label, (one[2].node,))]

    def strength(one: tuple[int, int, Mark]) -> tuple[float, ...]:
        kind, value = values[one[0]]
        return kind.strength(value, grid, *one[1:])

    by_node: dict[int, list[tuple[int, int, Mark]]] = {}
    for one in kept:
        by_node.setdefault(one[2].node, []).append(one)
    labels: dict[int, int] = {}
    for node, here in by_node.items():
        several = len({mark.label for _, _, mark in here}) > 1
        labels[node] = (max(here, key=strength) if several else here[0])[2].label
    for home in (home for term in terms for home in term.homes):
        if all(labels.get(node, home.label) != home.label for node in home.nodes.tolist()):
            del labels[home.main]
    right = [(t, m) for t, m, mark in kept if labels.get(mark.node) == mark.label]
    return [term.keep([m for own, m in right if own == t]) for t, term in enumerate(terms)]


def with_lost(terms: Sequence[Term], said: Partition, annotation: PixelAnnotation, grid: Grid) -> list[Term]:
    """The terms, with tags for labels that have lost all their marks, and are there nevertheless."""
    left = {label for term in terms if term.marks for label in term.labels}
    kinds = [kind for kind in KINDS if kind.says in MARKED and kind.placed]
    marked = {k for kind in kinds for k in kind.labels(annotation.value(kind))}
    lost = sorted(marked - left)
    if not set(lost) - set(said.boxed):
        return list(terms)
    # Tags that were marks neither take the place of ``other``, nor make labels absent that nobody named.
    tags = [*said.tagged, *(label for label in lost if label in said.seeded)]
    return [Tagged(tags, grid.strict), *(term for term in terms if term.says != Tagged.says)]


def check_room(joint: Joint, grid: Grid) -> None:
    """Raise if a superpixel is left that no label may have."""
    if joint.partition.anywhere:
        return
    inside = np.unique(np.concatenate([home.nodes for home in joint.homes]))
    if len(inside) < grid.n_nodes:
        raise ValueError(
            "every class has a box, and there are pixels outside all boxes: no class is left for them. "
            "Delete the boxes of a class that is there too, and tag it"
        )
