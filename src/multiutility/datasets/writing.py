"""Dataset folders and their tables, written whole."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.class_table import write_classes
from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import CLASSES, FOLDERS, IMAGES, INSTANCES, PARTS, SPLITS
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import FORMATS, image_size, write_image, write_instances, write_mask
from multiutility.datasets.limits import file_name_problem, objects_problem
from multiutility.datasets.tables import write_table, write_text
from multiutility.files import filling, replacing
from multiutility.kinds import INDEX_IMAGES, TABLES, PixelAnnotation, Table
from multiutility.kinds.problems import Problem, size_problem
from multiutility.outputs import outputs_for

T = TypeVar("T")

# At a time.
COPIED_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class NewSample:
    """An image to write, from a file (kept as it is) or as uint8 [H, W, 3], with its annotation."""

    name: str
    image: Path | NDArray[np.uint8]
    annotation: PixelAnnotation = field(default_factory=PixelAnnotation)


def write_dataset(
    path: str | Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a dataset folder; if anything goes wrong, nothing is left behind.

    Image files are hard-linked where that is possible, and copied otherwise. Other files in the folder are
    kept, but it must not hold a dataset, unless a command made it that now makes it again, see ``Outputs``.
    Raises ``DatasetError`` for samples that could not be read again.
    """
    path = Path(path)
    replaced = earlier_parts(path)
    with filling(path, CLASSES, replaced) as folder:  # Without classes it is no dataset.
        write_parts(folder, path, classes, samples, splits or {})


def earlier_parts(path: Path) -> list[Path]:
    """Return what is there of a dataset that may be replaced; raise if there is one that may not."""
    if path.exists() and not path.is_dir():
        raise DatasetError(path, None, "is not a folder", "choose a new folder")
    found = [path / part for part in PARTS if os.path.lexists(path / part)]
    check_earlier(path, found, "there is a dataset already")
    return found


def check_earlier(path: Path, found: Sequence[Path], what: str) -> None:
    """Raise if there is something in a folder to write, unless the command that runs may replace it."""
    outputs = outputs_for(path)
    if found and outputs is None:
        raise DatasetError(path, None, what, "choose another folder, or remove it")
    if outputs is not None:
        outputs.check_all(found)


def write_parts(
    folder: Path,
    path: Path,
    classes: Classes,
    samples: Iterable[NewSample],
    splits: Mapping[str, Sequence[str]],
) -> None:
    """Write all files into an empty folder; errors speak of the path."""
    optional = (*FOLDERS, INSTANCES, SPLITS)
    for part in (IMAGES, *optional):
        (folder / part).mkdir()
    names: set[str] = set()
    entries: dict[str, dict[str, Sequence[Any]]] = {kind: {} for kind in TABLES}
    for given in samples:
        sample = replace(given, name=unicodedata.normalize("NFC", given.name))
        check_name(path / IMAGES, sample.name, names)
        check_sample(path / IMAGES, sample, classes)
        write_pixels(folder, sample, classes)
        names.add(sample.name)
        for kind, by_image in entries.items():
            by_image[sample.name] = getattr(sample.annotation, kind)
    for name, given_members in splits.items():
        members = [unicodedata.normalize("NFC", member) for member in given_members]
        check_split(path / SPLITS, name, members, names)
        write_split(folder / SPLITS / f"{name}.txt", members)
    for kind, table in TABLES.items():
        if any(entries[kind].values()):
            write_entries(folder / table.file, table, classes, entries[kind])
    for part in optional:
        if not os.listdir(folder / part):
            (folder / part).rmdir()
    write_classes(folder / CLASSES, classes)


def write_pixels(folder: Path, sample: NewSample, classes: Classes) -> None:
    """Write image, index images and map of objects of a sample."""
    write_sample_image(folder / IMAGES, sample)
    annotation = sample.annotation
    for kind, images in INDEX_IMAGES.items():
        indices = getattr(annotation, kind)
        if indices is not None:
            write_mask(folder / images.folder / f"{sample.name}.png", indices, classes.palette)
    if annotation.instances is not None:
        write_instances(folder / INSTANCES / f"{sample.name}.png", annotation.instances)


