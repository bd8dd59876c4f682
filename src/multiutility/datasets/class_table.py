"""The table of classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from multiutility.datasets.classes import (
    KINDS,
    Classes,
    Kind,
    LabelClass,
    color_text,
    parse_color,
)
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.limits import MAX_CLASSES, class_name_problem
from multiutility.datasets.palette import Color, Colors
from multiutility.datasets.tables import read_table, write_table
from multiutility.kinds.problems import Problem, shown

T = TypeVar("T")

COLUMNS = ("name", "color", "kind", "rare")
# What people head a list of classes with by mistake; other first rows are classes.
HEADS = frozenset({"names", "class", "classes", "label", "labels", "category", "categories"})
# What may be written, and what it means.
KIND: dict[str, Kind] = {"": "stuff", **{kind: kind for kind in KINDS}}
RARE = {"": False, "0": False, "1": True}


def read_classes(path: Path) -> tuple[Classes | None, list[DatasetError]]:
    """Classes, and all that is wrong with their table; fields but the name may be empty or missing.

    A plain list of names, without a header, is a table, too.
    What is wrong is replaced, so that the labels of the others are known; None if there is no class.
    """
    problems: list[DatasetError] = []
    classes: dict[str, LabelClass] = {}
    colors = Colors()
    for row, fields in read_table(path, COLUMNS[:1], COLUMNS[1:], problems, HEADS):
        wrong: list[Problem] = []
        one = parse_class(fields, row, classes, colors, wrong)
        classes[one.name] = one
        problems += [DatasetError(path, row, what, fix) for what, fix in wrong]
    if len(classes) > MAX_CLASSES:
        what = f"{len(classes)} classes: masks have room for {MAX_CLASSES}"
        return None, [*problems, DatasetError(path, None, what, "join or remove some")]
    if not classes and not problems:
        problems.append(DatasetError(path, None, "there are no classes", "write one row for each class"))
    return (Classes(classes.values()) if classes else None), problems


def parse_class(
    fields: Sequence[str], row: int, taken: Collection[str], colors: Colors, wrong: list[Problem]
) -> LabelClass:
    """Class of a row; what is wrong with it is added to a list."""
    name, color, kind, rare = fields
    problem = class_name_problem(name)
    wrong += [problem] if problem else []
    if name in taken:
        wrong.append((f"class {shown(name)} is there twice", "rename or remove one of them"))
    kind_problem = f"bad kind {shown(kind)}", f"write one of {', '.join(KINDS)}"
    return LabelClass(
        f"class of row {row}" if wrong else name,
        read_color(color, name, colors if len(taken) < MAX_CLASSES else Colors(), wrong),
        choose(KIND, kind.lower(), "stuff", kind_problem, wrong),
        choose(RARE, rare, False, (f"bad value {shown(rare)} of rare", "write 0 or 1"), wrong),
    )


def read_color(text: str, name: str, colors: Colors, wrong: list[Problem]) -> Color:
    """Color of a text, or one that those above do not have."""
    try:
        chosen = parse_color(text) if text else None
    except ValueError as error:
        wrong.append((str(error), "write #rrggbb, such as #ff8000 for orange"))
        chosen = None
    if chosen is None:
        return colors.choose(name)
    colors.use(chosen)
    return chosen


def choose(values: Mapping[str, T], text: str, default: T, problem: Problem, wrong: list[Problem]) -> T:
    """Value of a text, or the default if it has none."""
    if text not in values:
        wrong.append(problem)
    return values.get(text, default)


def write_classes(path: Path, classes: Classes) -> None:
    """Write the table of classes, at once."""
    rows = [(one.name, color_text(one.color), one.kind, str(int(one.rare))) for one in classes]
    write_table(path, COLUMNS, rows)
