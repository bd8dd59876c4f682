"""A new class of the page, as a row of the table of classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multiutility.datasets.class_table import COLUMNS, HEADS, write_classes
from multiutility.datasets.classes import KINDS, Classes, LabelClass, color_text, unused_color
from multiutility.datasets.contents import is_blank
from multiutility.datasets.sheets import Sheet
from multiutility.studio.marks import mapping


def class_of(data: Any, classes: Classes) -> LabelClass:
    """Return the class that a page sent, in a color that no other has; raises ``ValueError`` if it cannot be.

    >>> class_of({"name": "Sky", "kind": "stuff"}, Classes.from_names(["grass", "sky"]))
    Traceback (most recent call last):
    ValueError: there is a class 'sky' already
    """
    fields = mapping(data, ("name", "kind"))
    name, kind = fields["name"], fields["kind"]
    if not isinstance(name, str) or kind not in KINDS:
        raise ValueError(f"expected a name, and a kind that is one of {', '.join(KINDS)}")
    new = LabelClass(name.strip(), unused_color(classes), kind)
    # Nobody wants both, and in a list of labels they look alike.
    same = next((one for one in classes.names if one.casefold() == new.name.casefold()), None)
    if same is not None:
        raise ValueError(f"there is a class {same!r} already")
    return Classes((*classes, new))[len(classes)]


def append_class(path: Path, new: LabelClass) -> None:
    """Write a class below all others: masks hold numbers of rows. The rest of the file stays as it is."""
    if is_blank(path):
        write_classes(path, Classes([new]))
        return
    sheet = Sheet.read(path, COLUMNS[:1], COLUMNS[1:], headless=HEADS)
    fields = (new.name, color_text(new.color), new.kind, str(int(new.rare)))
    sheet.write(path, [*sheet.rows, sheet.row(fields, [""] * len(sheet.header))])