def write_sample_image(folder: Path, sample: NewSample) -> None:
    """Link, copy or write the image of a sample."""
    if isinstance(sample.image, np.ndarray):
        write_image(folder / f"{sample.name}.png", sample.image)
        return
    source = sample.image.resolve()  # Links to symbolic links would be symbolic themselves.
    target = folder / f"{sample.name}{source.suffix.lower()}"
    try:
        os.link(source, target)
    except OSError:  # Another disk, or a file of another user.
        # Not by shutil.copyfile, which blames the source if the disk is full.
        with source.open("rb") as content, replacing(target) as file:
            shutil.copyfileobj(content, file, COPIED_BYTES)


def write_entries(path: Path, table: Table[T], classes: Classes, entries: Mapping[str, Sequence[T]]) -> None:
    """Write a table of annotations, given by image, at once; optional columns only if they are needed."""
    optional = table.written(entry for group in entries.values() for entry in group)
    rows = (
        (name, classes[table.label(entry)].name, *table.fields(entry, optional))
        for name, group in entries.items()
        for entry in group
    )
    write_table(path, (*table.header, *optional), rows)


def write_split(path: Path, names: Sequence[str]) -> None:
    """Write the list of images of a split, at once."""
    write_text(path, "".join(f"{name}\n" for name in names))


def check_name(folder: Path, name: str, taken: Collection[str]) -> None:
    """Raise unless a file of this name would be in the folder, seen, and new."""
    problem = file_name_problem(name)
    if problem:
        raise DatasetError(folder, None, *problem)
    if name in taken:
        raise DatasetError(folder, None, f"two images named {name!r}", "rename one of them")


def check_split(folder: Path, name: str, members: Sequence[str], names: Collection[str]) -> None:
    """Raise unless the split can be read again."""
    check_name(folder, name, ())
    for member in members:
        if member not in names:
            raise DatasetError(folder / f"{name}.txt", None, f"unknown image {member!r}", "write it, too")
    if len(set(members)) < len(members):
        raise DatasetError(folder / f"{name}.txt", None, "an image is there twice", "remove one of them")


def check_sample(folder: Path, sample: NewSample, classes: Classes) -> None:
    """Raise unless the sample can be read again."""
    if isinstance(sample.image, np.ndarray):
        file, size = folder / sample.name, sample.image.shape[:2]
    else:
        file, size = sample.image, image_size(sample.image)
        if file.suffix.lower() not in FORMATS:
            raise DatasetError(file, None, "is not named as an image", f"use one of {', '.join(FORMATS)}")
    problem = annotation_problem(sample.annotation, size[0], size[1], len(classes))
    if problem:
        raise DatasetError(file, None, *problem)


def annotation_problem(
    annotation: PixelAnnotation, height: int, width: int, n_classes: int
) -> Problem | None:
    """Return the first thing that is wrong with an annotation of an image."""
    labels = [table.label(entry) for kind, table in TABLES.items() for entry in getattr(annotation, kind)]
    unknown = [label for label in labels if not 0 <= label < n_classes]
    if unknown:
        return f"has label {unknown[0]}", f"labels must be in 0..{n_classes - 1}"
    problems = [
        table.problem(entry, height, width)
        for kind, table in TABLES.items()
        for entry in getattr(annotation, kind)
    ]
    problems += [table.conflict(getattr(annotation, kind)) for kind, table in TABLES.items()]
    for kind, images in INDEX_IMAGES.items():
        indices = getattr(annotation, kind)
        if indices is not None:
            problems += [size_problem(indices, height, width), images.problem(indices, n_classes)]
    if annotation.instances is not None:
        problems.append(size_problem(annotation.instances, height, width))
        problems.append(objects_problem(int(annotation.instances.max(initial=0))))
    return next(filter(None, problems), None)
