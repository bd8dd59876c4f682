"""Several files of a folder changed at once: after a crash all are old, or all are new.

New files are first written to a hidden folder, then a journal says where they go, which is the moment of the
change, and then they go there. Whoever reads the folder calls ``settle`` first: if there is a journal, a
process was ended in between, and the files that are left go to their places.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from multiutility.files import replacing
from multiutility.locks import HeldError, holding

STAGE, JOURNAL, KEPT = ".changing", "journal.json", "kept.json"
# Seconds to wait for another process that is about to put its files into their places.
PATIENCE = 10.0


class Change:
    """Files of a folder that are to be written or removed at once; names are as seen from the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stage = folder / STAGE
        self._files: dict[str, str | None] = {}

    def place(self, name: str) -> Path:
        """Return where the new content of a file is to be written."""
        staged = f"{len(self._files)}{PurePosixPath(name).suffix}"
        check_inside(self._folder, checked(name))
        self._files[name] = staged
        return self._stage / staged

    def write(self, name: str, content: bytes) -> None:
        """Give a file this content."""
        self.place(name).write_bytes(content)

    def remove(self, name: str) -> None:
        """Remove a file."""
        check_inside(self._folder, checked(name))
        self._files[name] = None

    @property
    def names(self) -> tuple[str, ...]:
        """The files that change."""
        return tuple(self._files)

    def keep(self, folder: Path, about: str, beside: Sequence[str]) -> None:
        """Copy the files as they are now, and note what they will be, so that ``undo`` finds both."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        files = []
        for n, (name, staged) in enumerate(self._files.items()):
            path = self._folder / name
            if path.exists():
                shutil.copyfile(path, folder / str(n))
            new = None if staged is None else digest(self._stage / staged)
            files.append({"name": name, "old": str(n) if path.exists() else None, "new": new})
        with replacing(folder / KEPT, durable=True) as file:
            others = states(self._folder, beside, self._files)
            kept = {"about": about, "files": files, "beside": [*beside], "others": others}
            file.write(json.dumps(kept).encode())

    def commit(self) -> None:
        """Make the change."""
        for staged in filter(None, self._files.values()):
            with (self._stage / staged).open("rb+") as file:
                os.fsync(file.fileno())
        with replacing(self._stage / JOURNAL, durable=True) as file:
            file.write(json.dumps(self._files).encode())
        complete(self._folder)


@contextmanager
def changing(
    folder: Path, keep: Path | None = None, about: str = "", beside: Sequence[str] = ()
) -> Iterator[Change]:
    """Change files of a folder: all that the block has told, when it ends, or nothing if it raises.

    What they were is kept in the folder ``keep`` for ``undo``, if there is one, with what the change is
    ``about``. Files ``beside`` them, by patterns, mean something else after the change: if one of these is
    written or made later, it cannot be undone. Raises ``HeldError`` if another process changes the folder.
    """
    stage = folder / STAGE
    with holding(stage):
        if (stage / JOURNAL).exists():
            complete(folder)
        shutil.rmtree(stage, ignore_errors=True)  # of a process that ended before its change was made
        stage.mkdir()
        change = Change(folder)
        try:
            yield change
            if change.names:
                if keep is not None:
                    change.keep(keep, about, beside)
                change.commit()
        finally:
            if not (stage / JOURNAL).exists():
                shutil.rmtree(stage, ignore_errors=True)


def settle(folder: Path) -> None:
    """Complete a change of the folder that was made, but cut off before all files were in their places."""
    end = time.monotonic() + PATIENCE
    while (folder / STAGE / JOURNAL).exists():
        try:
            with holding(folder / STAGE):
                if (folder / STAGE / JOURNAL).exists():
                    complete(folder)
        except HeldError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def complete(folder: Path) -> None:
    """Put all files of the journal into their places; those that are there already stay."""
    stage = folder / STAGE
    check_inside(folder, f"{STAGE}/{JOURNAL}")
    for name, staged in read_journal(stage / JOURNAL).items():
        check_inside(folder, name)
        target = folder / name
        if staged is None:
            target.unlink(missing_ok=True)
        elif (stage / staged).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / staged, target)
    (stage / JOURNAL).unlink()
    shutil.rmtree(stage, ignore_errors=True)


def undoable(folder: Path, kept: Path) -> str | None:
    """Return what the change was about that was kept, if its files are still as it left them."""
    if not (kept / KEPT).is_file():
        return None
    about, files, beside, others = read_kept(kept / KEPT)
    same = all(digest(folder / one["name"]) == one["new"] for one in files)
    return about if same and states(folder, beside, {one["name"] for one in files}) == others else None


def undo(folder: Path, kept: Path) -> None:
    """Take back the change that was kept; raises ``ValueError`` if its files have been changed since."""
    settle(folder)
    if undoable(folder, kept) is None:
        raise ValueError("the last change cannot be taken back: other changes came after it")
    with changing(folder) as change:
        for one in read_kept(kept / KEPT)[1]:
            if one["old"] is None:
                change.remove(one["name"])
            else:
                shutil.copyfile(kept / one["old"], change.place(one["name"]))
    shutil.rmtree(kept)


def read_journal(path: Path) -> dict[str, str | None]:
    """Return staged files by their names; raises ``ValueError`` for anything that nobody here wrote."""
    try:
        found = json.loads(path.read_bytes())
        return {checked(name): None if staged is None else plain(staged) for name, staged in found.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: damaged ({error}); move the folder {STAGE} away") from error


def states(folder: Path, patterns: Sequence[str], but: Collection[str]) -> dict[str, list[int]]:
    """Return what changes when files of a folder do, without reading them."""
    found = {}
    for path in (path for pattern in patterns for path in folder.glob(checked(pattern))):
        name = path.relative_to(folder).as_posix()
        if name not in but:
            about = path.stat()
            found[name] = [about.st_mtime_ns, about.st_size]
    return found


def read_kept(path: Path) -> tuple[str, list[dict[str, Any]], list[str], dict[str, list[int]]]:
    """Return what a change was about, what was kept of each file, and what was beside them."""
    try:
        found = json.loads(path.read_bytes())
        files = [
            {
                "name": checked(one["name"]),
                "old": None if one["old"] is None else plain(one["old"]),
                "new": one["new"],
            }
            for one in found["files"]
        ]
        return str(found["about"]), files, found.get("beside", []), found.get("others", {})
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{path}: damaged ({error}); remove the folder {path.parent}") from error


def checked(name: Any) -> str:
    """Return the name of a file in a folder; raises ``ValueError`` for one that leads out, or is hidden.

    >>> checked("../x")
    Traceback (most recent call last):
    ValueError: '../x' is no file of the folder
    """
    parts = PurePosixPath(name).parts if isinstance(name, str) else ()
    if not parts or "\\" in name or any(part.startswith((".", "/")) for part in parts):
        raise ValueError(f"{name!r} is no file of the folder")
    return str(name)


def check_inside(folder: Path, name: str) -> None:
    """Raise if a file would be elsewhere: folders come from anywhere, with links in them."""
    if not (folder / name).parent.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{folder / name}: leads out of the folder {folder}; remove the link")


def plain(name: Any) -> str:
    """Return the name of a file that is in no folder."""
    if "/" in checked(name):
        raise ValueError(f"{name!r} is no plain name")
    return str(name)


def digest(path: Path) -> str | None:
    """Hash of a file; None if there is none."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
