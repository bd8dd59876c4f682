"""Classes renamed, merged, recolored, put into another order, deleted and added: in all files at once.

Tables have names of classes, and index images have numbers of rows: a change of classes changes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.class_table import COLUMNS, HEADS
from multiutility.datasets.classes import Classes, LabelClass, color_text
from multiutility.datasets.contents import (
    ASIDE,
    CLASSES,
    FILES,
    FOLDERS,
    Contents,
    ImageNames,
    Labels,
    is_blank,
    read_contents,
)
from multiutility.datasets.folder import first_of, raise_problem
from multiutility.datasets.images import read_mask, read_note, write_mask
from multiutility.datasets.sheets import Row, Sheet
from multiutility.kinds import INDEX_IMAGES, TABLES, Table
from multiutility.kinds.objects import labels_of
from multiutility.transactions import Change, changing

T = TypeVar("T")
# All that has names or numbers of classes: what is written after a change is by the new ones.
NAMING = (*FILES, *(f"{ASIDE}/{file}" for file in FILES), *(f"{folder}/*" for folder in FOLDERS))
# Rows of a table, each with its entry; None for one that is to be added.
Placed: TypeAlias = list[tuple[int | None, T]]


@dataclass(frozen=True)
class NewClass:
    """A class as it will be, and the names of those that it is made of: none if it is new."""

    one: LabelClass
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relabeling:
    """Classes before and after, and the new label of each old one, None if it is deleted.

    With ``unseen``, nobody has looked for new classes in images that are annotated already.
    """

    old: Classes
    new: Classes
    labels: tuple[int | None, ...]
    unseen: bool = False

    @classmethod
    def of(cls, old: Classes, wanted: Sequence[NewClass], looked: bool = False) -> Relabeling:
        """Return the change of classes to what is wanted; raises ``ValueError`` if it cannot be."""
        new = Classes(one.one for one in wanted)
        labels: list[int | None] = [None] * len(old)
        for label, one in enumerate(wanted):
            for name in one.of:
                if name not in old.names:
                    raise ValueError(f"there is no class {name!r} any more: somebody else has changed it")
                if labels[old.label(name)] is not None:
                    raise ValueError(f"class {name!r} would become two: name it once")
                labels[old.label(name)] = label
        return cls(old, new, tuple(labels), not looked and any(not one.of for one in wanted))

    @property
    def values(self) -> NDArray[np.uint8]:
        """Values of index images by the old ones, [256]."""
        table = np.zeros(256, dtype=np.uint8)
        for old, new in enumerate(self.labels):
            table[old + 1] = 0 if new is None else new + 1
        return table


def change_classes(
    folder: str | Path,
    wanted: Sequence[NewClass],
    *,
    looked: bool = False,
    keep: Path | None = None,
    about: str = "classes",
) -> tuple[str, ...]:
    """Make these the classes of a dataset folder, in all of its files at once; returns which were changed.

    Classes that no new one is made of are deleted, with what was annotated of them. Where one is made of
    several, they were the same under other names. Tags of images that were complete, and cannot be any
    more, are open then: those that named a deleted class, and those that were given before there was a new
    one, unless somebody has ``looked`` for it in all images. If anything goes wrong, nothing is changed;
    ``keep`` is where ``transactions.undo`` finds what was.
    """
    folder = Path(folder)
    contents = read_contents(folder, lenient=True)
    if contents.classes is None or contents.problems:
        raise first_of(contents.problems)
    change = Relabeling.of(contents.classes, wanted, looked)
    with changing(folder, keep, about, NAMING) as files:
        write_class_table(folder, wanted, change, files)
        write_tables(folder, contents, change, files)
        write_indices(folder, contents, change, files)
    return files.names


def write_class_table(folder: Path, wanted: Sequence[NewClass], change: Relabeling, files: Change) -> None:
    """Write the classes; columns that are not ours stay."""
    path = folder / CLASSES
    blank = is_blank(path)
    sheet = Sheet.read(folder / "none" if blank else path, COLUMNS[:1], COLUMNS[1:], COLUMNS[1:], HEADS)
    rows = [row for row in sheet.rows if any(sheet.fields(row))]
    new, stays = [], True
    for label, one in enumerate(wanted):
        base = rows[change.old.label(one.of[0])] if one.of else [""] * len(sheet.header)
        # A class without a color has one that depends on the rows above it.
        was = change.old[label] if label < len(change.old) else None
        stays = stays and was == one.one and one.of[0] == one.one.name
        fields = (one.one.name, color_text(one.one.color), one.one.kind, str(int(one.one.rare)))
        new.append(base if stays else sheet.row(fields, base))
    if new != rows or blank:
        files.write(CLASSES, sheet.content(new))


def write_tables(folder: Path, contents: Contents, change: Relabeling, files: Change) -> None:
    """Write tables whose rows change, those that were set aside, too."""
    for place in ("", ASIDE):
        paths = {kind: folder / place / table.file for kind, table in TABLES.items()}
        images = ImageNames(contents.images)
        there = {kind: read_rows(paths[kind], TABLES[kind], images, change.old) for kind in TABLES}
        said = said_labels(contents, there) if change.unseen else {}
        for kind, table in TABLES.items():
            content = changed_table(paths[kind], table, there[kind], change, said)
            if content is not None:
                files.write(paths[kind].relative_to(folder).as_posix(), content)


def read_rows(
    path: Path, table: Table[T], images: ImageNames, classes: Classes
) -> dict[str, list[tuple[int, T]]]:
    """Return entries of all images, be they there or not, with their places in a table."""
    found: dict[str, list[tuple[int, T]]] = {}
    if is_blank(path):
        return found
    sheet, labels = Sheet.read(path, table.header, (), tuple(table.optional)), Labels(classes)
    for n, row in enumerate(sheet.rows):
        image, label, *values = sheet.fields(row)
        if label:
            found.setdefault(images.find(image, []), []).append(
                (n, table.parse(labels.find(label, []), values, []))
            )
    return found


def said_labels(
    contents: Contents, tables: Mapping[str, Mapping[str, Sequence[tuple[int, Any]]]]
) -> dict[str, set[int]]:
    """Return labels that are said to be in each image, by any kind of annotation."""
    said: dict[str, set[int]] = {}
    for kind, table in TABLES.items():
        for name, rows in tables[kind].items():
            said.setdefault(name, set()).update(table.label(one) for _, one in rows if table.there(one))
    for kind in INDEX_IMAGES:
        for name, path in contents.files[kind].items():
            if name in said:
                said[name].update(labels_of(read_mask(path)))
    return said


def changed_table(
    path: Path,
    table: Table[T],
    rows: Mapping[str, Sequence[tuple[int, T]]],
    change: Relabeling,
    said: Mapping[str, set[int]],
) -> bytes | None:
    """Return the content of a table with other labels; None if nothing changes."""
    placed = {name: changed_rows(table, some, change, said.get(name, set())) for name, some in rows.items()}
    entries = [one for some in placed.values() for _, one in some]
    if not rows:
        return None
    sheet = Sheet.read(path, table.header, table.written(entries), tuple(table.optional))
    new: dict[int, list[Row]] = {n: [row] for n, row in enumerate(sheet.rows)}
    for name, some in rows.items():
        old = dict(some)
        for n in old:
            new[n] = []
        last = max(old)
        for place, entry in placed[name]:
            label = change.new[table.label(entry)].name
            if place is None:
                fields = (sheet.fields(sheet.rows[last])[0], label, *table.fields(entry))
                new[last].append(sheet.row(fields, [""] * len(sheet.header)))
                continue
            image, _, *texts = sheet.fields(sheet.rows[place])
            # Numbers that stay are as somebody wrote them.
            same = table.values(entry) == table.values(old[place])
            fields = (image, label, *(texts if same else table.fields(entry)))
            new[place].append(sheet.row(fields, sheet.rows[place]))
    result = [row for some in new.values() for row in some]
    return None if result == sheet.rows else sheet.content(result)


def changed_rows(
    table: Table[T], rows: Sequence[tuple[int, T]], change: Relabeling, said: set[int]
) -> Placed[T]:
    """Return the entries of an image with other labels, where they were, and those that are added."""
    kept = list(relabeled(table, rows, change))
    lost = any(change.labels[table.label(one)] is None and table.there(one) for _, one in rows)
    places, entries = [n for n, _ in kept], [one for _, one in kept]
    if lost:
        entries = list(table.opened(entries, ()))
    if change.unseen:
        # Whatever is there by another kind of annotation is not absent.
        others = [new for old, new in enumerate(change.labels) if new is not None and old not in said]
        entries = list(table.opened(entries, sorted(set(others))))
    return [*zip(places, entries, strict=False), *((None, one) for one in entries[len(places) :])]


def relabeled(table: Table[T], rows: Sequence[tuple[int, T]], change: Relabeling) -> Iterator[tuple[int, T]]:
    """Yield the entries that stay; those whose labels have become one are joined, in their first row."""
    together: dict[int, list[tuple[int, int, T]]] = {}
    for n, entry in rows:
        old = table.label(entry)
        new = change.labels[old]
        if new is not None:
            together.setdefault(new, []).append((n, old, table.relabeled(entry, new)))
    found: list[tuple[int, T]] = []
    for some in together.values():
        entries: Iterable[T] = [entry for _, _, entry in some]
        if len({old for _, old, _ in some}) > 1:
            entries = table.joined(list(entries))
        found += zip((n for n, _, _ in some), entries, strict=False)
    yield from sorted(found, key=lambda one: one[0])


def write_indices(folder: Path, contents: Contents, change: Relabeling, files: Change) -> None:
    """Write index images whose values change; those that say nothing any more are removed."""
    values, n_old = change.values, len(change.old)
    if np.array_equal(values[: n_old + 1], np.arange(n_old + 1)):
        return
    for kind, images in INDEX_IMAGES.items():
        for path in contents.files[kind].values():
            old = read_mask(path)
            raise_problem(path, None, images.problem(old, n_old))
            new = values[old]
            name = path.relative_to(folder).as_posix()
            if not new.any() and old.any():
                files.remove(name)
            elif not np.array_equal(new, old):
                write_mask(files.place(name), new, change.new.palette, read_note(path))
