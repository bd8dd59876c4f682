"""What was annotated in images that are gone: set aside, put back, or given to the image by its new name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from multiutility.datasets.accepted import FILE as ACCEPTED
from multiutility.datasets.accepted import accepted_images
from multiutility.datasets.contents import ASIDE, SPLITS, Contents, ImageNames, is_blank, read_contents
from multiutility.datasets.folder import first_of
from multiutility.datasets.sheets import Row, Sheet
from multiutility.datasets.tables import read_text
from multiutility.kinds import INDEX_IMAGES, TABLES
from multiutility.transactions import Change, changing


def set_aside(folder: Path, images: Collection[str], keep: Path | None = None) -> None:
    """Move what tables and splits say of images that are gone to the folder ``aside``, all at once."""
    contents = readable(folder)
    here = [name for name in images if name in contents.images]
    if here:
        raise ValueError(f"{here[0]!r} is there: only what is said of images that are gone is set aside")
    about = f"annotations of {told(images)} set aside"
    with changing(folder, keep, about) as change:
        move_rows(folder, contents, images, "", ASIDE, change)


def put_back(folder: Path, images: Collection[str], keep: Path | None = None) -> None:
    """Move what was said of images back from the folder ``aside``, all at once."""
    contents = readable(folder)
    taken = [name for name in images if any(name in entries for entries in contents.entries.values())]
    if taken:
        raise ValueError(
            f"{taken[0]!r} has been annotated anew: remove that first, or leave the old as it is"
        )
    with changing(folder, keep, f"annotations of {told(images)} put back") as change:
        move_rows(folder, contents, images, ASIDE, "", change)


def rename_image(folder: Path, old: str, new: str, keep: Path | None = None) -> None:
    """Let all that was said of an image that is gone be said of another one, which has nothing yet."""
    contents = readable(folder)
    taken = any(new in entries for entries in contents.entries.values())
    taken = taken or any(new in files for files in contents.files.values())
    if old in contents.images or new not in contents.images or taken:
        raise ValueError(f"{old!r} cannot be {new!r} now: that must be an image with nothing annotated")
    with changing(folder, keep, f"annotations of {old} are those of {new}") as change:
        for file in tables_and_splits(contents):
            path = folder / file
            if not is_blank(path):
                content = renamed(path, old, new)
                if content != path.read_bytes():
                    change.write(file, content)
        if {old, new} & accepted_images(folder):
            change.write(ACCEPTED, renamed(folder / ACCEPTED, old, new, only=True))
        parts = [*((one.folder, contents.files[kind]) for kind, one in INDEX_IMAGES.items())]
        for part, files in [*parts, ("instances", contents.instances)]:
            if old in files:
                change.write(f"{part}/{new}.png", files[old].read_bytes())
                change.remove(f"{part}/{files[old].name}")


def images_aside(folder: Path) -> dict[str, Counter[str]]:
    """Return the images whose annotations were set aside, with how many rows of which files there are."""
    found: dict[str, Counter[str]] = {}
    place, images = folder / ASIDE, ImageNames(())
    for table in TABLES.values():
        if not is_blank(place / table.file):
            sheet = read_sheet(place / table.file)
            for name in (images.find(sheet.fields(row)[0], []) for row in sheet.rows if any(row)):
                found.setdefault(name, Counter())[table.file] += 1
    for path in sorted((place / SPLITS).glob("*.txt")):
        for line in read_text(path).splitlines():
            found.setdefault(line.strip(), Counter())[f"{SPLITS}/{path.name}"] += 1
    return dict(sorted(found.items()))


def told(images: Collection[str]) -> str:
    """Return how images are named in a sentence."""
    return next(iter(images)) if len(images) == 1 else f"{len(images)} pictures"


def readable(folder: Path) -> Contents:
    """Return what is in a folder whose tables are right."""
    contents = read_contents(folder, lenient=True)
    if contents.problems:
        raise first_of(contents.problems)
    return contents


def tables_and_splits(contents: Contents) -> list[str]:
    """Return the files that name images, as seen from the folder."""
    return [
        *(table.file for table in TABLES.values()),
        *(f"{SPLITS}/{one.name}" for one in contents.splits.values()),
    ]


def read_sheet(path: Path) -> Sheet:
    """Return a table that has a column for images, whatever else it has."""
    return Sheet.read(path, ("image",))


def move_rows(
    folder: Path, contents: Contents, images: Collection[str], source: str, target: str, change: Change
) -> None:
    """Move rows of images from tables and splits in one place to those in another."""
    names, wanted = ImageNames(contents.images), set(images)
    files = [*(table.file for table in TABLES.values())]
    files += [f"{SPLITS}/{path.name}" for path in sorted((folder / source / SPLITS).glob("*.txt"))]
    for file in files:
        here, there = folder / source / file, folder / target / file
        if is_blank(here):
            continue
        read = read_lines if file.startswith(SPLITS) else read_sheet
        sheet = read(here)
        moved = [row for row in sheet.rows if any(row) and names.find(sheet.fields(row)[0], []) in wanted]
        if not moved:
            continue
        left = [row for row in sheet.rows if row not in moved]
        change.write(
            there.relative_to(folder).as_posix(),
            with_rows(None if is_blank(there) else read(there), sheet, moved),
        )
        if source and not left:
            change.remove(here.relative_to(folder).as_posix())
        else:
            change.write(here.relative_to(folder).as_posix(), content_of(sheet, left))


def read_lines(path: Path) -> Sheet:
    """Return a split as a table without a header."""
    text = read_text(path)
    return Sheet(
        [], [[line] for line in text.splitlines()], [0], "\r\n" if "\r\n" in text else "\n", marked=False
    )


def content_of(sheet: Sheet, rows: list[Row]) -> bytes:
    """Return what a table is with other rows, or a split."""
    if sheet.header:
        return sheet.content(rows)
    return "".join(row[0] + sheet.ending for row in rows if row).encode()


def with_rows(sheet: Sheet | None, source: Sheet, rows: list[Row]) -> bytes:
    """Return what a table, or a new one, is with rows of another one below; columns are found by name."""
    if sheet is None or not sheet.header:
        return content_of(sheet or source, [*(sheet.rows if sheet else ()), *rows])
    known = [name.strip().lower() for name in sheet.header]
    given = [name.strip().lower() for name in source.header]
    new = [name for name in given if name not in known]
    wider = replace(sheet, header=[*sheet.header, *new])
    known += new
    old = [[*row, *[""] * len(new)] if row else row for row in sheet.rows]
    laid = [[row[given.index(name)] if name in given else "" for name in known] for row in rows]
    return wider.content([*old, *laid])


def renamed(path: Path, old: str, new: str, only: bool = False) -> bytes:
    """Return what a table or split is if an image has another name.

    With ``only``, what it said of the new name until now goes: a mask that was there is no more.
    """
    sheet, names = read_lines(path) if path.parent.name == SPLITS else read_sheet(path), ImageNames(())
    rows = []
    for row in sheet.rows:
        image = names.find(sheet.fields(row)[0], []) if any(row) else None
        if image == old:
            rows.append(sheet.row((new,), row))
        elif image != new or not only:
            rows.append(row)
    return content_of(sheet, rows)
