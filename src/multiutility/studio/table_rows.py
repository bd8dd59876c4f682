"""Rows of one image in a table, replaced; all else in the file stays as its owner wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import ImageNames, Labels
from multiutility.datasets.sheets import Row, Sheet
from multiutility.kinds import Table

T = TypeVar("T")


def write_rows(
    table: Table[T],
    folder: Path,
    name: str,
    entries: Sequence[T],
    images: Sequence[str],
    classes: Classes,
) -> None:
    """Make these the entries of an image; the file is replaced at once, and only if something changes.

    Rows that stay keep their place, and the fields of columns that are not ours. Optional columns are
    added only if an entry needs them.
    """
    path = folder / table.file
    if not path.exists() and not entries:
        return
    sheet = Sheet.read(path, table.header, table.written(entries), tuple(table.optional))
    rows = changed_rows(table, sheet, name, list(entries), ImageNames(images), classes)
    if rows != sheet.rows:
        sheet.write(path, rows)


def changed_rows(
    table: Table[T], sheet: Sheet, name: str, entries: list[T], names: ImageNames, classes: Classes
) -> list[Row]:
    """Return the rows with those of an image replaced by its new entries."""
    own = [n for n, row in enumerate(sheet.rows) if names.find(sheet.fields(row)[0], []) == name]
    labels = Labels(classes)
    spare: list[int] = []
    for n in own:
        _, label, *values = sheet.fields(sheet.rows[n])
        entry = table.parse(labels.find(label, []), values, [])
        if entry in entries:
            entries.remove(entry)
        else:
            spare.append(n)
    rows = list(sheet.rows)
    for entry in entries:
        fields = (name, classes[table.label(entry)].name, *table.fields(entry))
        # What was changed goes where it was; what is new, below the others of the image.
        if spare:
            n = spare.pop(0)
            fields = (sheet.fields(rows[n])[0], *fields[1:])
            rows[n] = sheet.row(fields, rows[n])
        else:
            place = own[-1] + 1 if own else len(rows)
            rows.insert(place, sheet.row(fields, [""] * len(sheet.header)))
            own = [*own, place]
    gone = set(spare)
    return [row for n, row in enumerate(rows) if n not in gone]
