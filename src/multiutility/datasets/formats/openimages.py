"""Open Images: labels of whole images that people verified, as open tags.

Tables ``ImageID,Source,LabelName,Confidence`` say of some labels of an image that they are there (1), or are
not (0), and nothing of others. ``class-descriptions*.csv`` has the names of the labels, with or without a
header.
"""

from __future__ import annotations

import csv
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.imported import Imported, Samples, name_classes
from multiutility.datasets.formats.source import by_stem, image_files
from multiutility.datasets.limits import MAX_CLASSES, class_name_problem, csv_problem
from multiutility.datasets.tables import read_lines, read_table
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.problems import shown
from multiutility.kinds.tags import OpenTag

COLUMNS = ("imageid", "source", "labelname", "confidence")
# In the names of files, as published. Tables of boxes and of labels by machine are beside them.
LABELS, DESCRIPTIONS = "human-imagelabels", "class-descriptions"
# Guesses that nobody looked at.
MACHINE = "machine"
SPLITS = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}


@dataclass(frozen=True)
class Verified:
    """A row of a table: whether an image has a label."""

    file: Path
    row: int
    label: str
    present: bool


def read_openimages(source: str | Path, *, images: str | Path | None = None) -> Imported:
    """Read labels of images from one table, or from all ``*human-imagelabels*.csv`` of a folder.

    Images are named by their ids, and are in the folder of the tables or in ``images``; tables are of
    millions of images, and rows about those that are not there are passed over. Classes are the labels of
    the images that are there: with descriptions, by these names, and no others.
    """
    path = Path(source)
    home = Enclosed(path if path.is_dir() else path.parent)
    tables = label_tables(home, path)
    place = home if images is None else Enclosed(images)
    paths = by_stem(image_files(place, place.root, deep=True))
    described = read_descriptions(home)
    rows: dict[str, list[Verified]] = {name: [] for name in sorted(paths)}
    splits: dict[str, list[str]] = {}
    for table in tables:
        found = set()
        for name, verified in read_rows(table, paths):
            found.add(name)
            if described is None or verified.label in described:
                rows[name].append(verified)
        split = split_of(table)
        if split and found:
            splits[split] = sorted({*splits.get(split, []), *found})
    labels = sorted({one.label for listed in rows.values() for one in listed})
    if not labels:
        what = f"no row is about any of the {len(paths)} images in {place.root}"
        raise DatasetError(path, None, what, "put images there, named by ImageID, or give their folder")
    if len(labels) > MAX_CLASSES:
        what = f"the images have {len(labels):,} labels: there may be {MAX_CLASSES} classes"
        fix = f"in {DESCRIPTIONS}.csv beside the table, leave LabelName,DisplayName of those you want only"
        raise DatasetError(path, None, what, fix)
    classes = name_classes(path, [(described or {}).get(label, label) for label in labels], ())
    numbers = {label: k for k, label in enumerate(labels)}
    names = list(rows)

    def read(k: int) -> NewSample:
        tags = read_tags(rows[names[k]], numbers)
        return NewSample(names[k], paths[names[k]], PixelAnnotation(tags=tags))

    return Imported(classes, Samples(names, read), splits)


def label_tables(home: Enclosed, path: Path) -> list[Path]:
    """Return the table that is given, or those of a folder."""
    if not path.is_dir():
        return [path]
    found = [file for file in home.files(path, [".csv"]) if LABELS in file.name]
    if not found:
        what = f"there is no table *{LABELS}*.csv"
        raise DatasetError(path, None, what, "put it there, or give the table itself")
    return found


def split_of(table: Path) -> str | None:
    """Return the split that the name of a published table tells of.

    >>> split_of(Path("oidv7-val-annotations-human-imagelabels.csv"))
    'validation'
    """
    return next((SPLITS[part] for part in table.stem.split("-") if part in SPLITS), None)


def read_rows(table: Path, wanted: Container[str]) -> Iterator[tuple[str, Verified]]:
    """Rows of a table about images that are wanted, without those that nobody verified."""
    problems: list[DatasetError] = []
    for row, (name, source, label, confidence) in read_table(table, COLUMNS, (), problems):
        if name not in wanted or source.lower() == MACHINE:
            continue
        wrong = class_name_problem(label)
        if wrong:
            raise DatasetError(table, row, f"LabelName: {wrong[0]}", wrong[1])
        yield name, Verified(table, row, label, is_present(table, row, confidence))
    if problems:
        raise problems[0]


def is_present(table: Path, row: int, confidence: str) -> bool:
    """Whether people found a label: nothing between yes and no."""
    if confidence not in {"0", "1", "0.0", "1.0"}:
        fix = f"write 1 if the label is there, 0 if it is not, or {MACHINE} as Source to leave it out"
        raise DatasetError(table, row, f"Confidence is {shown(confidence)}: neither 1 nor 0", fix)
    return confidence[0] == "1"


def read_descriptions(home: Enclosed) -> dict[str, str] | None:
    """Names of labels, if there is a table of them; a header is a row like any other."""
    tables = [file for file in home.files(home.root, [".csv"]) if DESCRIPTIONS in file.name]
    if not tables:
        return None
    names: dict[str, str] = {}
    for table in tables:
        for row, line in read_lines(table):
            label, name = split_line(table, row, line)
            wrong = class_name_problem(name)
            if wrong:
                raise DatasetError(table, row, *wrong)
            names[label] = name
    return names


def split_line(table: Path, row: int, line: str) -> tuple[str, str]:
    """Label and name of a line of descriptions."""
    try:
        fields = next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise csv_problem(table, row, error) from None
    if len(fields) != 2:
        what = f"has {len(fields)} fields: expected LabelName,DisplayName"
        raise DatasetError(table, row, what, "put names that contain commas into double quotes")
    return fields[0].strip(), fields[1].strip()


def read_tags(rows: list[Verified], numbers: Mapping[str, int]) -> tuple[OpenTag, ...]:
    """Open tags of an image, each label once; people must not disagree."""
    first: dict[str, Verified] = {}
    for one in rows:
        before = first.setdefault(one.label, one)
        if before.present != one.present:
            what = f"{shown(one.label)} is {one.present:d}, and {before.present:d} in row {before.row}"
            where = "" if before.file == one.file else f" of {before.file.name}"
            raise DatasetError(one.file, one.row, what + where, "remove one of the rows, or both")
    return tuple(OpenTag(numbers[label], one.present) for label, one in first.items())
