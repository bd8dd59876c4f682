"""The dataset folder: images with any mix of annotations."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes, suggest
from multiutility.datasets.contents import SPLITS, Contents, Entry, ImageNames, read_contents, read_split
from multiutility.datasets.display import dataset_html
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import image_size, read_image, read_instances, read_mask
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.kinds import INDEX_IMAGES, KINDS, TABLES, PixelAnnotation
from multiutility.kinds.mask import MASK
from multiutility.kinds.problems import Problem, size_problem

__all__ = ["DatasetError", "DatasetFolder", "NewSample", "Sample", "write_dataset"]


@dataclass(frozen=True)
class Sample:
    """An image of a dataset folder, with what is annotated; images and masks are read when asked for.

    ``files`` are its index images and ``rows`` its entries of tables, with their rows for errors, by kind of
    annotation.
    """

    name: str
    path: Path
    folder: Path
    n_classes: int
    files: Mapping[str, Path] = field(default_factory=dict)
    instances_path: Path | None = None
    rows: Mapping[str, tuple[Entry[Any], ...]] = field(default_factory=dict)

    def image(self) -> NDArray[np.uint8]:
        """Image in RGB, uint8 [H, W, 3]."""
        return read_image(self.path)

    def size(self) -> tuple[int, int]:
        """Height and width of the image."""
        return image_size(self.path)

    @property
    def mask_path(self) -> Path | None:
        """File of the mask, if there is one."""
        return self.files.get(MASK.name)

    def mask(self) -> NDArray[np.uint8] | None:
        """Mask uint8 [H, W] that holds 0 for void and label + 1, if there is one."""
        return self.indices(MASK.name)

    def indices(self, kind: str) -> NDArray[np.uint8] | None:
        """Index image uint8 [H, W] of a kind of annotation, if there is one."""
        path = self.files.get(kind)
        if path is None:
            return None
        indices = read_mask(path)
        problem = size_problem(indices, *self.size())
        raise_problem(path, None, problem or INDEX_IMAGES[kind].problem(indices, self.n_classes))
        return indices

    def instances(self) -> NDArray[np.int32] | None:
        """Ids of objects int32 [H, W], 0 for none, if there is such a map."""
        if self.instances_path is None:
            return None
        instances = read_instances(self.instances_path)
        raise_problem(self.instances_path, None, size_problem(instances, *self.size()))
        return instances

    @property
    def marks(self) -> PixelAnnotation:
        """What the tables say, which need not fit the image; nothing is read."""
        return PixelAnnotation(**self._marks())

    def weak(self) -> PixelAnnotation:
        """What there is besides the mask; index images of other kinds are read."""
        others = (kind for kind in INDEX_IMAGES if kind != MASK.name)
        pixels: dict[str, Any] = {kind: self.indices(kind) for kind in others}
        return PixelAnnotation(**pixels, **self._marks())

    def annotation(self) -> PixelAnnotation:
        """All that is annotated; boxes may reach beyond the image, but have pixels in it."""
        if any(kind.placed and kind.name in self.rows for kind in KINDS):
            height, width = self.size()
            for kind, rows in self.rows.items():
                table = TABLES[kind]
                for row, entry in rows:
                    raise_problem(self.folder / table.file, row, table.problem(entry, height, width))
        pixels: dict[str, Any] = {kind: self.indices(kind) for kind in INDEX_IMAGES}
        return PixelAnnotation(**pixels, **self._marks(), instances=self.instances())

    @property
    def kinds(self) -> frozenset[str]:
        """Which kinds of annotation there are, by name."""
        return frozenset((*self.files, *self.rows))

    def _marks(self) -> dict[str, Any]:
        return {kind: TABLES[kind].value([entry for _, entry in rows]) for kind, rows in self.rows.items()}


class DatasetFolder:
    """A dataset folder, or a part of it: a collection of samples, in the order of ``names``.

    Tables are read at once, images and masks when asked for. Raises ``DatasetError`` for the first thing
    that is wrong; ``validate`` finds all. A ``lenient`` one is of any folder of pictures: there need be no
    classes, and what tables say of images that are not there is left out. Layout::

        classes.csv          name,color,kind,rare
        images/NAME.jpg      or png, bmp, tif, webp; if there are none, images directly in the folder
        masks/NAME.png       8-bit indices: 0 void, k the k-th row of classes.csv
        instances/NAME.png   ids of objects, 0 for none
        tags.csv             image,label                          all labels that are there; [,present]
        boxes.csv            image,label,left,top,right,bottom    right and bottom exclusive; [,tight]
        seeds.csv            image,label,x,y
        areas.csv            image,label,share                    0 to 1, or with a percent sign; [,tolerance]
        scribbles/NAME.png   as masks, but 0 says nothing: other annotations of the image count, too
        splits/NAME.txt      one image a line
    """

    def __init__(self, path: str | Path, *, lenient: bool = False) -> None:
        self.path = Path(path)
        contents = read_contents(self.path, lenient=lenient)
        if contents.classes is None or contents.problems:
            raise first_of(contents.problems)
        self.classes: Classes = contents.classes
        self.names = tuple(contents.images)
        self._contents: Contents = contents
        self._members = frozenset(self.names)
        self._lenient = lenient

    @property
    def missing(self) -> dict[str, Counter[str]]:
        """Images that are not there, of a lenient dataset, and how many rows of which files name them."""
        missing = {name: Counter(rows) for name, rows in self._contents.missing.items()}
        for path in self._contents.splits.values() if self._lenient else ():
            read_split(path, ImageNames(self._contents.images), missing)
        return dict(sorted(missing.items()))

    @property
    def unused(self) -> list[DatasetError]:
        """Files that are not used, and why."""
        return list(self._contents.strays)

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(self._contents.splits)

    def split(self, name: str) -> DatasetFolder:
        """Part of the dataset that a split names, in its order."""
        path = self._contents.splits.get(name)
        if path is None:
            raise DatasetError(self.path / SPLITS, None, f"no split {name!r}", suggest(name, self.splits))
        names, problems = read_split(path, ImageNames(self._contents.images), {} if self._lenient else None)
        if problems:
            raise first_of(problems)
        return self.select(one for one in names if one in self._members)

    def select(self, names: Iterable[str]) -> DatasetFolder:
        """Part of the dataset with these images, in this order."""
        part = copy.copy(self)
        part.names = tuple(map(self._find, names))
        part._members = frozenset(part.names)
        return part

    def changed(self, kind: str, change: Callable[[Any], Any]) -> DatasetFolder:
        """The same dataset, with each entry of the table of a kind replaced by what ``change`` makes of it.

        What is changed is only read so: files stay as they are.
        """
        old = self._contents.entries.get(kind, {})
        new = {name: [(row, change(entry)) for row, entry in rows] for name, rows in old.items()}
        other = copy.copy(self)
        other._contents = replace(self._contents, entries={**self._contents.entries, kind: new})
        return other

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
        return Sample(
            name=name,
            path=contents.images[name],
            folder=self.path,
            n_classes=len(self.classes),
            files={kind: files[name] for kind, files in contents.files.items() if name in files},
            instances_path=contents.instances.get(name),
            rows={kind: tuple(rows[name]) for kind, rows in contents.entries.items() if name in rows},
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
