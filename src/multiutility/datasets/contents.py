"""What is in a dataset folder, by its tables and file names; images and masks are not opened."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from multiutility.datasets.class_table import read_classes
from multiutility.datasets.classes import Classes, suggest
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import FORMATS
from multiutility.datasets.limits import file_name_problem
from multiutility.datasets.tables import limited, read_lines, read_table
from multiutility.kinds import INDEX_IMAGES, TABLES, Table
from multiutility.kinds.problems import Problem, shown
from multiutility.transactions import settle

T = TypeVar("T")
# An annotation, and the row that it is in; and those of all images.
Entry: TypeAlias = tuple[int, T]
Entries: TypeAlias = dict[str, list[Entry[T]]]

CLASSES, IMAGES, INSTANCES, SPLITS = "classes.csv", "images", "instances", "splits"
# Where annotations are.
FOLDERS = tuple(one.folder for one in INDEX_IMAGES.values())
FILES = tuple(one.file for one in TABLES.values())
# Tables of what was annotated in images that are gone.
ASIDE = "aside"
# All that a dataset is made of; without classes it is none.
PARTS = (IMAGES, *FOLDERS, INSTANCES, SPLITS, *FILES, CLASSES)

# A name is compared with all others to find the nearest: help for a few slips, not for a wrong column.
MAX_SUGGESTIONS = 20
# Made by programs that show folders.
JUNK = frozenset({"thumbs.db", "desktop.ini"})


@dataclass
class Contents:
    """All that tables and file names tell, by image, with what must be mended before it can be used.

    ``files`` are index images, and ``entries`` those of tables, both by kind of annotation. ``strays`` are
    files that are not used, which does no harm. ``missing`` are images that are not there, with how many rows
    of which tables name them, if these are not problems.
    """

    classes: Classes | None
    images: dict[str, Path] = field(default_factory=dict)
    files: dict[str, dict[str, Path]] = field(default_factory=dict)
    instances: dict[str, Path] = field(default_factory=dict)
    splits: dict[str, Path] = field(default_factory=dict)
    entries: dict[str, Entries[Any]] = field(default_factory=dict)
    problems: list[DatasetError] = field(default_factory=list)
    strays: list[DatasetError] = field(default_factory=list)
    missing: dict[str, Counter[str]] = field(default_factory=dict)


def read_contents(folder: Path, *, lenient: bool = False) -> Contents:
    """Read a dataset folder; raises nothing of what is wrong in it, but collects all problems.

    Images are in ``images``, or if there are none, directly in the folder. A ``lenient`` reader takes any
    folder of pictures: there need be no classes, files that cannot be images of the dataset are strays, and
    rows of images that are not there are left out.
    """
    if not folder.is_dir():
        missing = DatasetError(folder, None, "there is no such folder", "correct the path")
        return Contents(None, problems=[missing])
    home = Enclosed(folder)
    linked = [error for part in PARTS if (error := home.problem(folder / part))]
    if linked:
        return Contents(None, problems=linked)
    settle(folder)
    blank = lenient and is_blank(folder / CLASSES)
    classes, problems = (Classes.none(), []) if blank else read_classes(folder / CLASSES)
    strays: list[DatasetError] = []
    unfit = strays if lenient else problems
    images = list_files(home, IMAGES, tuple(FORMATS), unfit, strays)
    images = images or list_paths(home, "", root_images(folder), tuple(FORMATS), unfit, strays)
    files = {
        kind: list_files(home, one.folder, (".png",), problems, strays) for kind, one in INDEX_IMAGES.items()
    }
    instances = list_files(home, INSTANCES, (".png",), problems, strays)
    splits = list_files(home, SPLITS, (".txt",), problems, strays)
    if not images:
        fix = f"put images there, or directly into {folder.name or folder}"
        problems.append(DatasetError(folder / IMAGES, None, "there are no images", fix))
    for name, path in chain.from_iterable(one.items() for one in (*files.values(), instances)):
        if name not in images:
            strays.append(DatasetError(path, None, "there is no image of this name", "rename or remove it"))
    names, labels = ImageNames(images), Labels(classes)
    lost: dict[str, Counter[str]] = {}
    entries = {
        kind: read_entries(folder / table.file, table, names, labels, problems, lost if lenient else None)
        for kind, table in TABLES.items()
    }
    return Contents(classes, images, files, instances, splits, entries, problems, strays, lost)


def is_blank(path: Path) -> bool:
    """Whether there is no such file, or nothing in it."""
    return not os.path.lexists(path) or (path.is_file() and not path.stat().st_size)


def list_files(
    home: Enclosed,
    part: str,
    suffixes: Sequence[str],
    problems: list[DatasetError],
    strays: list[DatasetError],
) -> dict[str, Path]:
    """Files of a part of a dataset by name, without extension; sorted."""
    return list_paths(home, part, visible(home.root / part), suffixes, problems, strays)


def list_paths(
    home: Enclosed,
    part: str,
    paths: Iterable[Path],
    suffixes: Sequence[str],
    problems: list[DatasetError],
    strays: list[DatasetError],
) -> dict[str, Path]:
    """Those of these files that are a part of a dataset, by name, without extension; sorted."""
    files: dict[str, Path] = {}
    for path in paths:
        name = unicodedata.normalize("NFC", path.stem)
        if path.suffix.lower() not in suffixes:
            fix = f"only files that end in {', '.join(suffixes)} are, directly in {part}"
            strays.append(DatasetError(path, None, "is not used", fix))
        elif wrong := file_name_problem(name):
            problems.append(DatasetError(path, None, wrong[0], f"rename it: {wrong[1]}"))
        elif linked := home.problem(path):
            problems.append(linked)
        elif name in files:
            what = f"has the same name as {files[name].name}"
            problems.append(DatasetError(path, None, what, "rename or remove one of them"))
        else:
            files[name] = path
    return dict(sorted(files.items()))


def visible(folder: Path) -> list[Path]:
    """What is in a folder, if there is one, but for hidden files; sorted."""
    names = os.listdir(folder) if folder.is_dir() else []
    return [folder / name for name in sorted(names) if not name.startswith(".") and name.lower() not in JUNK]


class Suggestions:
    """What to write instead of unknown names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._fixes: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """Return the nearest names, for the first few that are asked for."""
        if name not in self._fixes and len(self._fixes) < MAX_SUGGESTIONS:
            self._fixes[name] = suggest(name, self._names)
        return self._fixes.get(name, "correct the name")


