"""Images that can be used, told from those that cannot before any work is done on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from multiutility.datasets.classes import Classes
from multiutility.datasets.errors import DatasetError, printable
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.formats.imported import Imported, Samples
from multiutility.datasets.images import read_image
from multiutility.datasets.writing import NewSample, check_sample

T = TypeVar("T")
# Raises a DatasetError unless the item can be used.
Check: TypeAlias = Callable[[T], object]
# Told how much of how much is done.
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Skipped:
    """An image that is left out, and why."""

    image: str
    why: str

    def to_dict(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"image": self.image, "why": self.why}


def check_all(items: Sequence[T], check: Check[T], n_jobs: int = 1, progress: Progress | None = None) -> None:
    """Raise the error of the first item that has one."""
    for error in errors_of(items, check, n_jobs, progress):
        if error is not None:
            raise error


def sound(
    items: Sequence[T],
    check: Check[T],
    name: Callable[[T], str],
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[list[T], list[Skipped]]:
    """Return the items that can be used, and those that cannot."""
    good, skipped = [], []
    for item, error in zip(items, errors_of(items, check, n_jobs, progress), strict=True):
        if error is None:
            good.append(item)
        else:
            skipped.append(Skipped(printable(name(item)), str(error)))
    return good, skipped


def errors_of(
    items: Sequence[T], check: Check[T], n_jobs: int, progress: Progress | None
) -> Iterator[DatasetError | None]:
    """Yield the error of each item, in order, or None; what has not begun is left if the caller stops."""
    pool = ThreadPoolExecutor(n_jobs)  # Decoders let other threads run.
    try:
        for done, error in enumerate(pool.map(partial(error_of, check), items), start=1):
            if progress is not None:
                progress(done, len(items))
            yield error
    finally:
        pool.shutdown(cancel_futures=True)


def error_of(check: Check[T], item: T) -> DatasetError | None:
    """Return the error of an item, or None."""
    try:
        check(item)
    except DatasetError as error:
        return error
    return None


def check_head(sample: Sample) -> None:
    """Raise unless the head of the image, and all annotations, are right; the image is not unpacked."""
    sample.size()
    sample.annotation()


def check_whole(sample: Sample) -> None:
    """Raise unless the image can be read, and all annotations are right."""
    sample.image()
    sample.annotation()


def sound_part(
    dataset: DatasetFolder, n_jobs: int = 1, progress: Progress | None = None
) -> tuple[DatasetFolder, list[Skipped]]:
    """Return the part of a dataset that can be used, and what is left out; all images and masks are read."""
    good, skipped = sound(list(dataset), check_whole, lambda sample: sample.name, n_jobs, progress)
    return dataset.select(sample.name for sample in good), skipped


def sound_import(imported: Imported, progress: Progress | None = None) -> tuple[Imported, list[Skipped]]:
    """Return the part of an import that can be used, and what is left out; all of it is read."""
    samples = imported.samples
    check = partial(check_new, samples, imported.classes)
    good, skipped = sound(range(len(samples)), check, lambda k: samples.names[k], progress=progress)
    names = [samples.names[k] for k in good]
    kept = frozenset(names)
    splits = {split: [name for name in members if name in kept] for split, members in imported.splits.items()}
    part = Samples(names, lambda k: samples.read(good[k]))
    return Imported(imported.classes, part, splits), skipped


def check_new(samples: Samples, classes: Classes, k: int) -> None:
    """Raise unless a sample can be read, and written to a dataset folder."""
    sample: NewSample = samples.read(k)
    if not isinstance(sample.image, np.ndarray):
        read_image(sample.image)
    check_sample(Path(), sample, classes)
