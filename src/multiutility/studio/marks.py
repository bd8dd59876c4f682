"""Entries of tables of one image as the page sends them: names of labels, and numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from multiutility.datasets.classes import Classes
from multiutility.datasets.writing import annotation_problem
from multiutility.kinds import TABLES, PixelAnnotation, Table
from multiutility.kinds.problems import Problem

T = TypeVar("T")


# Nobody draws more; without a limit, one request might fill the disk.
MAX_MARKS = 10_000


def marks_from_json(data: Any, classes: Classes, size: tuple[int, int]) -> PixelAnnotation:
    """Return what a page sent for an image [H, W]; raises ``ValueError`` for anything else."""
    fields = mapping(data, tuple(TABLES))
    values: dict[str, Any] = {}
    for kind, table in TABLES.items():
        entries = [entry_of(one, table, classes) for one in listed(fields[kind], kind)]
        values[kind] = table.value(entries)
    marks = PixelAnnotation(**values)
    problem = annotation_problem(marks, *size, len(classes))
    if problem:
        raise ValueError("; ".join(problem))
    return marks


def marks_to_json(marks: PixelAnnotation, classes: Classes) -> dict[str, Any]:
    """Return what a page gets, with the version."""
    content: dict[str, Any] = {
        kind: [entry_json(entry, table, classes) for entry in getattr(marks, kind)]
        for kind, table in TABLES.items()
    }
    # Of the content and not of a count: it also changes if somebody edits the table by hand.
    text = json.dumps(content, sort_keys=True).encode()
    return {"version": hashlib.sha256(text).hexdigest()[:20], **content}


def entry_of(data: Any, table: Table[T], classes: Classes) -> T:
    """Return an entry: the name of a label, or an object with that and numbers."""
    named = isinstance(data, str) and not table.columns
    fields = {"label": data} if named else mapping(data, ("label", *table.columns))
    label, wrong = label_of(fields["label"], classes), list[Problem]()
    numbers = [number_of(fields[column]) for column in table.columns]
    numbers += [
        number_of(fields[column]) if column in fields else blank for column, blank in table.optional.items()
    ]
    entry = table.make(label, numbers, wrong)
    if wrong:
        raise ValueError(wrong[0][0])
    return entry


def entry_json(entry: T, table: Table[T], classes: Classes) -> Any:
    """Return an entry as a page gets it."""
    name = classes[table.label(entry)].name
    columns = (*table.columns, *table.optional)
    pairs = zip(columns, table.values(entry), strict=True)
    numbers = {column: value for column, value in pairs if table.optional.get(column) != value}
    return {"label": name, **numbers} if numbers else name


def mapping(data: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """Return an object of JSON that has these keys."""
    if not isinstance(data, dict) or any(key not in data for key in keys):
        raise ValueError(f"expected an object with {', '.join(keys)}")
    return data


def listed(data: Any, what: str) -> list[Any]:
    """Return a list of JSON that is not too long."""
    if not isinstance(data, list) or len(data) > MAX_MARKS:
        raise ValueError(f"{what}: expected a list of at most {MAX_MARKS}")
    return data


def label_of(name: Any, classes: Classes) -> int:
    """Return the label of a name."""
    if not isinstance(name, str) or name not in classes.names:
        raise ValueError(f"unknown label {name!r}")
    return classes.label(name)


def number_of(value: Any) -> float:
    """Return a finite number of JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)
