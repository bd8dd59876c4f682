"""Weak annotations out of full masks: tags, boxes and seeds, and which images keep their masks.

Masks are uint8 [H, W] with 0 for void and label + 1. Everything that is made of one mask depends on this mask
alone; the random state decides which images keep theirs, and how what is made is off, if it is to be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray, FloatArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.writing import NewSample
from multiutility.kinds import INACCURATE, KINDS, WEAKENED, Kind, PixelAnnotation
from multiutility.kinds.kind import FromMask
from multiutility.kinds.objects import SPECK, Content, Mask, labels_of, objects_of, shares_of
from multiutility.kinds.tags import TAGS


def has_other(mask: Mask, void_share: float = 0.3) -> bool:
    """Whether void is a class of its own here: there is one label only, or at least 30 % is void.

    >>> has_other(np.array([[1, 1, 0]], dtype=np.uint8)), has_other(np.array([[1, 1, 2]], dtype=np.uint8))
    (True, False)
    """
    return len(labels_of(mask)) == 1 or bool(np.mean(mask == 0) >= void_share)


def apply_other(mask: Mask, classes: Classes) -> Mask:
    """The mask with void as the class ``other``, if it has that; a copy.

    >>> classes = Classes.from_names(["grass", "other"])
    >>> apply_other(np.array([[1, 1, 0]], dtype=np.uint8), classes)
    array([[1, 1, 2]], dtype=uint8)
    """
    if classes.other is None:
        raise ValueError("there is no class named 'other': add it with Classes.with_other")
    return np.where(mask == 0, np.uint8(classes.other + 1), mask) if has_other(mask) else mask.copy()


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
    present = labels_of(mask)
    things = tuple(k for k in present if classes.kinds[k] == "thing")
    return things or tuple(k for k in present if classes.kinds[k] == "either")


def weak_annotation(
    mask: Mask,
    classes: Classes,
    instances: NDArray[Any] | None = None,
    *,
    speck: float = SPECK,
    **wanted: bool,
) -> PixelAnnotation:
    """What is left of a mask: boxes and seeds of things, and tags for all labels that have neither.

    ``wanted`` are those of ``WEAKENED`` to make, such as ``boxes=True``; tags are made unless ``tags=False``.
    With ``points``, everything has seeds, one in each of its segments: an object of a thing, or a connected
    part of another label. All labels are then tagged, too, those of specks included: nothing else is there.
    So it is with all that are made ``everywhere``.

    >>> mask = np.array([[1, 1, 1, 1], [1, 2, 2, 1]], dtype=np.uint8)
    >>> from multiutility.datasets.classes import LabelClass
    >>> classes = Classes([LabelClass("grass", (0, 128, 0)), LabelClass("cow", (0, 0, 128), "thing")])
    >>> boxed = weak_annotation(mask, classes, boxes=True)
    >>> boxed.tags, boxed.boxes
    ((0,), (PixelBox(label=1, left=1, top=1, right=3, bottom=2),))
    >>> weak_annotation(mask, classes).tags
    (0, 1)
    >>> both = weak_annotation(mask, classes, points=True)
    >>> both.tags, both.seeds
    ((0, 1), (PixelSeed(label=0, x=1, y=0), PixelSeed(label=1, x=1, y=1)))
    """
    ways = chosen_ways(wanted)
    present, shares = labels_of(mask), shares_of(mask)
    things = things_of(mask, classes) if any(kind.placed for kind, _ in ways) else ()
    objects = objects_of(mask, things, instances, speck)
    if any(way.everywhere for _, way in ways):
        rest = objects_of(mask, [k for k in present if k not in things], speck=speck)
        segments = sorted([*objects, *rest], key=lambda segment: segment.label)
        content = Content(present, objects, segments, mask.shape, shares)
    else:
        placed = {thing.label for thing in objects}
        named = tuple(k for k in present if k not in placed)
        content = Content(named, objects, shares=shares)
    return PixelAnnotation(**{kind.name: way.make(content) for kind, way in ways})


def chosen_ways(wanted: Mapping[str, bool]) -> list[tuple[Kind, FromMask]]:
    """Return the ways to make what is wanted, with their kinds; tags are, unless the contrary is said.

    Of two ways to make a kind, the later one counts.

    >>> [way.name for _, way in chosen_ways({"points": True, "tags": False})]
    ['tags', 'points']
    """
    unknown = [name for name in wanted if name not in WEAKENED]
    if unknown:
        raise TypeError(f"no weak annotations {unknown[0]!r}: there are {', '.join(WEAKENED)}")
    chosen = {TAGS.name: True, **wanted}
    if any(way.everywhere and chosen.get(way.name) for way in WEAKENED.values()):
        chosen |= {TAGS.name: True}
    return [(kind, way) for kind in KINDS for way in kind.weaken if chosen.get(way.name)]


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
    for. ``wanted`` are the annotations to make, by the names of ``WEAKENED``, and ``amounts`` say how far
    these are off, by those of ``INACCURATE``.
    """

    classes: Classes
    kept: frozenset[str]
    dataset: DatasetFolder
    wanted: Mapping[str, bool]
    amounts: Mapping[str, float]
    other: bool
    random_state: int = 0

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
                made = weak_annotation(mask, self.classes, annotation.instances, **self.wanted)
                annotation = self._inaccurate(made, mask.shape, sample.name)
        return NewSample(sample.name, sample.path, annotation)

    def _inaccurate(self, made: PixelAnnotation, shape: Sequence[int], name: str) -> PixelAnnotation:
        """The annotation of an image with all that is off."""
        values = {}
        for kind in KINDS:
            one = kind.inaccuracy
            if one is not None and (amount := self.amounts.get(one.name)):
                values[kind.name] = one.apply(made.value(kind), amount, shape, name, self.random_state)
        return replace(made, **values)


