"""Memory within a limit: what a process has, and arrays that are read anew when there is no room for them."""

from __future__ import annotations

import mmap
import re
import sys
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
# One part in so many of a limit is left to what comes and goes, such as products of matrices.
SLACK = 16
# Arrays that are read one after another and then once more, as those of a mini-batch: there is room for so
# many among those that come and go.
WORKING_SET = 20
# Reads between two looks at the memory of the process, at most.
LOOK_EVERY = 64
# Arrays are put into chunks whose sizes are multiples of a part of the next power of two, so that those of
# about the same size can take each other's place.
CHUNK_PARTS = 8


class MemoryLimitError(ValueError):
    """A limit of memory that is too small; says what is needed at least."""


def n_bytes(size: int | str, name: str = "memory_limit") -> int:
    """Return a number of bytes, which may be given with a unit.

    >>> n_bytes("2GB"), n_bytes("1.5 GiB"), n_bytes(1000)
    (2000000000, 1610612736, 1000)
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", str(size))
    if found is None or found[2].upper() not in UNITS or float(found[1]) <= 0:
        raise ValueError(f"{name} is {size!r}: expected bytes, or a size such as 2GB or 500MB")
    return int(float(found[1]) * UNITS[found[2].upper()])


def as_text(size: float) -> str:
    """Return a number of bytes as people write it, rounded up.

    >>> as_text(2_400_000_001), as_text(1_000_000), as_text(12)
    ('2.5GB', '1MB', '1MB')
    """
    megabytes = -(-size // 10**6)
    return f"{-(-size // 10**8) / 10:g}GB" if megabytes >= 1000 else f"{max(megabytes, 1):.0f}MB"


def resident_memory() -> int:
    """Return the bytes of memory that this process has, pages of mapped files included."""
    import psutil  # noqa: PLC0415 -- for limits only: all else works with NumPy, SciPy and scikit-learn alone

    return int(psutil.Process().memory_info().rss)


@dataclass(frozen=True)
class MemoryLimit:
    """The bytes of memory that a process may have, in all."""

    n_bytes: int

    def __call__(self, held: int) -> int:
        """Bytes for arrays of a cache, of which ``held`` are there: what everything else leaves."""
        return self.n_bytes - self.n_bytes // SLACK - (resident_memory() - held)

    def check(self, needed: int, what: str) -> None:
        """Raise unless there is room for what is needed besides all that is there now, but for caches."""
        held = sum(cache.held for cache in list(_all_caches))
        least = (resident_memory() - held + needed) * SLACK / (SLACK - 1)
        if least > self.n_bytes:
            fix = "allow more, or learn from fewer images"
            raise MemoryLimitError(
                f"memory_limit is {as_text(self.n_bytes)}: {what} takes at least {as_text(least)}; {fix}"
            )


@dataclass(frozen=True)
class NoLimit:
    """As much memory as the system gives."""

    def __call__(self, held: int) -> int:
        """Bytes for arrays of a cache, of which ``held`` are there."""
        del held
        return sys.maxsize


class Room(Protocol, Hashable):
    """Says how many bytes the arrays of a cache may take, given how many they take."""

    def __call__(self, held: int) -> int:
        """Bytes for arrays of a cache, of which ``held`` are there."""


class Chunks:
    """Memory for arrays: taken from the system and given back in whole chunks, and used again in between.

    The allocator of the C library may keep what is freed, so that nobody knows how much is left of a limit;
    and fresh pages cost more than reading a file into used ones.
    """

    def __init__(self) -> None:
        self.held = 0
        self._free: dict[int, list[mmap.mmap]] = {}
        # Arrays end whenever their last view does, in any thread, and even while the lock of a cache is held.
        self._returned: deque[mmap.mmap] = deque()

    def take(self, size: int, room: int) -> mmap.mmap:
        """Return a chunk of at least the size; a new one replaces free ones if there is no room for all."""
        self._collect()
        rounded = chunk_size(size)
        fitting = self._free.get(rounded)
        if fitting:
            return fitting.pop()
        self.shrink(room - rounded)
        self.held += rounded
        return new_chunk(rounded)

    def array(self, chunk: mmap.mmap, shape: Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array in a chunk, which is free again when neither the array nor a view of it is left."""
        flat: NDArray[Any] = np.frombuffer(chunk, dtype, int(np.prod(shape)))
        weakref.finalize(flat, self._returned.append, chunk).atexit = False
        return flat.reshape(shape)

    def shrink(self, held: int) -> None:
        """Give free chunks back to the system until there are no more than so many bytes."""
        self._collect()
        for size, chunks in self._free.items():
            while chunks and self.held > held:
                # Not closed, but left to its end: an array that is just ending may not be gone yet.
                chunks.pop()
                self.held -= size

    def _collect(self) -> None:
        while self._returned:
            chunk = self._returned.popleft()
            self._free.setdefault(len(chunk), []).append(chunk)


