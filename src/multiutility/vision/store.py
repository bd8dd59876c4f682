"""Prepared images in a folder: computed once, and mapped into memory or read piece by piece from then on."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import ArrayFileError, Arrays, read_array, read_arrays, write_arrays
from multiutility.arrays import IndexArray, check_range, check_shape, read_only
from multiutility.datasets.errors import DatasetError
from multiutility.memory import ArrayCache, CachedArray, MemoryLimit, NoLimit, Room, n_bytes
from multiutility.problem import FeatureArray, LabelingProblem, held
from multiutility.vision.features.preset import FittedPreset, Prepared, Progress
from multiutility.vision.photo import Photo
from multiutility.vision.quantize import Quantized, dequantize, quantize

T = TypeVar("T")

VERSION = 2  # of the files
# What goes wrong if a file has vanished, or was damaged since it was last read.
UNREADABLE = (FileNotFoundError, NotADirectoryError, ArrayFileError)


class StoreWarning(UserWarning):
    """A file of a store is damaged, and is made anew."""


class FeatureStore:
    """Prepared images, kept in a folder as one safetensors file each; without a folder, none is kept.

    A file is named by all that its content depends on: the image, and the preset with its fitted state. Files
    appear whole or not at all: interrupted work goes on where it ended, and processes may share a folder,
    which may be deleted at any time.

    With ``half``, node features are rounded to half precision, and files are half as large. With a
    ``memory_limit``, in bytes or as ``"2GB"``, features and regions are read when they are needed, and of the
    features as many are kept as the limit leaves room for; without a folder, they are then in one for
    temporary files, for as long as anybody has one of the images. With ``piecewise``, it is the same without
    a limit: such images can be pickled by the names of their files.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        half: bool = False,
        memory_limit: int | str | None = None,
        piecewise: bool = False,
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        self.half = half
        self.room: Room = NoLimit() if memory_limit is None else MemoryLimit(n_bytes(memory_limit))
        self.piecewise = piecewise or memory_limit is not None

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
        for one in in_threads(self.preparation(fitted), photos, n_jobs):
            prepared.append(one)
            if progress is not None:
                progress(len(prepared), len(photos))
        return prepared

    def preparation(self, fitted: FittedPreset) -> Callable[[Photo], Prepared]:
        """Return how to prepare one photo."""
        if self.folder is None and not self.piecewise:
            return lambda photo: made(fitted, photo, self.half)
        spill = Spill() if self.folder is None else None
        base = self.folder if spill is None else spill.folder
        assert base is not None  # there is one of the two
        key = preset_key(fitted)
        shelf = Shelf(base / (f"{key}-half" if self.half else key), fitted, self.half, spill)
        if not self.piecewise:
            return lambda photo: read_mapped(ImageFile(shelf, photo))
        cache = ArrayCache(self.room)
        return lambda photo: read_piecewise(ImageFile(shelf, photo), cache)


