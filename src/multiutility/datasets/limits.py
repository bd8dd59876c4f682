"""Limits of names and counts, the same at every door: tables, files of other programs, the studio, Python."""

from __future__ import annotations

import csv
from pathlib import Path

from multiutility.datasets.errors import DatasetError

# Masks have 8 bits, and 0 is void.
from multiutility.kinds.problems import Problem, shown

# Masks have 8 bits, and 0 is void.
MAX_CLASSES = 255
# Characters of the name of a class: it is drawn on pictures, and is a field of tables.
MAX_CLASS_NAME = 200
# Of the name of an image in UTF-8; file systems allow 255, with the extension.
MAX_NAME_BYTES = 200
# Maps of objects have 16 bits, and 0 is none.
MAX_OBJECTS = 65_535


def class_name_problem(name: str) -> Problem | None:
    """Return why a class cannot be called so.

    >>> class_name_problem("tree top"), class_name_problem("x" * 300)[1]
    (None, 'use at most 200 characters')
    """
    if not name or name != name.strip() or not name.isprintable():
        fix = "use printable characters, and no spaces at the ends"
        return f"bad class name {shown(name)}", fix
    if len(name) > MAX_CLASS_NAME:
        what = f"the class name {shown(name)} has {len(name):,} characters"
        return what, f"use at most {MAX_CLASS_NAME} characters"
    return None


def file_name_problem(name: str) -> Problem | None:
    """Return why an image, or a split, cannot be called so: its file would not be in the folder, and seen.

    >>> file_name_problem("IMG 2071"), file_name_problem("../x")[0]
    (None, "bad name '../x'")
    """
    if not name.isprintable() or name != name.strip() or name[:1] in {"", "."} or {"/", "\\"} & set(name):
        fix = "use printable characters but / and \\, no dot in front, and no spaces at the ends"
        return f"bad name {shown(name)}", fix
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"long name {shown(name)}", f"use at most {MAX_NAME_BYTES} bytes"
    return None


def objects_problem(highest: int) -> Problem | None:
    """Return why objects cannot have ids up to this one.

    >>> objects_problem(65_535), objects_problem(65_536)[0]
    (None, 'there are 65,536 objects in the image, or ids up to that')
    """
    if highest > MAX_OBJECTS:
        what = f"there are {highest:,} objects in the image, or ids up to that"
        return what, f"maps of objects have room for {MAX_OBJECTS:,}: cut the image up, or draw them as stuff"
    return None


def csv_problem(path: Path, row: int, error: csv.Error) -> DatasetError:
    """Return what is wrong with a table that cannot be taken apart from a row on."""
    if "field limit" in str(error):
        what = f"a field has more than {csv.field_size_limit():,} characters"
        return DatasetError(path, row, what, "shorten it; or if none is so long, check quotes from here on")
    return DatasetError(path, row, f"bad CSV: {error}", "check quotes from here on")
