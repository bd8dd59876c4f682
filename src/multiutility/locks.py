"""Places that one process at a time works on."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class HeldError(ValueError):
    """Another process holds the place; ``process`` is its number, if it is known."""

    def __init__(self, path: Path, process: int | None) -> None:
        who = "another process" if process is None else f"process {process}"
        super().__init__(
            f"{path}: {who} is writing it; wait until it ends, or stop it, or give another place"
        )
        self.process = process


class LockWarning(UserWarning):
    """A place could not be locked."""


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Hold a file or folder as long as the block runs; a killed process lets go of it, too.

    What is locked is the hidden file ``.NAME.lock`` beside it, which has the number of the process in it, and
    is removed at the end.
    """
    place = path.with_name(f".{path.name}.lock")
    file = opened(path, place)
    try:
        sign(file, path)
        yield
    finally:
        if sys.platform != "win32":  # where a file that is open stays
            place.unlink(missing_ok=True)
        file.close()


def sign(file: IO[bytes], path: Path) -> None:
    """Write down who holds the lock of a path."""
    try:
        file.truncate(0)
        # Not by the buffer, which would try again when the file is closed.
        os.write(file.fileno(), f"{os.getpid()}\n".encode())
    except OSError as error:  # the disk is full, say
        raise OSError(error.errno, error.strerror, str(path)) from error


def opened(path: Path, place: Path) -> IO[bytes]:
    """Return the lock of a path, open and locked."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(place, flags, 0o666), "r+b")
        try:
            take(file)
        except BlockingIOError:
            text = file.read(32).strip()
            file.close()
            raise HeldError(path, int(text) if text.isdigit() else None) from None
        except OSError as error:
            # Some disks of other machines have no locks, and work must be possible there, too.
            what = f"cannot be locked ({error.strerror}); make sure that no other process writes it"
            warnings.warn(f"{path}: {what}", LockWarning, stacklevel=3)
            return file
        # Who held it may have removed it just now: then the next one would lock another file of this name.
        if place.exists() and os.path.samestat(os.fstat(file.fileno()), place.stat()):
            return file
        file.close()


if sys.platform == "win32":
    import msvcrt

    # Beyond the number of the process, which others must be able to read.
    LOCKED_BYTE = 1 << 30

    def take(file: IO[bytes]) -> None:
        """Lock a file, or raise ``BlockingIOError``."""
        file.seek(LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from error
        finally:
            file.seek(0)

else:
    import fcntl

    def take(file: IO[bytes]) -> None:
        """Lock a file, or raise ``BlockingIOError``."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
