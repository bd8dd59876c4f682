"""Prepared images in a folder: computed once, and mapped into memory from then on."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from multiutility.datasets.files import replacing
from multiutility.problem import LabelingProblem
from multiutility.vision.features.preset import FittedPreset, Prepared, Progress
from multiutility.vision.photo import Photo

Arrays: TypeAlias = dict[str, NDArray[Any]]

VERSION = 1  # of the files
DTYPES = {"F64": "<f8", "F32": "<f4", "I32": "<i4"}


class StoreWarning(UserWarning):
    """A file of a store is damaged, and is made anew."""


class FeatureStore:
    """Prepared images, kept in a folder as one safetensors file each; without a folder, none is kept.

    A file is named by all that its content depends on: the image, and the preset with its fitted state. Files
    appear whole or not at all: interrupted work goes on where it ended, and processes may share a folder,
    which may be deleted at any time.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)

    def prepare(
        self,
        fitted: FittedPreset,
        photos: Sequence[Photo],
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> list[Prepared]:
        """Return the photos prepared, in order; those that are not in the folder yet are computed.

        The result is the same for any number ``n_jobs`` of cores.
        """
        prepared = []
        for one in in_threads(self._preparation(fitted), photos, n_jobs):
            prepared.append(one)
            if progress is not None:
                progress(len(prepared), len(photos))
        return prepared

    def _preparation(self, fitted: FittedPreset) -> Callable[[Photo], Prepared]:
        if self.folder is None:
            return lambda photo: fitted.prepare(photo.image())
        folder = self.folder / preset_key(fitted)
        return lambda photo: kept_or_made(folder, fitted, photo)


def in_threads(
    work: Callable[[Photo], Prepared], photos: Sequence[Photo], n_threads: int
) -> Iterator[Prepared]:
    """Yield results in order; what has not begun is left undone if the caller stops, or any work fails.

    Threads are enough, as networks, superpixels and NumPy hold Python's lock for a small part of the time
    only, and they need not send features from one process to another.
    """
    if n_threads <= 1:
        yield from map(work, photos)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield from pool.map(work, photos)
    finally:
        pool.shutdown(cancel_futures=True)


def kept_or_made(folder: Path, fitted: FittedPreset, photo: Photo) -> Prepared:
    """Return a photo prepared, from its file if there is one; otherwise there will be."""
    path = folder / f"{short_hash(photo.fingerprint().encode())}.safetensors"
    kept = read_prepared(path)
    if kept is not None:
        return kept
    made = fitted.prepare(photo.image())
    write_prepared(path, made)
    # Memory that is mapped from a file can be given up and read again; that of the computed arrays cannot.
    return read_prepared(path) or made


def preset_key(fitted: FittedPreset) -> str:
    """Hash of all that features depend on, but for the image."""
    parts = [json.dumps([VERSION, fitted.parameters()], sort_keys=True).encode()]
    for name, array in sorted(fitted.state.items()):
        parts += [f"{name} {array.dtype.str} {array.shape}".encode(), array.tobytes()]
    return short_hash(b"\n".join(parts))


def short_hash(content: bytes) -> str:
    """Hash of 128 bits."""
    return hashlib.sha256(content).hexdigest()[:32]


def write_prepared(path: Path, prepared: Prepared) -> None:
    """Write a file, with checksums."""
    problem = prepared.problem
    arrays: Arrays = {
        "node_features": np.asarray(problem.node_features, dtype="<f4"),
        "edges": np.asarray(problem.edges, dtype="<i4"),
        "edge_features": np.asarray(problem.edge_features, dtype="<f4"),
        "node_sizes": np.asarray(problem.node_sizes, dtype="<f8"),
        "regions": np.asarray(prepared.regions, dtype="<i4"),
    }
    # One entry, as safetensors writes several in any order.
    sums = json.dumps({name: checksum(array) for name, array in arrays.items()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(save(arrays, {"checksums": sums}))
    except OSError as error:
        fix = "free some space, or choose another folder for features"
        raise OSError(f"{path}: cannot be written: {error.strerror or error}; {fix}") from error


def read_prepared(path: Path) -> Prepared | None:
    """Return what is in a file; None, with a warning unless there is no such file, if it has to be made."""
    try:
        arrays = read_arrays(path)
        names = "node_features", "edges", "edge_features", "node_sizes"
        return Prepared(LabelingProblem(*(arrays[name] for name in names)), arrays["regions"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        warnings.warn(f"{path}: damaged ({error}); it is made anew", StoreWarning, stacklevel=2)
        return None


def read_arrays(path: Path) -> Arrays:
    """Map the arrays of a safetensors file with checksums; raise if anything about it is wrong."""
    content = np.frombuffer(contents(path), np.uint8)
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    sums, arrays = json.loads(header.pop("__metadata__")["checksums"]), {}
    for name, entry in header.items():
        first, last = (start + offset for offset in entry["data_offsets"])
        array = content[first:last].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if checksum(array) != sums[name]:
            raise ValueError(f"{name} has changed since it was written")
        arrays[name] = array
    return arrays


def contents(path: Path) -> mmap.mmap | bytes:
    """Return a file, mapped into memory if possible."""
    with path.open("rb") as file:
        if sys.version_info >= (3, 13):
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
        # Before, every mapping keeps a file open, and there may be as few as 256 of them. Half of those are
        # left to others: further files are read instead.
        if next_number(file.fileno()) < max_open_files() // 2:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return file.read()


def next_number(file: int) -> int:
    """Return the number that the next open file would get, which is the least that is free."""
    number = os.dup(file)
    os.close(number)
    return number


def max_open_files() -> int:
    """Return how many files the process may have open."""
    if sys.platform == "win32":
        return 8192
    import resource  # noqa: PLC0415  (not on Windows)

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def checksum(array: NDArray[Any]) -> int:
    """CRC-32 of the values."""
    return zlib.crc32(np.ascontiguousarray(array).data)
