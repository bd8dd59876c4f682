"""The dataset folder: images with any mix of masks, tags, boxes and seeds."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, suggest
from multiutility.datasets.contents import (
    BOXES,
    SEEDS,
    SPLITS,
    Contents,
    Entry,
    ImageNames,
    read_contents,
    read_split,
)
from multiutility.datasets.display import dataset_html
from multiutility.datasets.errors import DatasetError, Problem
from multiutility.datasets.images import image_size, read_image, read_instances, read_mask
from multiutility.datasets.pixels import PixelAnnotation, PixelBox, PixelSeed
from multiutility.datasets.placement import box_problem, mask_problem, seed_problem, size_problem
from multiutility.datasets.writing import NewSample, write_dataset

__all__ = ["DatasetError", "DatasetFolder", "NewSample", "Sample", "write_dataset"]


@dataclass(frozen=True)
class Sample:
    """An image of a dataset folder, with what is annotated; images and masks are read when asked for.

    Boxes and seeds come with their rows in the tables, for errors.
    """

    name: str
    path: Path
    folder: Path
    n_classes: int
    mask_path: Path | None = None
    instances_path: Path | None = None
    tags: tuple[int, ...] = ()
    box_rows: tuple[Entry[PixelBox], ...] = ()
    seed_rows: tuple[Entry[PixelSeed], ...] = ()

    def image(self) -> NDArray[np.uint8]:
        """Image in RGB, uint8 [H, W, 3]."""
        return read_image(self.path)

    def size(self) -> tuple[int, int]:
        """Height and width of the image."""
        return image_size(self.path)

    def mask(self) -> NDArray[np.uint8] | None:
        """Mask uint8 [H, W] that holds 0 for void and label + 1, if there is one."""
        if self.mask_path is None:
            return None
        mask = read_mask(self.mask_path)
        height, width = self.size()
        problem = size_problem(mask, height, width) or mask_problem(mask, self.n_classes)
        raise_problem(self.mask_path, None, problem)
        return mask

    def instances(self) -> NDArray[np.int32] | None:
        """Ids of objects int32 [H, W], 0 for none, if there is such a map."""
        if self.instances_path is None:
            return None
        instances = read_instances(self.instances_path)
        raise_problem(self.instances_path, None, size_problem(instances, *self.size()))
        return instances

    def annotation(self) -> PixelAnnotation:
        """All that is annotated; boxes may reach beyond the image, but have pixels in it."""
        if self.box_rows or self.seed_rows:
            height, width = self.size()
            for row, box in self.box_rows:
                raise_problem(self.folder / BOXES, row, box_problem(box, height, width))
            for row, seed in self.seed_rows:
                raise_problem(self.folder / SEEDS, row, seed_problem(seed, height, width))
        return PixelAnnotation(
            mask=self.mask(),
            tags=self.tags,
            boxes=tuple(box for _, box in self.box_rows),
            seeds=tuple(seed for _, seed in self.seed_rows),
            instances=self.instances(),
        )

    @property
    def kinds(self) -> frozenset[str]:
        """Which of mask, tags, boxes and seeds there are."""
        there = {"mask": self.mask_path, "tags": self.tags, "boxes": self.box_rows, "seeds": self.seed_rows}
        return frozenset(kind for kind, value in there.items() if value)


class DatasetFolder:
    """A dataset folder, or a part of it: a collection of samples, in the order of ``names``.

    Tables are read at once, images and masks when asked for. Raises ``DatasetError`` for the first thing
    that is wrong; ``validate`` finds all. Layout::

        classes.csv          name,color,kind,rare
        images/NAME.jpg      or png, bmp, tif, webp
        masks/NAME.png       8-bit indices: 0 void, k the k-th row of classes.csv
        instances/NAME.png   ids of objects, 0 for none
        tags.csv             image,label
        boxes.csv            image,label,left,top,right,bottom    right and bottom exclusive
        seeds.csv            image,label,x,y
        splits/NAME.txt      one image a line
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        contents = read_contents(self.path)
        if contents.classes is None or contents.problems:
            raise first_of(contents.problems)
        self.classes: Classes = contents.classes
        self.names = tuple(contents.images)
        self._contents: Contents = contents
        self._members = frozenset(self.names)

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(self._contents.splits)

    def split(self, name: str) -> DatasetFolder:
        """Part of the dataset that a split names, in its order."""
        path = self._contents.splits.get(name)
        if path is None:
            raise DatasetError(self.path / SPLITS, None, f"no split {name!r}", suggest(name, self.splits))
        names, problems = read_split(path, ImageNames(self._contents.images))
        if problems:
            raise first_of(problems)
        return self.select(one for one in names if one in self._members)

    def select(self, names: Iterable[str]) -> DatasetFolder:
        """Part of the dataset with these images, in this order."""
        part = copy.copy(self)
        part.names = tuple(map(self._find, names))
        part._members = frozenset(part.names)
        return part

    def __getitem__(self, name: str) -> Sample:
        return self._sample(self._find(name))

    def __iter__(self) -> Iterator[Sample]:
        return map(self._sample, self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __repr__(self) -> str:
        return f"DatasetFolder({str(self.path)!r}: {len(self)} images, {len(self.classes)} classes)"

    def _repr_html_(self) -> str:
        return dataset_html(self)

    def _find(self, name: str) -> str:
        wrong: list[Problem] = []
        found = ImageNames(self.names).find(name, wrong) if name not in self._members else name
        if wrong:
            raise KeyError("; ".join(wrong[0]))
        return found

    def _sample(self, name: str) -> Sample:
        contents = self._contents
        tags = (label for _, label in contents.tags.get(name, ()))
        return Sample(
            name=name,
            path=contents.images[name],
            folder=self.path,
            n_classes=len(self.classes),
            mask_path=contents.masks.get(name),
            instances_path=contents.instances.get(name),
            tags=tuple(dict.fromkeys(tags)),
            box_rows=tuple(contents.boxes.get(name, ())),
            seed_rows=tuple(contents.seeds.get(name, ())),
        )


def training_part(dataset: DatasetFolder) -> DatasetFolder:
    """Return the images that are learned from if nobody says otherwise: the split train, or all."""
    return dataset.split("train") if "train" in dataset.splits else dataset


def raise_problem(path: Path, row: int | None, problem: Problem | None) -> None:
    """Raise if there is a problem."""
    if problem:
        raise DatasetError(path, row, *problem)


def first_of(problems: list[DatasetError]) -> DatasetError:
    """Return the first problem, as an error that tells how many there are."""
    first = problems[0]
    if len(problems) == 1:
        return first
    fix = f"{first.fix} (and {len(problems) - 1} more problems: 'multiutility validate' lists them all)"
    return DatasetError(first.path, first.row, first.what, fix)
