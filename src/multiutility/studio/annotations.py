"""Annotations of a dataset folder, read and written image by image, with versions."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from multiutility.datasets.class_changes import NewClass, change_classes
from multiutility.datasets.classes import LabelClass
from multiutility.datasets.contents import CLASSES, FILES, FOLDERS, IMAGES, SPLITS
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.images import write_mask
from multiutility.kinds import INDEX_IMAGES, TABLES
from multiutility.kinds.problems import size_problem
from multiutility.kinds.tags import Tag
from multiutility.studio.marks import marks_from_json, marks_to_json
from multiutility.studio.new_class import class_of
from multiutility.studio.pixel_states import Pixels, PixelState, PixelStates
from multiutility.studio.stamps import Stamp, stamp
from multiutility.studio.table_rows import write_rows

Tags: TypeAlias = tuple[Tag, ...]

# Images may be in the folder itself.
WATCHED = (CLASSES, *FILES, IMAGES, *FOLDERS, SPLITS, "")


class StaleWriteError(Exception):
    """A write that began from a state that is no more; nothing was written."""


class ChangedClassesError(Exception):
    """A write that was meant for other labels; nothing was written."""


class UnknownImageError(LookupError):
    """There is no image of this name in the dataset."""


def opened(folder: Path) -> DatasetFolder:
    """Return the dataset of any folder of pictures: what is missing is told in the page, and made there."""
    return DatasetFolder(folder, lenient=True)


def classes_version(classes: Iterable[LabelClass]) -> str:
    """Return what changes if labels do, by which index images and marks of the page are to be understood."""
    return hashlib.sha256(json.dumps([one.name for one in classes]).encode()).hexdigest()[:20]


class Annotations:
    """What is annotated in a dataset folder, always as its files have it, whoever wrote them.

    Each image has a version of its marks (entries of tables) and one of each of its index images, which are
    hashes of the content. Who writes names the version that the change began from: if it is not the current
    one, nothing is written and ``StaleWriteError`` is raised. A write that returns is in the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._stamps: tuple[Stamp | None, ...] = ()
        self._dataset: DatasetFolder | None = None
        self._pixels = PixelStates()

    def dataset(self) -> DatasetFolder:
        """Return the dataset as it is now; raises ``DatasetError`` if somebody broke a table."""
        with self._lock:
            stamps = tuple(stamp(self.folder / name) for name in WATCHED)
            if self._dataset is None or stamps != self._stamps:
                self._dataset = opened(self.folder)
                self._stamps = stamps
            return self._dataset

    def sample(self, name: str) -> Sample:
        """Return an image of the dataset; no path is ever made of a name that is not in its list."""
        dataset = self.dataset()
        if name not in dataset:
            raise UnknownImageError(name)
        return dataset[name]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody write as long as the block runs."""
        with self._lock:
            yield

    def add_class(self, data: Any, keep: Path | None = None) -> None:
        """Add a class, below all others; ``keep`` is where what was is kept, see ``change_classes``.

        Images that are annotated already say nothing of it, unless somebody has ``looked`` at all of them.
        """
        with self._lock:
            classes = self.dataset().classes
            new = class_of(data, classes)
            wanted = [*(NewClass(one, (one.name,)) for one in classes), NewClass(new)]
            looked, about = data.get("looked") is True, f"new label {new.name}"
            change_classes(self.folder, wanted, looked=looked, keep=keep, about=about)

    def check_classes(self, version: str) -> None:
        """Raise if a page means other labels than there are now; more may have been added below."""
        classes = self.dataset().classes
        if version and version not in {classes_version(classes[:n]) for n in range(len(classes) + 1)}:
            raise ChangedClassesError("labels were changed in another window, or in the table itself")

    def marks(self, name: str) -> dict[str, Any]:
        """Return the marks of an image as JSON, with their version."""
        return marks_to_json(self.sample(name).marks, self.dataset().classes)

    def write_marks(self, name: str, data: Any, version: str, classes: str = "") -> dict[str, Any]:
        """Make these the marks of an image."""
        with self._lock:
            self.check_classes(classes)
            dataset, old = self.dataset(), self.sample(name).marks
            if marks_to_json(old, dataset.classes)["version"] != version:
                raise StaleWriteError
            new = marks_from_json(data, dataset.classes, dataset[name].size())
            for kind, table in TABLES.items():
                entries = getattr(new, kind)
                if entries != getattr(old, kind):
                    write_rows(table, self.folder, name, entries, dataset.names, dataset.classes)
            return self.marks(name)

    def change_tags(self, changes: Mapping[str, Callable[[Tags], Tags]]) -> dict[str, tuple[Tags, Tags]]:
        """Change the tags of many images; what they were and are now, of those that are not the same."""
        with self._lock:
            dataset = self.dataset()
            changed = {}
            for sample in [self.sample(name) for name in changes]:
                old = tuple(sample.marks.tags)
                new = changes[sample.name](old)
                if new != old:
                    write_rows(TABLES["tags"], self.folder, sample.name, new, dataset.names, dataset.classes)
                    changed[sample.name] = old, new
            return changed

    def pixels(self, name: str, kind: str) -> tuple[Pixels | None, str]:
        """Return the index image of an image and a kind, if there is one, and its version."""
        with self._lock:
            return self.sample(name).indices(kind), self.pixel_state(name, kind).version

    def pixel_state(self, name: str, kind: str) -> PixelState:
        """Return what is in an index image; it is read only if it has changed."""
        return self._pixels.read(self.sample(name).files.get(kind), INDEX_IMAGES[kind])

    def known_pixels(self, sample: Sample, kind: str) -> PixelState | None:
        """Return what is in an index image if that takes no reading, else None."""
        return self._pixels.known(sample.files.get(kind))

    def write_pixels(self, name: str, kind: str, pixels: Pixels, version: str, labels: str = "") -> str:
        """Make this the index image of an image, and return its version; one of nothing but 0 is removed."""
        with self._lock:
            self.check_classes(labels)
            sample, classes, images = self.sample(name), self.dataset().classes, INDEX_IMAGES[kind]
            if self.pixel_state(name, kind).version != version:
                raise StaleWriteError
            problem = size_problem(pixels, *sample.size()) or images.problem(pixels, len(classes))
            if problem:
                raise ValueError("; ".join(problem))
            path = sample.files.get(kind) or self.folder / images.folder / f"{name}.png"
            if pixels.any():
                path.parent.mkdir(exist_ok=True)
                write_mask(path, pixels, classes.palette)
            else:
                path.unlink(missing_ok=True)
            return self.pixel_state(name, kind).version
