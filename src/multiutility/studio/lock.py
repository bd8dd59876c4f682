"""One studio for each folder: two would write the same files without knowing of each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def only_studio(folder: Path) -> Iterator[None]:
    """Hold the folder as long as the block runs; the system lets go of it even if the process is killed."""
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        try:
            take(file)
        except OSError:
            what = f"{folder.parent}: another studio is open for this folder"
            raise ValueError(f"{what}; use its page, or stop it with Ctrl-C in its terminal") from None
        yield


if sys.platform == "win32":
    import msvcrt

    def take(file: IO[bytes]) -> None:
        """Lock a file, or raise."""
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def take(file: IO[bytes]) -> None:
        """Lock a file, or raise."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
