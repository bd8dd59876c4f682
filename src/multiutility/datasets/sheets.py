"""CSV files of which some fields are changed, and all else stays as its owner wrote it."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from multiutility.datasets.files import replacing
from multiutility.datasets.limits import csv_problem
from multiutility.datasets.tables import (
    find_separator,
    harmless,
    header_of,
    header_problems,
    is_headless,
    read_text,
    shown,
)

Row: TypeAlias = list[str]
BOM = b"\xef\xbb\xbf"


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
        cls,
        path: Path,
        columns: Sequence[str],
        optional: Sequence[str] = (),
        known_too: Sequence[str] = (),
        headless: Collection[str] | None = None,
    ) -> Sheet:
        """Read a file; a table without rows if there is none. Optional columns that it lacks come last.

        Fields of all of ``known_too``, if there are any, follow those of the columns; columns of it that are
        not in the file stay out of it, unless they are among the optional ones. A ``headless`` table, see
        ``read_table``, gets a header.
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
        if headless is not None and is_headless(header, columns, asked, headless):
            header, rows = header_of(header, (*columns, *asked)), [header, *rows]
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
        with replacing(path) as file:
            file.write(self.content(rows))

    def content(self, rows: Sequence[Row]) -> bytes:
        """Return what the file is with other rows."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator=self.ending)
        writer.writerow(self.header)
        writer.writerows(rows)
        return (BOM if self.marked else b"") + text.getvalue().encode("utf-8")


def find_places(header: Sequence[str], names: Sequence[str]) -> list[int | None]:
    """Where columns are in a header; None for those that are not."""
    return [header.index(name) if name in header else None for name in names]