def root_images(folder: Path) -> list[Path]:
    """Images directly in a folder: those of a dataset that has none in ``images``."""
    return [path for path in visible(folder) if path.suffix.lower() in FORMATS and path.is_file()]


class ImageNames:
    """Finds images by names, with or without extension; paths are never made of what somebody wrote."""

    def __init__(self, images: Iterable[str]) -> None:
        self._names = frozenset(images)
        self._suggest = Suggestions(sorted(self._names))

    def find(self, text: str, wrong: list[Problem]) -> str:
        """Return the name of the image that is meant; if there is none, add a problem."""
        if text in self._names:
            return text
        name = unicodedata.normalize("NFC", text)
        stem, extension = os.path.splitext(name)
        if name not in self._names and extension.lower() in FORMATS:
            name = stem
        if name not in self._names:
            wrong.append(self.problem(name))
        return name

    def problem(self, name: str) -> Problem:
        """Return what to say about a name that is not known."""
        if not name:
            return "no image is named", "write the name of an image"
        if "/" in name or "\\" in name:
            return f"{shown(name)} is a path", f"write the name of a file in {IMAGES}, without folders"
        return f"unknown image {shown(name)}", self._suggest(name)


class Labels:
    """Finds labels by names; knows nothing, and finds nothing wrong, without classes."""

    def __init__(self, classes: Classes | None) -> None:
        names = () if classes is None else classes.names
        self._unknown = classes is None
        self._labels = {name: label for label, name in enumerate(names)}
        self._suggest = Suggestions(names)

    def find(self, name: str, wrong: list[Problem]) -> int:
        """Return the label; if there is none, add a problem."""
        if not self._unknown and name not in self._labels:
            wrong.append((f"unknown label {shown(name)}", self._suggest(name)))
        return self._labels.get(name, 0)


def read_entries(
    path: Path,
    table: Table[T],
    names: ImageNames,
    labels: Labels,
    problems: list[DatasetError],
    missing: dict[str, Counter[str]] | None = None,
) -> Entries[T]:
    """Annotations of a table, by image, unless there is no such table; all that is wrong adds to problems.

    If images may be ``missing``, their rows are counted there.
    """
    if not os.path.lexists(path):
        return {}
    entries: Entries[T] = {}
    for row, (image, label, *values) in read_table(path, table.header, tuple(table.optional), problems):
        wrong: list[Problem] = []
        name = names.find(image, wrong)
        if wrong and missing is not None and not file_name_problem(name):
            missing.setdefault(name, Counter())[path.name] += 1
            continue
        entry = table.parse(labels.find(label, wrong), values, wrong)
        problems += [DatasetError(path, row, what, fix) for what, fix in wrong]
        if not wrong:
            entries.setdefault(name, []).append((row, entry))
    for rows in entries.values():
        if clash := table.clash([entry for _, entry in rows]):
            place, (what, fix) = clash
            problems.append(DatasetError(path, rows[place][0], what, fix))
    return entries


def read_split(
    path: Path, names: ImageNames, missing: dict[str, Counter[str]] | None = None
) -> tuple[list[str], list[DatasetError]]:
    """Images of a split, in its order, and all that is wrong with it; see ``read_entries``."""
    try:
        lines = read_lines(path)
    except DatasetError as error:
        return [], [error]
    found: dict[str, int] = {}
    problems: list[DatasetError] = []
    for row, line in limited(path, lines, problems):
        wrong: list[Problem] = []
        name = names.find(line, wrong)
        if wrong and missing is not None and not file_name_problem(name):
            missing.setdefault(name, Counter())[f"{SPLITS}/{path.name}"] += 1
            continue
        if name in found:
            wrong.append((f"{name!r} is there twice, also in row {found[name]}", "remove one of them"))
        problems += [DatasetError(path, row, what, fix) for what, fix in wrong]
        if not wrong:
            found[name] = row
    return list(found), problems
