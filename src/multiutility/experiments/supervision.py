"""Training images whose masks are known, and what is left of these when they are weakened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from multiutility.arrays import BoolArray
from multiutility.datasets.classes import Classes
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.experiments.protocols import Rules
from multiutility.kinds import WEAKENED, PixelAnnotation
from multiutility.kinds.areas import noisy
from multiutility.kinds.boxes import PixelBox, loosen
from multiutility.kinds.objects import Mask, labels_of
from multiutility.kinds.tags import drop_tags
from multiutility.vision.photo import FilePhoto
from multiutility.vision.training_set import AnnotatedPhoto
from multiutility.vision.weaken import sample_subset, weak_annotation

# What marks everything, stuff too, and comes with all tags: points, which are such seeds, and scribbles.
EVERYWHERE = tuple(way.name for way in WEAKENED.values() if way.everywhere)
# Tags of which each is dropped with this probability, and that say so.
OPEN, DROPPED = "open tags", 1 / 3
# Boxes that are larger than their objects by this share, and say so; or do not, which is for comparison only.
LOOSE, AS_TIGHT, LOOSENED = "loose boxes", "loose boxes as tight", 0.2
# What mixes that are named otherwise are made of.
PARTS = {OPEN: "tags", LOOSE: "tags+boxes", AS_TIGHT: "tags+boxes"}
# What images without a mask may have; "none" leaves them out.
KINDS = (
    *("none", "tags", "tags+seeds", "tags+boxes", "tags+boxes+seeds", *EVERYWHERE, "tags+areas"),
    *PARTS,
)
# How far areas are off, as estimates by eye are: standard deviation of their logarithms.
AREA_NOISE = 0.2


# Mixes that have all there is of a kind.
ALL_OF = {"tags": "points", "seeds": "points", "boxes": "tags+boxes", "scribbles": "scribbles"}
# A kind of annotation of an image: of one label, or of all that it has.
Part: TypeAlias = tuple[str, int | None]


@dataclass(frozen=True)
class Supervision:
    """Which images, by number, keep their masks, and which get weak annotations; others are left out.

    Of the latter, those with ``parts`` have these, and the others are all annotated alike.
    """

    masks: tuple[int, ...]
    weak: tuple[int, ...]
    parts: tuple[tuple[int, tuple[Part, ...]], ...] = ()


class LabeledImages:
    """Images with masks by a protocol; masks are held in memory, weak annotations are made once."""

    def __init__(self, dataset: DatasetFolder, rules: Rules) -> None:
        self.classes: Classes = rules.classes
        self.samples: list[Sample] = []
        self.masks: list[Mask] = []
        for sample in dataset:
            mask = sample.mask()
            if mask is not None:
                self.samples.append(sample)
                self.masks.append(rules.mask(mask))
        if not self.samples:
            raise DatasetError(dataset.path, None, "no image has a mask", "put masks into masks/")
        self._weak: dict[tuple[int, str], PixelAnnotation] = {}
        self._subsets: dict[tuple[int, int], tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def names(self) -> list[str]:
        """Names of the images."""
        return [sample.name for sample in self.samples]

    def part(self, chosen: Sequence[int]) -> LabeledImages:
        """Return some of the images."""
        part = LabeledImages.__new__(LabeledImages)
        part.classes = self.classes
        part.samples = [self.samples[n] for n in chosen]
        part.masks = [self.masks[n] for n in chosen]
        part._weak, part._subsets = {}, {}
        return part

    def label_table(self) -> BoolArray:
        """Which image has which label, bool [N, K]."""
        table = np.zeros((len(self), len(self.classes)), dtype=np.bool_)
        for row, mask in zip(table, self.masks, strict=True):
            row[list(labels_of(mask))] = True
        return table

    def subset(self, size: int, random_state: int) -> tuple[int, ...]:
        """Images whose labels are about as frequent as in all, see ``sample_subset``; drawn once."""
        if (size, random_state) not in self._subsets:
            drawn = sample_subset(self.label_table(), size, random_state)
            self._subsets[size, random_state] = tuple(drawn)
        return self._subsets[size, random_state]

    def weak(self, n: int, kinds: str) -> PixelAnnotation:
        """Return the weak annotation of an image, of kinds such as ``tags+boxes``."""
        if (n, kinds) not in self._weak:
            made = weak_annotation(self.masks[n], self.classes, self.samples[n].instances(), **wanted(kinds))
            areas = noisy(made.areas, AREA_NOISE, self.samples[n].name)
            tags = drop_tags(made.tags, DROPPED, self.samples[n].name) if kinds == OPEN else made.tags
            boxes = larger(made.boxes, kinds, self.masks[n].shape)
            self._weak[n, kinds] = replace(made, areas=areas, tags=tags, boxes=boxes)
        return self._weak[n, kinds]

    def annotated(self, kinds: str, choice: Supervision) -> list[AnnotatedPhoto]:
        """Return the images of a choice with their annotations, those with masks first."""
        found = [AnnotatedPhoto(self.photo(n), partial(self.full_annotation, n)) for n in choice.masks]
        own = dict(choice.parts)
        for n in choice.weak:
            make = partial(self.partly, n, own[n]) if n in own else partial(self.weak, n, kinds)
            found.append(AnnotatedPhoto(self.photo(n), make))
        return found

    def partly(self, n: int, parts: Sequence[Part]) -> PixelAnnotation:
        """Return the annotation of an image that has some kinds, each of one label or of all."""
        names = dict.fromkeys(name for name, _ in parts)
        found = {name: [self.part_of(n, part) for part in parts if part[0] == name] for name in names}
        return PixelAnnotation(**{name: joined(values) for name, values in found.items()})

    def part_of(self, n: int, part: Part) -> Any:
        """Return what an image has of a kind, or of one label of it."""
        name, label = part
        every = getattr(self.weak(n, ALL_OF[name]), name)
        if label is None:
            return every
        if isinstance(every, tuple):
            return tuple(entry for entry in every if entry.label == label)
        return np.where(every == label + 1, every, np.uint8(0))

    def full_annotation(self, n: int) -> PixelAnnotation:
        """Return the annotation of an image by its mask."""
        return PixelAnnotation(mask=self.masks[n], instances=self.samples[n].instances())

    def full(self) -> list[AnnotatedPhoto]:
        """Return all images with their masks."""
        return self.annotated("none", Supervision(tuple(range(len(self))), ()))

    def photo(self, n: int) -> FilePhoto:
        """Return the photograph."""
        return FilePhoto(self.samples[n].name, self.samples[n].path)


@dataclass(frozen=True, eq=False)
class Weakening:
    """What is left of images with masks in training: ``keep`` masks, and weak annotations of some kinds."""

    images: LabeledImages
    kinds: str
    keep: int
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.kinds not in KINDS:
            raise ValueError(f"weak annotations are {self.kinds!r}: expected one of {', '.join(KINDS)}")
        if self.kinds == "none" and not self.keep:
            raise ValueError("no weak annotations, and no masks are kept: there is nothing to learn from")

    def choice(self, numbers: Sequence[int]) -> Supervision:
        """Return which of some images keep their masks, and which get weak annotations."""
        chosen = self.images.part(numbers).subset(min(self.keep, len(numbers)), self.random_state)
        masks = tuple(numbers[n] for n in chosen)
        rest = () if self.kinds == "none" else tuple(n for n in numbers if n not in masks)
        return Supervision(masks, rest)

    def annotated(self, choice: Supervision) -> list[AnnotatedPhoto]:
        """Return the images of a choice with their annotations."""
        return self.images.annotated(self.kinds, choice)


def wanted(kinds: str) -> dict[str, bool]:
    """Return which kinds a text names.

    >>> [kind for kind, made in wanted("tags+boxes").items() if made]
    ['tags', 'boxes']
    """
    if kinds not in KINDS[1:]:
        raise ValueError(f"weak annotations are {kinds!r}: expected one of {', '.join(KINDS[1:])}")
    parts = PARTS.get(kinds, kinds).split("+")
    return {kind: kind in parts for kind in WEAKENED}


def joined(values: Sequence[Any]) -> Any:
    """Return several values of a kind as one: entries one after the other, or strokes of different labels.

    >>> joined([("a",), ("b", "c")]), joined([np.array([0, 1]), np.array([2, 0])])
    (('a', 'b', 'c'), array([2, 1]))
    """
    if isinstance(values[0], tuple):
        return tuple(entry for value in values for entry in value)
    return np.maximum.reduce(values)


def larger(boxes: Sequence[PixelBox], kinds: str, shape: Sequence[int]) -> tuple[PixelBox, ...]:
    """Return the boxes of an image [H, W] as a mix has them: too large in those of loose boxes.

    >>> larger([PixelBox(0, left=10, top=10, right=30, bottom=20)], "loose boxes", shape=(50, 50))
    (PixelBox(label=0, left=8.0, top=9.0, right=32.0, bottom=21.0, tight=False),)
    """
    if kinds not in (LOOSE, AS_TIGHT):
        return tuple(boxes)
    return tuple(replace(loosen(box, LOOSENED, shape), tight=kinds == AS_TIGHT) for box in boxes)