def new_chunk(size: int) -> mmap.mmap:
    """Return memory that is the system's again when nobody refers to it."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    # Not shared, as it would be by default: that is slower, and processes that are forked would write to it.
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def chunk_size(size: int) -> int:
    """Return the size of the chunk for an array of a size.

    >>> chunk_size(100_000), chunk_size(1)
    (106496, 4096)
    """
    step = max(mmap.PAGESIZE, (1 << max(size - 1, 1).bit_length()) // 2 // CHUNK_PARTS)
    return -(-max(size, 1) // step) * step


class ArrayCache:
    """Arrays that can be read again, of which as many are kept as there is room for.

    ``room`` says how many bytes there are, given how many are held. Who learns passes over all arrays again
    and again, in an order that is always new: then arrays that stay save more reads than the latest ones
    would. So the first arrays stay while there is room, and the others come and go in the rest of it. If the
    room becomes less, so does what is kept. Threads may share a cache.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.n_read = 0
        self._chunks = Chunks()
        self._lock = threading.Lock()
        self._staying: OrderedDict[Hashable, NDArray[Any]] = OrderedDict()
        self._passing: OrderedDict[Hashable, NDArray[Any]] = OrderedDict()
        self._sizes = [0, 0]
        # As with chunks: the end of an array's last owner comes at any time.
        self._forgotten: deque[Hashable] = deque()
        self._stay_within = 0
        self._largest = 0
        self._until_look = LOOK_EVERY
        _all_caches.add(self)

    @property
    def held(self) -> int:
        """Bytes of memory that the arrays take, with chunks that are free for others."""
        return self._chunks.held

    def get(
        self, key: Hashable, shape: Sequence[int], dtype: DTypeLike, fill: Callable[[NDArray[Any]], None]
    ) -> NDArray[Any]:
        """Return an array that is kept, or that ``fill`` writes into the one it is given; it is read-only."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        with self._lock:
            self._until_look -= 1
            found = self._staying.get(key)
            if found is None and key in self._passing:
                self._passing.move_to_end(key)
                found = self._passing[key]
            if found is not None:
                if self._until_look <= 0:
                    self._fit(0)
                return found
            chunk = self._chunks.take(size, self._fit(size))
        array = self._chunks.array(chunk, shape, dtype)
        fill(array)
        array.flags.writeable = False
        with self._lock:
            self.n_read += size
            self._keep(key, array)
        return array

    def forget_with(self, owner: object, key: Hashable) -> None:
        """Do not keep an array for longer than its owner is there."""
        weakref.finalize(owner, self._forgotten.append, key).atexit = False

    def _forget(self) -> None:
        while self._forgotten:
            key = self._forgotten.popleft()
            for arrays in (self._passing, self._staying):
                array = arrays.pop(key, None)
                if array is not None:
                    self._count(arrays, -chunk_size(array.nbytes))

    def make_room(self, size: int) -> None:
        """Give memory back, so that something else of a size fits beside what is left."""
        with self._lock:
            self._evict(self.room(self._chunks.held) - size, 0)

    def _fit(self, size: int) -> int:
        """Make room for an array of the size, as far as nobody has the others; return the room for all."""
        self._until_look = LOOK_EVERY
        self._largest = max(self._largest, chunk_size(size))
        room = self.room(self._chunks.held)
        self._evict(room, chunk_size(size) if size else 0)
        return room

    def _evict(self, room: int, wanted: int) -> None:
        self._forget()
        working = min(room // 2, WORKING_SET * self._largest)
        self._stay_within = room - working
        # Of those that come and go, the latest are needed next: if the room becomes less, others make way.
        while self._passing and self._sizes[1] + wanted > working:
            self._drop(self._passing)
        while self._staying and self._kept + wanted > room:
            self._drop(self._staying)
        while self._passing and self._kept + wanted > room:
            self._drop(self._passing)
        self._chunks.shrink(room)

    def _drop(self, arrays: OrderedDict[Hashable, NDArray[Any]]) -> None:
        _, array = arrays.popitem(last=False)
        self._count(arrays, -chunk_size(array.nbytes))

    def _keep(self, key: Hashable, array: NDArray[Any]) -> None:
        """Keep an array; two threads may have read it at the same time."""
        if key in self._staying or key in self._passing:
            return
        size = chunk_size(array.nbytes)
        stays = self._sizes[0] + size <= self._stay_within
        arrays = self._staying if stays else self._passing
        arrays[key] = array
        self._count(arrays, size)

    @property
    def _kept(self) -> int:
        return sum(self._sizes)

    def _count(self, arrays: OrderedDict[Hashable, NDArray[Any]], size: int) -> None:
        self._sizes[arrays is self._passing] += size


_all_caches: weakref.WeakSet[ArrayCache] = weakref.WeakSet()
# Of arrays that come from other processes.
_caches: dict[Room, ArrayCache] = {}
_caches_lock = threading.Lock()


def make_room(size: int) -> None:
    """Let all caches give memory back before so many bytes are needed for a while."""
    for cache in list(_all_caches):
        cache.make_room(size)


class CachedArray:
    """An array [n, m] that is read through a cache; ``fill`` writes it into one that it is given.

    Pickled, it takes ``fill`` along, but not the array: another process reads it through a cache of its own,
    of the same limit.

    >>> cache = ArrayCache(lambda held: 10**6)
    >>> ones = CachedArray(cache, (2, 3), np.float32, lambda out: out.fill(1))
    >>> ones.read().sum(), ones.read() is ones.read(), cache.n_read
    (np.float32(6.0), True, 24)
    """

    def __init__(
        self,
        cache: ArrayCache,
        shape: tuple[int, int],
        dtype: DTypeLike,
        fill: Callable[[NDArray[Any]], None],
    ) -> None:
        self.shape = shape
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._cache = cache
        self._fill = fill
        # Not this object: the cache would keep itself alive by it.
        self._key = object()
        cache.forget_with(self, self._key)

    def read(self) -> NDArray[Any]:
        """Return the array, read-only; who keeps it keeps its memory."""
        return self._cache.get(self._key, self.shape, self.dtype, self._fill)

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (self._cache.room, self.shape, self.dtype.str, self._fill)


def reopened(
    room: Room, shape: tuple[int, int], dtype: str, fill: Callable[[NDArray[Any]], None]
) -> CachedArray:
    """Return an array of another process, read through the cache that this one has for such a limit."""
    with _caches_lock:
        cache = _caches.setdefault(room, ArrayCache(room))
    return CachedArray(cache, shape, dtype, fill)
