"""Prepared images in a folder: computed once, and mapped into memory from then on."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from multiutility.array_file import Arrays, read_arrays, write_arrays
from multiutility.arrays import check_range, check_shape
from multiutility.datasets.errors import DatasetError
from multiutility.problem import LabelingProblem
from multiutility.vision.features.preset import FittedPreset, Prepared, Progress
from multiutility.vision.photo import Photo

VERSION = 1  # of the files


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
            return lambda photo: made(fitted, photo)
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
    computed = made(fitted, photo)
    write_prepared(path, computed)
    # Memory that is mapped from a file can be given up and read again; that of the computed arrays cannot.
    return read_prepared(path) or computed


def made(fitted: FittedPreset, photo: Photo) -> Prepared:
    """Compute the features of a photo; what goes wrong is told with its name."""
    image = photo.image()
    try:
        return fitted.prepare(image)
    except DatasetError:
        raise
    except Exception as error:  # Features of one's own, and of models that somebody forged, fail in all ways.
        reason = str(error) or type(error).__name__
        raise ValueError(f"{photo.name}: its features cannot be computed: {reason}") from error


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(path, arrays)
    except OSError as error:
        fix = "free some space, or choose another folder for features"
        raise OSError(f"{path}: cannot be written: {error.strerror or error}; {fix}") from error


def read_prepared(path: Path) -> Prepared | None:
    """Return what is in a file; None, with a warning unless there is no such file, if it has to be made."""
    try:
        arrays = read_arrays(path)
        names = "node_features", "edges", "edge_features", "node_sizes"
        problem, regions = LabelingProblem(*(arrays[name] for name in names)), arrays["regions"]
        check_shape(regions, "regions", (None, None))
        check_range(regions, "regions", problem.n_nodes, "regions")
        return Prepared(problem, regions)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError) as error:
        warnings.warn(f"{path}: damaged ({error}); it is made anew", StoreWarning, stacklevel=2)
        return None
