"""Annotations of a dataset folder, read and written image by image, with versions."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.contents import CLASSES, FILES, FOLDERS, IMAGES, SPLITS
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.images import read_mask, write_mask
from multiutility.kinds import TABLES
from multiutility.kinds.mask import FOLDER as MASKS
from multiutility.kinds.mask import mask_problem
from multiutility.kinds.problems import size_problem
from multiutility.studio.class_rows import append_class, class_of
from multiutility.studio.marks import marks_from_json, marks_to_json
from multiutility.studio.table_rows import write_rows

Mask: TypeAlias = NDArray[np.uint8]
Stamp: TypeAlias = tuple[int, int, int]

WATCHED = (CLASSES, *FILES, IMAGES, *FOLDERS, SPLITS)
NO_MASK = "none"


class StaleWriteError(Exception):
    """A write that began from a state that is no more; nothing was written."""


class UnknownImageError(LookupError):
    """There is no image of this name in the dataset."""


@dataclass(frozen=True)
class MaskState:
    """Version of an image's mask, and the labels in it."""

    version: str = NO_MASK
    labels: frozenset[int] = frozenset()


class Annotations:
    """What is annotated in a dataset folder, always as its files have it, whoever wrote them.

    Each image has a version of its marks (entries of tables) and one of its mask, which are hashes of the
    content. Who writes names the version that the change began from: if it is not the current one, nothing
    is written and ``StaleWriteError`` is raised. A write that returns is in the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._stamps: tuple[Stamp | None, ...] = ()
        self._dataset: DatasetFolder | None = None
        self._masks: dict[Path, tuple[Stamp, MaskState]] = {}

    def dataset(self) -> DatasetFolder:
        """Return the dataset as it is now; raises ``DatasetError`` if somebody broke a table."""
        with self._lock:
            stamps = tuple(stamp(self.folder / name) for name in WATCHED)
            if self._dataset is None or stamps != self._stamps:
                self._dataset = DatasetFolder(self.folder)
                self._stamps = stamps
            return self._dataset

    def sample(self, name: str) -> Sample:
        """Return an image of the dataset; no path is ever made of a name that is not in its list."""
        dataset = self.dataset()
        if name not in dataset:
            raise UnknownImageError(name)
        return dataset[name]

    def add_class(self, data: Any) -> None:
        """Add a class, below all others."""
        with self._lock:
            append_class(self.folder / CLASSES, class_of(data, self.dataset().classes))

    def marks(self, name: str) -> dict[str, Any]:
        """Return the marks of an image as JSON, with their version."""
        return marks_to_json(self.sample(name).marks, self.dataset().classes)

    def write_marks(self, name: str, data: Any, version: str) -> dict[str, Any]:
        """Make these the marks of an image."""
        with self._lock:
            dataset, old = self.dataset(), self.sample(name).marks
            if marks_to_json(old, dataset.classes)["version"] != version:
                raise StaleWriteError
            new = marks_from_json(data, dataset.classes, dataset[name].size())
            for kind, table in TABLES.items():
                entries = getattr(new, kind)
                if entries != getattr(old, kind):
                    write_rows(table, self.folder, name, entries, dataset.names, dataset.classes)
            return self.marks(name)

    def mask(self, name: str) -> tuple[Mask | None, str]:
        """Return the mask of an image, if there is one, and its version."""
        with self._lock:
            return self.sample(name).mask(), self.mask_state(name).version

    def mask_state(self, name: str) -> MaskState:
        """Return version and labels of a mask; it is read only if it has changed."""
        path = self.sample(name).mask_path
        if path is None:
            return MaskState()
        now, known = stamp(path), self._masks.get(path)
        if now is None:
            return MaskState()
        if known is None or known[0] != now:
            mask = read_mask(path)
            labels = frozenset(int(value) - 1 for value in np.unique(mask) if value)
            known = now, MaskState(content_hash(mask), labels)
            self._masks[path] = known
        return known[1]

    def known_labels(self, sample: Sample) -> frozenset[int] | None:
        """Return the labels of a mask if that takes no reading, else None."""
        if sample.mask_path is None:
            return frozenset()
        known = self._masks.get(sample.mask_path)
        return None if known is None or known[0] != stamp(sample.mask_path) else known[1].labels

    def write_mask(self, name: str, mask: Mask, version: str) -> str:
        """Make this the mask of an image, and return its version; one that is void all over is removed."""
        with self._lock:
            sample, classes = self.sample(name), self.dataset().classes
            if self.mask_state(name).version != version:
                raise StaleWriteError
            problem = size_problem(mask, *sample.size()) or mask_problem(mask, len(classes))
            if problem:
                raise ValueError("; ".join(problem))
            path = sample.mask_path or self.folder / MASKS / f"{name}.png"
            if mask.any():
                path.parent.mkdir(exist_ok=True)
                write_mask(path, mask, classes.palette)
            else:
                path.unlink(missing_ok=True)
            return self.mask_state(name).version


def stamp(path: Path) -> Stamp | None:
    """Return what changes when a file does; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def content_hash(mask: Mask) -> str:
    """Version of a mask."""
    return hashlib.sha256(repr(mask.shape).encode() + mask.tobytes()).hexdigest()[:20]
