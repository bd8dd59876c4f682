"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends, and vanishes if it raises.

    Readers and other writers never see a part of it, even if the process is killed; with ``durable``, nor
    after a loss of power.
    """
    path = Path(path)
    # Not by tempfile, whose files only their owner may read. Hidden: leftovers are never taken for data.
    temporary = path.with_name(f"{_beginning(path)}{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        # A disk that is full does not say which file it has no room for, and nobody knows the temporary one.
        if error.filename is None or str(error.filename) == str(temporary):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def filling(path: str | Path, last: str = "") -> Iterator[Path]:
    """Folder to write into: what is in it appears in the folder ``path`` when the block ends, or never.

    A folder that is new appears at once, even if the process is killed. One that is there already, with other
    things in it, is filled part by part, of which ``last`` comes last.
    """
    path = Path(path)
    new = not path.exists()
    # On the same disk in any case; hidden, so that leftovers do no harm.
    temporary = (path.parent if new else path) / f"{_beginning(path)}{secrets.token_hex(8)}.tmp"
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if new:
            temporary.rename(path)
        else:
            for part in sorted(temporary.iterdir(), key=lambda one: (one.name == last, one.name)):
                os.replace(part, path / part.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(path: str | Path) -> None:
    """Remove what killed processes left of this file; nobody else may be writing it."""
    path = Path(path)
    for other in path.parent.glob(f"{_beginning(path)}*.tmp"):
        other.unlink(missing_ok=True)


def _beginning(path: Path) -> str:
    # A hash, as names may be as long as the system allows.
    return f".{hashlib.sha256(path.name.encode(errors='surrogateescape')).hexdigest()[:16]}-"
