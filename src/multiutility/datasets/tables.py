"""Tables and lists in text files, written by people and spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.files import replacing
from multiutility.datasets.limits import csv_problem

# Number of a line, from 1, and its fields.
Row: TypeAlias = tuple[int, tuple[str, ...]]
NumberedT = TypeVar("NumberedT", bound=tuple[int, Any])

# What may be between the fields of a row, and what it is called. Spreadsheets write semicolons where commas
# are in numbers, and tabs if one copies from them.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}

# What spreadsheets take for a formula, even in quotes, and the same with our apostrophes in front.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

# About four million boxes, which take 2 GB of memory; more than that is a mistake, or meant to fill it.
MAX_BYTES = 128 * 2**20
MAX_ROWS = 4_000_000
# More than anybody reads; each takes more memory than the row that it is about.
MAX_PROBLEMS = 10_000


def read_text(path: Path) -> str:
    """Text of a file in UTF-8, with or without a byte order mark."""
    data = read_bytes(path, MAX_BYTES, "split the dataset")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(path, row, "is not text in UTF-8", "save the file as 'CSV UTF-8'") from None


def read_bytes(path: Path, limit: int, fix: str) -> bytes:
    """Bytes of a file; the fix is for one with more than the limit."""
    try:
        if not path.is_file():  # A pipe would wait forever.
            fix = "make it, put it there, or correct the name"
            raise DatasetError(path, None, "there is no such file", fix)
        with path.open("rb") as file:
            # No more than there is: memory for all that is asked for is taken at once.
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)
    except OSError as error:
        raise DatasetError(path, None, f"cannot be read: {error.strerror}", "allow reading it") from error
    if len(data) > limit:
        raise DatasetError(path, None, f"has more than {limit // 2**20} MB", fix)
    return data


def read_lines(path: Path) -> list[tuple[int, str]]:
    """Lines that are not blank, and their numbers, without spaces at their ends."""
    lines = enumerate(map(str.strip, re.split("\r\n|\r|\n", read_text(path))), start=1)
    return [(number, line) for number, line in lines if line]


def read_table(
    path: Path,
    columns: Sequence[str],
    optional: Sequence[str],
    problems: list[DatasetError],
    headless: Collection[str] | None = None,
) -> Iterator[Row]:
    """Rows of a CSV file with the fields of these columns, in this order; adds what is wrong to the problems.

    Columns are found by name; others are ignored, and optional ones that are missing are empty. Fields are
    separated as those of the first row are: by commas, semicolons or tabs. A table may be ``headless``: if no
    column is named in its first row, nor anything of these words, that is a row like the others.
    """
    try:
        text = read_text(path)
    except DatasetError as error:
        problems.append(error)
        return
    separator = find_separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        first = next(reader, [])
        bare = headless is not None and is_headless(first, columns, optional, headless)
        header = header_of(first, (*columns, *optional) if bare else ())
        wrong = header_problems(path, header, columns, optional)
        problems += wrong
        if not wrong:
            places = [header.index(name) if name in header else None for name in (*columns, *optional)]
            rows = ((reader.line_num, fields) for fields in reader)
            lines = limited(path, chain([(1, first)], rows) if bare else rows, problems)
            yield from pick(path, lines, len(header), places, separator, problems)
    except csv.Error as error:
        problems.append(csv_problem(path, reader.line_num, error))


def is_headless(
    first: Sequence[str], columns: Sequence[str], optional: Sequence[str], words: Collection[str]
) -> bool:
    """Whether the first row of a table is no header: it names no column, and has a field for each needed one.

    >>> is_headless(["grass", "#00ff00"], ["name"], ["color"], ["label"])
    True
    >>> is_headless(["Label"], ["name"], ["color"], ["label"])
    False
    """
    known = [name.strip().lower() for name in first]
    named = any(name in (*columns, *optional, *words) for name in known)
    return any(known) and not named and len(columns) <= len(known) <= len(columns) + len(optional)


def header_of(first: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names of columns: these, as many as there are fields, or what the first row has.

    >>> header_of(["Name ", "color"], ()), header_of(["sky"], ["name", "color"])
    (['name', 'color'], ['name'])
    """
    return [*names[: len(first)]] if names else [name.strip().lower() for name in first]


def limited(path: Path, rows: Iterable[NumberedT], problems: list[DatasetError]) -> Iterator[NumberedT]:
    """Rows, with their numbers in front, until there are too many of them, or of their problems."""
    before = len(problems)
    for count, row in enumerate(rows):
        if count == MAX_ROWS:
            problems.append(
                DatasetError(
                    path, row[0], f"is beyond {MAX_ROWS:,} rows, the most there may be", "split the dataset"
                )
            )
            return
        if len(problems) - before >= MAX_PROBLEMS:
            fix = "mend those above, and see what is left"
            problems.append(DatasetError(path, row[0], f"comes after {MAX_PROBLEMS:,} problems", fix))
            return
        yield row


def find_separator(text: str) -> str:
    """What separates the fields of a table: the first mark of its first row that may.

    >>> find_separator("image;label"), find_separator("name")
    (';', ',')
    """
    first = re.split("\r|\n", text, maxsplit=1)[0]
    return next((mark for mark in first if mark in SEPARATORS), ",")


def pick(
    path: Path,
    lines: Iterable[tuple[int, list[str]]],
    width: int,
    places: Sequence[int | None],
    separator: str,
    problems: list[DatasetError],
) -> Iterator[Row]:
    """Rows that are not blank, with the fields at these places."""
    for number, fields in lines:
        if len(fields) == width:
            picked = tuple("" if place is None else shown(fields[place].strip()) for place in places)
            if any(picked):
                yield number, picked
        elif any(map(str.strip, fields)):
            what = f"has {len(fields)} fields: the header has {width}"
            fix = f"put fields that contain {SEPARATORS[separator]} into double quotes"
            problems.append(DatasetError(path, number, what, fix))


def header_problems(
    path: Path, header: Sequence[str], columns: Sequence[str], optional: Sequence[str]
) -> list[DatasetError]:
    """Return what is wrong with the first row."""
    wanted = ",".join((*columns, *optional))
    fix = f"make the first row {wanted}"
    missing = [name for name in columns if name not in header]
    twice = [name for name in (*columns, *optional) if header.count(name) > 1]
    problems = []
    if missing:
        problems.append(DatasetError(path, 1, f"no column {', '.join(missing)}", fix))
    if twice:
        problems.append(DatasetError(path, 1, f"two columns {', '.join(twice)}", fix))
    return problems


def harmless(text: str) -> str:
    """Return a field that no spreadsheet takes for a formula, to be written; ``shown`` is its inverse.

    >>> [harmless(text) for text in ("=1+1", "@cow", "-background", "-1.5", "cow", "'=1")]
    ["'=1+1", "'@cow", "'-background", '-1.5', 'cow', "''=1"]
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def shown(field: str) -> str:
    """Return the text of a field that ``harmless`` made, or that a person wrote.

    >>> shown("'=1+1"), shown("''=1"), shown("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return field[1:] if field.startswith("'") and FORMULA.match(field) else field


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file, at once, with all fields ``harmless``: names may be those of a stranger."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([harmless(field) for field in row] for row in rows)
    write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, at once."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