class Spill:
    """A folder for files that vanishes when nobody refers to it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="multiutility-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class Shelf:
    """A folder with the files of one fitted preset; ``spill`` is what it vanishes with."""

    folder: Path
    fitted: FittedPreset
    half: bool
    spill: Spill | None = None


def in_threads(work: Callable[[Photo], T], photos: Sequence[Photo], n_threads: int) -> Iterator[T]:
    """Yield results in order; what has not begun is left undone if the caller stops, or any work fails.

    Threads are enough, as networks, superpixels and NumPy hold Python's lock for a small part of the time
    only, and they need not send features from one process to another. Only a few results wait to be taken.
    """
    if n_threads <= 1:
        yield from map(work, photos)
        return
    pool, waiting = ThreadPoolExecutor(n_threads), deque[Future[T]]()
    try:
        for photo in photos:
            waiting.append(pool.submit(work, photo))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class ImageFile:
    """The file of a photo, which is there or can be made."""

    def __init__(self, shelf: Shelf, photo: Photo) -> None:
        self.path = shelf.folder / f"{short_hash(photo.fingerprint().encode())}.safetensors"
        self.half = shelf.half
        self._shelf = shelf
        self._photo = photo

    def kept_or_made(self) -> Prepared:
        """Return the photo prepared, from its file if there is one; otherwise there will be."""
        kept = read_prepared(self.path)
        if kept is not None:
            return kept
        computed = made(self._shelf.fitted, self._photo)
        write_prepared(self.path, computed, self.half)
        # Memory that is mapped from a file can be given up and read again; that of computed arrays cannot.
        return read_prepared(self.path) or (rounded(computed) if self.half else computed)


class PieceReader:
    """Reads parts of the file of an image; if it is gone, ``made`` gives the image anew.

    Pickled, it only knows the file: who is given it elsewhere has nothing to make another one of.
    """

    def __init__(self, path: Path, half: bool, made: Callable[[], Prepared] | None = None) -> None:
        self._path = path
        self._half = half
        self._made = made
        self._stamp = stamp_of(path)

    def fill(self, out: NDArray[np.float32]) -> None:
        """Read the node features into an array of their shape."""
        try:
            self._look()
            read_features(self._path, out, self._half)
        except UNREADABLE as error:
            out[...] = self._anew(error).problem.node_features

    def regions(self) -> IndexArray:
        """Read the regions, int32 [H, W]."""
        try:
            self._look()
            found: IndexArray = read_only(read_array(self._path, "regions"))
        except UNREADABLE as error:
            return read_only(np.array(self._anew(error).regions))
        return found

    def _look(self) -> None:
        # Parts are read without their checksums, which were compared when the file was as it was then.
        if self._made is not None and stamp_of(self._path) not in (self._stamp, None):
            raise ArrayFileError("it has changed")

    def _anew(self, error: Exception) -> Prepared:
        if self._made is None:
            fix = "is the store on a disk that all machines share?"
            raise OSError(f"{self._path}: features cannot be read ({error}); {fix}") from error
        image = self._made()
        self._stamp = stamp_of(self._path)
        return image

    def __reduce__(self) -> tuple[Any, ...]:
        return PieceReader, (self._path, self._half)


class MappedReader:
    """Node features and regions that are mapped from the file of an image.

    The file is looked at before each use: pages of one that somebody has shortened meanwhile would end the
    process when they are touched. If it has changed, ``made`` gives the image anew; what is mapped of a file
    that is gone stays good. Pickled, it takes the features along.
    """

    def __init__(self, path: Path, made: Callable[[], Prepared]) -> None:
        self._path = path
        self._made = made
        self._lock = threading.Lock()
        # Looked at first: what happens in between is seen at the next use.
        self._stamp = stamp_of(path)
        self._image = made()
        self.shape = self._image.problem.node_features.shape
        self.dtype: np.dtype[Any] = self._image.problem.feature_dtype

    def read(self) -> FeatureArray:
        """Return the node features."""
        return self._current().problem.node_features

    def regions(self) -> IndexArray:
        """Return the regions, int32 [H, W]."""
        return self._current().regions

    def small(self) -> Iterator[NDArray[Any]]:
        """Yield copies of edges, their features, and sizes of nodes: they need no file."""
        problem = self._current().problem
        yield from (np.array(one) for one in (problem.edges, problem.edge_features, problem.node_sizes))

    def _current(self) -> Prepared:
        now = stamp_of(self._path)
        if now not in (self._stamp, None):
            with self._lock:
                self._stamp, self._image = now, self._made()
        return self._image

    def __reduce__(self) -> tuple[Any, ...]:
        return held, (self.read(),)


class RegionReader(Protocol):
    """Reads the regions of an image."""

    def regions(self) -> IndexArray:
        """Regions int32 [H, W]."""


class StoredImage(Prepared):
    """An image whose regions, and the node features of whose problem, are read from a file each time."""

    reader: RegionReader

    def __init__(self, problem: LabelingProblem, reader: RegionReader) -> None:
        object.__setattr__(self, "problem", problem)
        object.__setattr__(self, "reader", reader)

    @property
    def regions(self) -> IndexArray:
        """Regions int32 [H, W]."""
        return self.reader.regions()

    @property
    def fetch(self) -> Callable[[], IndexArray]:
        """How to get the regions another time."""
        return self.reader.regions

    def with_problem(self, problem: LabelingProblem) -> Prepared:
        """Return the same image with another problem; its regions are still read each time."""
        return StoredImage(problem, self.reader)


def read_mapped(file: ImageFile) -> StoredImage:
    """Return an image whose features and regions are mapped from its file."""
    reader = MappedReader(file.path, file.kept_or_made)
    return StoredImage(LabelingProblem.from_source(reader, *reader.small()), reader)


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """Return what tells that a file has changed; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read_piecewise(file: ImageFile, cache: ArrayCache) -> StoredImage:
    """Return an image of which only what is small is in memory."""
    if not file.path.exists():
        file.kept_or_made()
    # It looks at the file before checksums are compared: what happens in between is seen at the next use.
    reader = PieceReader(file.path, file.half, file.kept_or_made)
    problem = file.kept_or_made().problem
    source = CachedArray(cache, (problem.n_nodes, problem.n_features), np.float32, reader.fill)
    # Copies: views would keep the file mapped.
    small = (np.array(one) for one in (problem.edges, problem.edge_features, problem.node_sizes))
    return StoredImage(LabelingProblem.from_source(source, *small), reader)


