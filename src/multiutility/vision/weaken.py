"""Weak annotations out of full masks: tags, boxes and seeds, and which images keep their masks.

Masks are uint8 [H, W] with 0 for void and label + 1. Everything that is made of one mask depends on this mask
alone; the random state only decides which images keep theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from multiutility.arrays import BoolArray, FloatArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation, PixelBox, PixelSeed

Mask: TypeAlias = NDArray[np.uint8]

# Objects below this share of the image's pixels are slips of whoever drew the mask: the specks of MSRC have
# 1 to 3 pixels of 68,000, its smallest objects more than 100.
SPECK = 2e-4
# Diagonal neighbors belong together: thin legs and wires are often one pixel wide.
NEIGHBORS = np.ones((3, 3), dtype=np.bool_)


def has_other(mask: Mask, void_share: float = 0.3) -> bool:
    """Whether void is a class of its own here: there is one label only, or at least 30 % is void.

    >>> has_other(np.array([[1, 1, 0]], dtype=np.uint8)), has_other(np.array([[1, 1, 2]], dtype=np.uint8))
    (True, False)
    """
    return len(tags_of(mask)) == 1 or bool(np.mean(mask == 0) >= void_share)


def apply_other(mask: Mask, classes: Classes) -> Mask:
    """The mask with void as the class ``other``, if it has that; a copy.

    >>> classes = Classes.from_names(["grass", "other"])
    >>> apply_other(np.array([[1, 1, 0]], dtype=np.uint8), classes)
    array([[1, 1, 2]], dtype=uint8)
    """
    if classes.other is None:
        raise ValueError("there is no class named 'other': add it with Classes.with_other")
    return np.where(mask == 0, np.uint8(classes.other + 1), mask) if has_other(mask) else mask.copy()


def tags_of(mask: Mask) -> tuple[int, ...]:
    """Labels that the mask has anywhere.

    >>> tags_of(np.array([[3, 0, 1, 1]], dtype=np.uint8))
    (0, 2)
    """
    return tuple((np.flatnonzero(np.bincount(mask.ravel())[1:])).tolist())


def things_of(mask: Mask, classes: Classes) -> tuple[int, ...]:
    """Labels of the mask that are things: where there is none, classes that may be either are.

    >>> from multiutility.datasets.classes import LabelClass
    >>> kinds = {"cow": "thing", "tree": "either", "grass": "stuff"}
    >>> classes = Classes(LabelClass(name, (n, 0, 0), kind) for n, (name, kind) in enumerate(kinds.items()))
    >>> things_of(np.array([[1, 2, 3]], dtype=np.uint8), classes)
    (0,)
    >>> things_of(np.array([[0, 2, 3]], dtype=np.uint8), classes)
    (1,)
    """
    present = tags_of(mask)
    things = tuple(k for k in present if classes.kinds[k] == "thing")
    return things or tuple(k for k in present if classes.kinds[k] == "either")


@dataclass(frozen=True, eq=False)
class Object:
    """An object of the image: ``rows`` and ``columns`` of its tight box, and its pixels in there."""

    label: int
    rows: slice
    columns: slice
    pixels: BoolArray

    @property
    def box(self) -> PixelBox:
        """The tight box."""
        return PixelBox(self.label, self.columns.start, self.rows.start, self.columns.stop, self.rows.stop)

    @property
    def seed(self) -> PixelSeed:
        """The pole of inaccessibility: the pixel that is farthest from the outside."""
        y, x = pole(self.pixels)
        return PixelSeed(self.label, self.columns.start + x, self.rows.start + y)


def pole(pixels: BoolArray) -> tuple[int, int]:
    """Row and column of the pixel that is farthest from all that is outside [H, W], its border included.

    Of several, the one nearest to their mean: the middle of a bar, not its end.

    >>> pole(np.ones((3, 9), dtype=np.bool_))
    (1, 4)
    """
    distances = ndimage.distance_transform_edt(np.pad(pixels, 1))[1:-1, 1:-1]
    places = np.argwhere(distances == distances.max())
    nearest = np.square(places - places.mean(axis=0)).sum(axis=1).argmin()
    row, column = places[nearest].tolist()
    return row, column


def objects_of(
    mask: Mask, labels: Collection[int], instances: NDArray[Any] | None = None, speck: float = SPECK
) -> list[Object]:
    """Objects of these labels: one for each id of the instance map, and one for each connected part without.

    An object of the map (0 for none) is of the label that the mask has most of there, and is left out if more
    than half of it is void; its box is that of the map. Parts of the mask that no object of their label
    touches are objects too. What has less than the share ``speck`` of the pixels is left out.

    >>> mask = np.array([[2, 2, 0, 2, 1]], dtype=np.uint8)
    >>> [thing.box for thing in objects_of(mask, labels=[1])]
    [PixelBox(label=1, left=0, top=0, right=2, bottom=1), PixelBox(label=1, left=3, top=0, right=4, bottom=1)]
    >>> [thing.box for thing in objects_of(mask, [1], instances=np.array([[7, 7, 7, 7, 0]]))]
    [PixelBox(label=1, left=0, top=0, right=4, bottom=1)]
    """
    found = [] if instances is None else mapped_objects(mask, instances)
    found = [thing for thing in found if thing.label in labels]
    for label in sorted(labels):
        taken = np.zeros(mask.shape, dtype=np.bool_)
        for thing in found:
            if thing.label == label:
                taken[thing.rows, thing.columns] |= thing.pixels
        found += [part for part in connected_objects(mask, label) if not touches(part, taken)]
    large = [thing for thing in found if thing.pixels.sum() >= speck * mask.size]
    return sorted(large, key=lambda thing: (thing.label, thing.rows.start, thing.columns.start))


def touches(thing: Object, taken: BoolArray) -> bool:
    """Whether the object has a pixel of those [H, W]."""
    return bool((thing.pixels & taken[thing.rows, thing.columns]).any())


def mapped_objects(mask: Mask, instances: NDArray[Any]) -> list[Object]:
    """Objects of the instance map."""
    if instances.shape != mask.shape:
        raise ValueError(f"instances have shape {instances.shape}: the mask has {mask.shape}")
    names, ids = np.unique(instances, return_inverse=True)
    ids = ids.reshape(mask.shape)
    counts = np.bincount(ids.ravel() * 256 + mask.ravel(), minlength=256 * len(names)).reshape(-1, 256)
    objects = []
    for n, (rows, columns) in enumerate(ndimage.find_objects(ids + 1)):
        if names[n] != 0 and 2 * counts[n, 0] <= counts[n].sum():
            label = int(counts[n, 1:].argmax())
            own = (ids[rows, columns] == n) & (mask[rows, columns] == label + 1)
            objects.append(Object(label, rows, columns, own))
    return objects


def connected_objects(mask: Mask, label: int) -> list[Object]:
    """Connected parts of the label, diagonal neighbors together."""
    parts, _ = ndimage.label(mask == label + 1, NEIGHBORS)
    slices = enumerate(ndimage.find_objects(parts), start=1)
    return [Object(label, rows, columns, parts[rows, columns] == n) for n, (rows, columns) in slices]


def weak_annotation(
    mask: Mask,
    classes: Classes,
    instances: NDArray[Any] | None = None,
    *,
    tags: bool = True,
    boxes: bool = False,
    seeds: bool = False,
    points: bool = False,
    speck: float = SPECK,
) -> PixelAnnotation:
    """What is left of a mask: boxes and seeds of things, and tags for all labels that have neither.

    With ``points``, everything has seeds, one in each of its segments: an object of a thing, or a connected
    part of another label. All labels are then tagged, too, those of specks included: nothing else is there.

    >>> mask = np.array([[1, 1, 1, 1], [1, 2, 2, 1]], dtype=np.uint8)
    >>> from multiutility.datasets.classes import LabelClass
    >>> classes = Classes([LabelClass("grass", (0, 128, 0)), LabelClass("cow", (0, 0, 128), "thing")])
    >>> weak_annotation(mask, classes, boxes=True)  # doctest: +NORMALIZE_WHITESPACE
    PixelAnnotation(mask=None, tags=(0,), boxes=(PixelBox(label=1, left=1, top=1, right=3, bottom=2),),
                    seeds=(), instances=None)
    >>> weak_annotation(mask, classes).tags
    (0, 1)
    >>> both = weak_annotation(mask, classes, points=True)
    >>> both.tags, both.seeds
    ((0, 1), (PixelSeed(label=0, x=1, y=0), PixelSeed(label=1, x=1, y=1)))
    """
    present = tags_of(mask)
    things = things_of(mask, classes) if boxes or seeds or points else ()
    objects = objects_of(mask, things, instances, speck)
    if points:
        rest = objects_of(mask, [k for k in present if k not in things], speck=speck)
        named, clicked = present, sorted([*objects, *rest], key=lambda segment: segment.label)
    else:
        placed = {thing.label for thing in objects}
        named = tuple(k for k in present if k not in placed) if tags else ()
        clicked = objects if seeds else []
    return PixelAnnotation(
        tags=named,
        boxes=tuple(thing.box for thing in objects) if boxes else (),
        seeds=tuple(segment.seed for segment in clicked),
    )


def sample_subset(
    labels: BoolArray,
    size: int,
    random_state: int | np.random.Generator,
    n_steps: int = 10_000,
    temperature: float = 0.2,
) -> list[int]:
    """Indices of ``size`` images, sampled so that label counts match those of all images; sorted.

    ``labels`` bool [N, K] says which image has which label. Metropolis-Hastings: a step swaps one image of
    the subset for another, and the chain's law is ``p(S) ~ exp(-chi2(S) / temperature)`` with
    ``chi2(S) = sum_k (n_k - e_k)^2 / e_k``, of the numbers ``n_k`` of images in S that have label k and what
    they should be, ``e_k = size / N`` times those of all images. Subsets of different sizes are drawn each
    for itself: the smaller is not part of the larger.

    >>> labels = np.repeat(np.eye(2, dtype=np.bool_), 50, axis=0)
    >>> subset = sample_subset(labels, size=4, random_state=0)
    >>> labels[subset].sum(axis=0)
    array([2, 2])
    """
    n_images = len(labels)
    if not 0 <= size <= n_images:
        raise ValueError(f"{size} of {n_images} images with masks: expected 0 to {n_images}")
    rng = np.random.default_rng(random_state)
    order = rng.permutation(n_images)
    if size in (0, n_images):
        return sorted(order[:size].tolist())
    present = labels[:, labels.any(axis=0)].astype(np.float64)
    expected = present.sum(axis=0) * size / n_images
    excess = present[order[:size]].sum(axis=0) - expected
    energy = mismatch(excess, expected)
    leaving, coming = rng.integers(size, size=n_steps), rng.integers(size, n_images, size=n_steps)
    limits = -temperature * np.log1p(-rng.random(n_steps))
    for old, new, limit in zip(leaving.tolist(), coming.tolist(), limits.tolist(), strict=True):
        moved = excess + present[order[new]] - present[order[old]]
        proposed = mismatch(moved, expected)
        # The usual u < exp(-rise / temperature), solved for the rise.
        if proposed - energy <= limit:
            excess, energy = moved, proposed
            order[[old, new]] = order[[new, old]]
    return sorted(order[:size].tolist())


def mismatch(excess: FloatArray, expected: FloatArray) -> float:
    """Chi-square distance of counts from what they should be."""
    return float((excess * excess / expected).sum())


@dataclass(frozen=True, eq=False)
class Weakened:
    """The images of a dataset with weak annotations, made while they are iterated over.

    ``kept`` are the names of the images that keep their masks; ``classes`` has ``other`` if that was asked
    for.
    """

    classes: Classes
    kept: frozenset[str]
    dataset: DatasetFolder
    tags: bool
    boxes: bool
    seeds: bool
    points: bool
    other: bool

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[NewSample]:
        return (self._weakened(sample) for sample in self.dataset)

    def _weakened(self, sample: Sample) -> NewSample:
        annotation = sample.annotation()
        if annotation.mask is not None:
            mask = apply_other(annotation.mask, self.classes) if self.other else annotation.mask
            if sample.name in self.kept:
                annotation = PixelAnnotation(mask=mask, instances=annotation.instances)
            else:
                annotation = weak_annotation(
                    mask,
                    self.classes,
                    annotation.instances,
                    tags=self.tags,
                    boxes=self.boxes,
                    seeds=self.seeds,
                    points=self.points,
                )
        return NewSample(sample.name, sample.path, annotation)


def weaken(
    dataset: DatasetFolder,
    random_state: int | np.random.Generator = 0,
    keep_masks: int | Sequence[str] = 0,
    *,
    tags: bool = True,
    boxes: bool = False,
    seeds: bool = False,
    points: bool = False,
    other: bool = False,
) -> Weakened:
    """Weak annotations in place of masks, for all images but some, see ``weak_annotation`` and ``Weakened``.

    ``keep_masks`` are the images that keep theirs, by name, or how many, see ``sample_subset``. Images
    without a mask stay as they are. With ``other``, void is a class of its own where ``has_other`` says so,
    in masks that are kept, too.
    """
    classes = dataset.classes.with_other() if other and dataset.classes.other is None else dataset.classes
    masked = [sample for sample in dataset if "mask" in sample.kinds]
    if isinstance(keep_masks, int | np.integer):
        # Masks are read for the labels, but not if there is nothing to choose.
        table = label_table(masked if keep_masks else [], classes, other)
        kept = [masked[n].name for n in sample_subset(table, int(keep_masks), random_state)]
    else:
        kept = list(keep_masks)
        check_names(kept, [sample.name for sample in masked])
    return Weakened(classes, frozenset(kept), dataset, tags, boxes, seeds, points, other)


def label_table(samples: Sequence[Sample], classes: Classes, other: bool) -> BoolArray:
    """Which image has which label, bool [N, K], by its mask."""
    table = np.zeros((len(samples), len(classes)), dtype=np.bool_)
    for row, sample in zip(table, samples, strict=True):
        mask = sample.mask()
        if mask is not None:
            row[list(tags_of(apply_other(mask, classes) if other else mask))] = True
    return table


def check_names(names: Sequence[str], masked: Collection[str]) -> None:
    """Raise unless all are names of images with masks."""
    unknown = sorted(set(names) - set(masked))
    if unknown:
        listed = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise ValueError(f"cannot keep the masks of {listed}: not among the {len(masked)} images with masks")
