"""What networks have said of images, kept in the user's cache: other superpixels need no other run.

Files are named by a hash of all that a map depends on. They appear whole or not at all, may be deleted at any
time, and are shared by all processes. ``MULTIUTILITY_MAPS`` of the environment is about how much they take
together, at most, as ``2GB``; what was not used for longest goes first. With 0, none are kept.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import ArrayFileError, read_arrays, write_arrays
from multiutility.files import sweep
from multiutility.memory import n_bytes
from multiutility.vision.cache import cache_folder

# Features of cells [h * w, C], and their grid (h, w).
Cells: TypeAlias = tuple[NDArray[np.float32], tuple[int, int]]

LIMIT = "2GB"
SETTING = "MULTIUTILITY_MAPS"
# When too much is kept, this part of the limit stays; and how much may be written before it is counted again,
# as other processes write, too.
KEPT, UNCOUNTED = 0.8, 0.1


class MapsWarning(UserWarning):
    """Maps cannot be kept, or those that were kept are damaged."""


def kept_maps(key: str, compute: Callable[[], list[Cells]]) -> list[Cells]:
    """Return the maps that are kept under the key; if there are none, compute and keep them."""
    limit = allowed()
    if limit == 0:
        return compute()
    path = cache_folder() / "maps" / f"{key}.safetensors"
    found = read_maps(path)
    if found is None:
        found = compute()
        write_maps(path, found, limit)
    return found


def allowed() -> int:
    """Return how many bytes may be kept."""
    text = os.environ.get(SETTING, "").strip() or LIMIT
    try:
        return 0 if text == "0" else n_bytes(text)
    except ValueError as error:
        raise ValueError(f"{SETTING} is {text!r} in the environment: {error}") from None


def read_maps(path: Path) -> list[Cells] | None:
    """Return what is in a file; None if there is no such file, or if it is damaged."""
    try:
        arrays = read_arrays(path)
        n = len(arrays) // 2
        # Copies: pages of a file that somebody shortens would end the process.
        found = [(np.array(arrays[f"cells{i}"]), grid_of(arrays[f"grid{i}"])) for i in range(n)]
        if any(cells.ndim != 2 or len(cells) != grid[0] * grid[1] for cells, grid in found):
            raise ArrayFileError("its maps are not as large as their grids")
        os.utime(path)  # used just now
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ArrayFileError, LookupError, ValueError) as error:
        warnings.warn(f"{path}: damaged ({error}); it is made anew", MapsWarning, stacklevel=2)
        return None
    return found


def grid_of(values: NDArray[np.int32]) -> tuple[int, int]:
    """Return height and width."""
    rows, columns = values.tolist()
    return rows, columns


def write_maps(path: Path, maps: Sequence[Cells], limit: int) -> None:
    """Write a file, and remove others if they are too many; without room on the disk, only tell."""
    arrays: dict[str, NDArray[np.float32] | NDArray[np.int32]] = {}
    for n, (cells, grid) in enumerate(maps):
        arrays |= {f"cells{n}": np.ascontiguousarray(cells, "<f4"), f"grid{n}": np.array(grid, "<i4")}
    size = sum(array.nbytes for array in arrays.values())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(path, arrays)
        counter.note(path.parent, size, limit)
    except OSError as error:
        fix = f"make room, or set {SETTING} to 0"
        text = f"{path.parent}: maps of networks cannot be kept ({error.strerror or error}); {fix}"
        warnings.warn(text, MapsWarning, stacklevel=2)


class Counter:
    """Counts what this process has written to folders, and now and then all that is there."""

    def __init__(self) -> None:
        self._written: dict[Path, int] = {}
        self._lock = threading.Lock()

    def note(self, folder: Path, size: int, limit: int) -> None:
        """Take note of a new file; see to it that there is not too much."""
        with self._lock:
            before = self._written.get(folder)
            self._written[folder] = (before or 0) + size
            if before is None or self._written[folder] > UNCOUNTED * limit:
                self._written[folder] = 0
                thin_out(folder, limit)


counter = Counter()


def thin_out(folder: Path, limit: int) -> None:
    """Remove files that were not used for longest, if there is more than the limit."""
    sweep(folder)
    files = []
    for entry in os.scandir(folder):
        try:
            status = entry.stat()
        except FileNotFoundError:  # by another process
            continue
        if entry.name.endswith(".safetensors"):
            files.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    for _, size, path in sorted(files):
        if total <= KEPT * limit:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
