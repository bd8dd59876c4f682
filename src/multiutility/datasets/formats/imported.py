"""What a format gives: a dataset that is read sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.writing import NewSample

# What other programs call the split of images that are in none.
NO_SPLIT = "default"


@dataclass(frozen=True)
class Samples:
    """Samples that are read one by one, each time they are iterated over; their number is known before."""

    names: Sequence[str]
    read: Callable[[int], NewSample]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[NewSample]:
        return map(self.read, range(len(self.names)))


@dataclass(frozen=True)
class Imported:
    """A dataset of any origin: what ``write_dataset`` takes, and the writers of all formats."""

    classes: Classes
    samples: Samples
    splits: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def from_folder(cls, dataset: DatasetFolder) -> Imported:
        """Return a dataset folder, or a part of it, to be written in another format."""

        def read(k: int) -> NewSample:
            sample = dataset[dataset.names[k]]
            return NewSample(sample.name, sample.path, sample.annotation())

        splits = {name: dataset.split(name).names for name in dataset.splits}
        return cls(dataset.classes, Samples(dataset.names, read), {k: v for k, v in splits.items() if v})


def name_classes(file: Path, names: Iterable[str], things: Container[str]) -> Classes:
    """Classes of these names, things or stuff; what is wrong with them is an error of the file."""
    try:
        named = Classes.from_names(names)
        return Classes(
            LabelClass(one.name, one.color, "thing" if one.name in things else "stuff") for one in named
        )
    except ValueError as error:
        raise DatasetError(file, None, str(error), "rename, join or remove classes there") from None


def find_in_splits(splits: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Splits that each image in any is in.

    >>> find_in_splits({"train": ["a", "b"], "small": ["b"]})
    {'a': ['train'], 'b': ['train', 'small']}
    """
    found: dict[str, list[str]] = {}
    for split, names in splits.items():
        for name in names:
            found.setdefault(name, []).append(split)
    return found