def made(fitted: FittedPreset, photo: Photo, half: bool = False) -> Prepared:
    """Compute the features of a photo; what goes wrong is told with its name."""
    image = photo.image()
    try:
        computed = fitted.prepare(image)
    except DatasetError:
        raise
    except Exception as error:  # Features of one's own, and of models that somebody forged, fail in all ways.
        reason = str(error) or type(error).__name__
        raise ValueError(f"{photo.name}: its features cannot be computed: {reason}") from error
    return rounded(computed) if half else computed


def rounded(prepared: Prepared) -> Prepared:
    """Return an image with the node features that a file of half precision would have."""
    problem = prepared.problem
    features = dequantize(quantize(problem.node_features))
    parts = (problem.edges, problem.edge_features, problem.node_sizes)
    return Prepared(LabelingProblem(read_only(features), *parts), prepared.regions)


def preset_key(fitted: FittedPreset) -> str:
    """Hash of all that features depend on, but for the image."""
    parts = [json.dumps([VERSION, fitted.parameters(), fitted.sources()], sort_keys=True).encode()]
    for name, array in sorted(fitted.state.items()):
        parts += [f"{name} {array.dtype.str} {array.shape}".encode(), array.tobytes()]
    return short_hash(b"\n".join(parts))


def short_hash(content: bytes) -> str:
    """Hash of 128 bits."""
    return hashlib.sha256(content).hexdigest()[:32]


def write_prepared(path: Path, prepared: Prepared, half: bool = False) -> None:
    """Write a file, with checksums."""
    problem = prepared.problem
    features: Arrays = {"node_features": np.asarray(problem.node_features, dtype="<f4")}
    if half:
        numbers, exponent = quantize(problem.node_features)
        features = {"node_features": numbers, "exponent": exponent}
    arrays: Arrays = {
        **features,
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
        names = "edges", "edge_features", "node_sizes"
        problem = LabelingProblem(full_features(arrays), *(arrays[name] for name in names))
        regions = arrays["regions"]
        check_shape(regions, "regions", (None, None))
        check_range(regions, "regions", problem.n_nodes, "regions")
        if not np.array_equal(np.bincount(regions.ravel(), minlength=problem.n_nodes), problem.node_sizes):
            raise ValueError("its regions are not as large as its nodes")
        return Prepared(problem, regions)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError) as error:
        warnings.warn(f"{path}: damaged ({error}); it is made anew", StoreWarning, stacklevel=2)
        return None


def full_features(arrays: Arrays) -> NDArray[Any]:
    """Return the node features in single precision; those of files of half precision are a copy."""
    features = arrays["node_features"]
    if features.dtype != np.float16:
        return features
    check_shape(arrays["exponent"], "exponent", (1,))
    return read_only(dequantize(Quantized(features, arrays["exponent"])))


def read_features(path: Path, out: NDArray[np.float32], half: bool) -> None:
    """Read the node features of a file into an array of their shape."""
    if not half:
        read_array(path, "node_features", out)
        return
    numbers = read_array(path, "node_features", np.empty(out.shape, dtype=np.float16))
    dequantize(Quantized(numbers, read_array(path, "exponent", np.empty(1, dtype=np.int32))), out)