def weaken(
    dataset: DatasetFolder,
    random_state: int | np.random.Generator = 0,
    keep_masks: int | Sequence[str] = 0,
    *,
    other: bool = False,
    **options: float,
) -> Weakened:
    """Weak annotations in place of masks, for all images but some, see ``weak_annotation`` and ``Weakened``.

    ``keep_masks`` are the images that keep theirs, by name, or how many, see ``sample_subset``. Images
    without a mask stay as they are. With ``other``, void is a class of its own where ``has_other`` says so,
    in masks that are kept, too. Other ``options`` are what to make, as ``boxes=True``, by the names of
    ``WEAKENED``, and how far it is off, as ``loosen_boxes=0.2``, by those of ``INACCURATE``.
    """
    amounts = {name: options.pop(name) for name in INACCURATE if name in options}
    for name, amount in amounts.items():
        INACCURATE[name].check(amount)
    wanted = {name: bool(value) for name, value in options.items()}
    chosen_ways(wanted)  # raises for names that are none
    classes = dataset.classes.with_other() if other and dataset.classes.other is None else dataset.classes
    masked = [sample for sample in dataset if "mask" in sample.kinds]
    if isinstance(keep_masks, int | np.integer):
        # Masks are read for the labels, but not if there is nothing to choose.
        table = label_table(masked if keep_masks else [], classes, other)
        kept = [masked[n].name for n in sample_subset(table, int(keep_masks), random_state)]
    else:
        kept = list(keep_masks)
        check_names(kept, [sample.name for sample in masked])
    seed = int(random_state) if isinstance(random_state, int | np.integer) else 0
    return Weakened(classes, frozenset(kept), dataset, wanted, amounts, other, seed)


def label_table(samples: Sequence[Sample], classes: Classes, other: bool) -> BoolArray:
    """Which image has which label, bool [N, K], by its mask."""
    table = np.zeros((len(samples), len(classes)), dtype=np.bool_)
    for row, sample in zip(table, samples, strict=True):
        mask = sample.mask()
        if mask is not None:
            row[list(labels_of(apply_other(mask, classes) if other else mask))] = True
    return table


def check_names(names: Sequence[str], masked: Collection[str]) -> None:
    """Raise unless all are names of images with masks."""
    unknown = sorted(set(names) - set(masked))
    if unknown:
        listed = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise ValueError(f"cannot keep the masks of {listed}: not among the {len(masked)} images with masks")
