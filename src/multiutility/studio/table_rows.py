"""Rows of one image in a table, replaced; all else in the file stays as its owner wrote it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import ImageNames, Labels
from multiutility.datasets.files import replacing
from multiutility.datasets.limits import csv_problem
from multiutility.datasets.tables import find_separator, harmless, header_problems, read_text, shown
from multiutility.kinds import Table

T = TypeVar("T")
Row: TypeAlias = list[str]
BOM = b"\xef\xbb\xbf"


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


@dataclass(frozen=True)
class Sheet:
    """The fields of a CSV file, all of them, and where those are that we read."""

    header: Row
    rows: list[Row]
    places: list[int | None]
    ending: str
    marked: bool
    separator: str = ","

    @classmethod
    def read(
        cls, path: Path, columns: Sequence[str], optional: Sequence[str] = (), known_too: Sequence[str] = ()
    ) -> Sheet:
        """Read a file; a table without rows if there is none. Optional columns that it lacks come last.

        Fields of all of ``known_too``, if there are any, follow those of the columns; columns of it that are
        not in the file stay out of it, unless they are among the optional ones.
        """
        asked = known_too or optional
        if not path.exists():
            header = [*columns, *optional] if known_too else list(columns)
            return cls(header, [], find_places(header, [*columns, *known_too]), "\n", marked=False)
        text = read_text(path)
        separator = find_separator(text)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            header, *rows = reader if text else [[]]
        except csv.Error as error:
            raise csv_problem(path, reader.line_num, error) from None
        known = [name.strip().lower() for name in header]
        problems = header_problems(path, known, columns, asked)
        if problems:
            raise problems[0]
        with path.open("rb") as file:
            marked = file.read(3) == BOM
        ending = "\r\n" if "\r\n" in text else "\n"
        new = [name for name in optional if name not in known]
        places = find_places([*known, *new], [*columns, *asked])
        longer = [row + [""] * len(new) if row else row for row in rows]
        return cls([*header, *new], longer, places, ending, marked, separator)

    def fields(self, row: Row) -> tuple[str, ...]:
        """Return the fields of our columns; empty ones of a row that is too short, as blank rows are."""
        return tuple(
            shown(row[place].strip()) if place is not None and place < len(row) else ""
            for place in self.places
        )

    def row(self, fields: Sequence[str], old: Row) -> Row:
        """Return a row with our fields replaced."""
        new = list(old)
        for place, text in zip(self.places, fields, strict=True):
            if place is not None:
                new[place] = harmless(text)
        return new

    def write(self, path: Path, rows: Sequence[Row]) -> None:
        """Write the file with other rows, at once."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator=self.ending)
        writer.writerow(self.header)
        writer.writerows(rows)
        with replacing(path) as file:
            file.write((BOM if self.marked else b"") + text.getvalue().encode("utf-8"))


def find_places(header: Sequence[str], names: Sequence[str]) -> list[int | None]:
    """Where columns are in a header; None for those that are not."""
    return [header.index(name) if name in header else None for name in names]
