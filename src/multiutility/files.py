"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from multiutility.outputs import files_below, outputs_for


@contextmanager
def replacing(path: str | Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends, and vanishes if it raises.

    Readers and other writers never see a part of it, even if the process is killed; with ``durable``, nor
    after a loss of power. In a command, its ``Outputs`` decide whether the file may be written.
    """
    path = Path(path)
    outputs = outputs_for(path)
    # Not by tempfile, whose files only their owner may read. Hidden: leftovers are never taken for data.
    temporary = path.with_name(_temporary_name(path))
    # Once for each folder of a command: there may be very many files in it.
    if outputs is not None and path.parent not in outputs.swept:
        outputs.swept.add(path.parent)
        sweep(path.parent)
    try:
        with temporary.open("xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if outputs is not None:
            outputs.check(path)
            outputs.note(path, temporary)
        os.replace(temporary, path)
    except OSError as error:
        # A disk that is full does not say which file it has no room for, and nobody knows the temporary one.
        if error.filename is None or str(error.filename) == str(temporary):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def filling(path: str | Path, last: str = "", replaced: Sequence[Path] = ()) -> Iterator[Path]:
    """Folder to write into: what is in it appears in the folder ``path`` when the block ends, or never.

    A folder that is new appears at once, even if the process is killed. One that is there already, with other
    things in it, is filled part by part, of which ``last`` comes last. What is ``replaced`` goes before,
    ``last`` first; in a command, whose ``Outputs`` decide about each file.
    """
    path = Path(path)
    outputs, new = outputs_for(path), not path.exists()
    remove_abandoned(path)
    # On the same disk in any case; hidden, so that leftovers do no harm.
    place = path.parent if new else path
    temporary, old = (place / _temporary_name(path) for _ in range(2))
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if outputs is not None:
            outputs.check_replaced(replaced, path, temporary)
            files = [(path / file.relative_to(temporary), file) for file in files_below(temporary)]
            outputs.note_all(
                files, temporary if new and path.absolute() == outputs.root.absolute() else outputs.root
            )
        if new:
            temporary.rename(path)
            return
        old.mkdir()
        for part in sorted(replaced, key=lambda one: (one.name != last, one.name)):
            os.replace(part, old / part.name)
        for part in sorted(temporary.iterdir(), key=lambda one: (one.name == last, one.name)):
            os.replace(part, path / part.name)
    except OSError as error:
        # Nobody knows the temporary folder: it is the file at its place for which there is no room.
        named = Path(error.filename or "")
        if temporary == named or temporary in named.parents:
            meant = path / named.relative_to(temporary)
            raise OSError(error.errno, error.strerror, str(meant)) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def scratch(path: str | Path) -> Iterator[Path]:
    """Hidden folder beside ``path``, and on its disk, for as long as the block runs."""
    path = Path(path)
    remove_abandoned(path)
    folder = path.with_name(_temporary_name(path))
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(path: str | Path) -> None:
    """Remove what killed processes left of this file; nobody else may be writing it."""
    path = Path(path)
    for other in path.parent.glob(f"{_beginning(path)}*.tmp"):
        other.unlink(missing_ok=True)


def remove_abandoned(path: str | Path) -> None:
    """Remove what processes of this machine that are dead by now left of a file or folder."""
    path = Path(path)
    for place in (path.parent, path):
        for other in place.glob(f"{_beginning(path)}*.tmp") if place.is_dir() else ():
            known = re.fullmatch(
                rf"{re.escape(_beginning(path))}{_machine()}-(\d+)-[0-9a-f]{{16}}\.tmp", other.name
            )
            if known and not _alive(int(known[1])) and not other.is_symlink():
                if other.is_dir():
                    shutil.rmtree(other, ignore_errors=True)
                else:
                    other.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what processes of this machine that are dead by now left of any files of a folder."""
    for other in folder.glob(".*.tmp"):
        known = re.fullmatch(rf"\.[0-9a-f]{{16}}-{_machine()}-(\d+)-[0-9a-f]{{16}}\.tmp", other.name)
        if known and not _alive(int(known[1])) and other.is_file() and not other.is_symlink():
            other.unlink(missing_ok=True)


def _temporary_name(path: Path) -> str:
    # Says whose it is, so that what is left by the dead can be told from what others are writing.
    return f"{_beginning(path)}{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def _beginning(path: Path) -> str:
    # A hash, as names may be as long as the system allows.
    return f".{_short_hash(path.name)}-"


def _machine() -> str:
    # Processes of other machines, which may share the disk, have numbers of their own.
    return _short_hash(socket.gethostname())[:8]


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _alive(process: int) -> bool:
    """Whether there is such a process on this machine; where that cannot be asked, yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # of another user, say
        return True
    return True
