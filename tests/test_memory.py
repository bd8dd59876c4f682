"""Limits of memory: sizes as people write them, a cache that keeps within its room, and arrays of others."""

from __future__ import annotations

import gc
import mmap
import pickle
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from multiutility import memory
from multiutility.memory import (
    ArrayCache,
    CachedArray,
    MemoryLimit,
    MemoryLimitError,
    NoLimit,
    chunk_size,
    n_bytes,
    resident_memory,
)
from multiutility.problem import LabelingProblem


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 5 * 10**8), (" 1.5 gib ", 3 * 2**29), ("7", 7), (12, 12), ("2KB", 2000)]
)
def test_sizes(text: str | int, size: int) -> None:
    assert n_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "2 horses", "-1GB", "0", "1e9", "2GB or so"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"memory_limit is .*: expected bytes, or a size such as 2GB"):
        n_bytes(text)


class Files:
    """Arrays of ones, twos and so on, that count how often they are read."""

    def __init__(self, cache: ArrayCache, lengths: list[int]) -> None:
        self.reads = [0] * len(lengths)
        fills = [partial(self._fill, n) for n in range(len(lengths))]
        self.arrays = [
            CachedArray(cache, (length, 1), np.uint8, fill)
            for length, fill in zip(lengths, fills, strict=True)
        ]

    def _fill(self, number: int, out: NDArray[Any]) -> None:
        assert out.flags.writeable
        self.reads[number] += 1
        out.fill(number + 1)

    def check(self, number: int) -> None:
        found = self.arrays[number].read()
        assert found.shape == self.arrays[number].shape
        assert (found == number + 1).all()
        assert not found.flags.writeable


@dataclass
class Changing:
    """A room that tests change."""

    size: int

    def __call__(self, held: int) -> int:
        assert held >= 0
        return self.size

    __hash__ = object.__hash__


STEPS = st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 60)), min_size=1, max_size=60)


@given(
    lengths=st.lists(st.integers(1, 9 * 4096), min_size=10, max_size=10),
    steps=STEPS,
    pages=st.integers(1, 60),
)
def test_a_cache_keeps_within_its_room(
    lengths: list[int], steps: list[tuple[int, int | None]], pages: int
) -> None:
    """Whatever the order, and though the room changes: but for the one array that is asked for."""
    room = Changing(4096 * pages)
    cache = ArrayCache(room)
    files = Files(cache, lengths)
    for number, change in steps:
        held, n_reads = cache.held, sum(files.reads)
        if change is not None:
            room.size = 4096 * change
        files.check(number)
        assert cache.n_read == sum(n * length for n, length in zip(files.reads, lengths, strict=True))
        if sum(files.reads) > n_reads:
            assert cache.held <= max(room.size, chunk_size(lengths[number]))
        else:
            assert cache.held == held


@settings(max_examples=20)
@given(order=st.permutations(range(10)))
def test_the_room_is_made_use_of(order: list[int]) -> None:
    """Arrays for which there is room are read once; of twice as many, a part stays."""
    files = Files(ArrayCache(Changing(10 * 4096)), [4096] * 10)
    for number in [*order, *order[::-1], *order]:
        files.check(number)
    assert files.reads == [1] * 10
    files = Files(ArrayCache(Changing(30 * 4096)), [4096] * 60)
    for number in [*range(60), *range(60)] * 2:
        files.check(number)
    assert sum(count == 1 for count in files.reads) == 15


def test_room_that_becomes_less_is_given_back() -> None:
    room = Changing(2**20)
    cache = ArrayCache(room)
    files = Files(cache, [2**16] * 16)
    for number in range(16):
        files.check(number)
    assert cache.held == 2**20
    room.size = 2**18
    for _ in range(memory.LOOK_EVERY + 1):
        files.check(0)
    assert cache.held <= 2**18


def test_caches_make_room_for_others() -> None:
    cache = ArrayCache(Changing(2**20))
    files = Files(cache, [2**16] * 16)
    for number in range(16):
        files.check(number)
    memory.make_room(3 * 2**18)
    assert cache.held == 2**18
    assert sum(files.reads) == 16
    for number in range(16):
        files.check(number)
    assert sum(files.reads) == 16 + 12
    assert cache.held == 2**20


def test_arrays_in_use_are_not_overwritten() -> None:
    cache = ArrayCache(Changing(0))
    files = Files(cache, [4096] * 8)
    views = [array.read()[1:] for array in files.arrays]
    for number in range(8):
        files.check(number)
        assert (views[number] == number + 1).all()
    assert cache.held >= 8 * 4096
    del views
    files.check(0)
    assert cache.held == 4096


def test_threads_share_a_cache() -> None:
    files = Files(ArrayCache(Changing(20 * 4096)), [4096] * 40)
    wrong: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for number in np.random.default_rng(seed).integers(0, 40, 1500).tolist():
                files.check(number)
        except AssertionError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_nothing_outlives_its_owner() -> None:
    cache = ArrayCache(NoLimit())
    files = Files(cache, [4096] * 4)
    last = weakref.ref(files.arrays[3].read())
    del files.arrays[3]
    files.check(0)
    assert last() is None
    assert cache.held == 4096
    gone = weakref.ref(cache)
    del cache, files
    gc.collect()
    assert gone() is None


def fill_with_sevens(out: NDArray[Any]) -> None:
    out.fill(7)


def test_pickled_problems_take_along_how_to_read() -> None:
    source = CachedArray(ArrayCache(MemoryLimit(10**12)), (1000, 300), np.float32, fill_with_sevens)
    problem = LabelingProblem.from_source(source, [[0, 1]], [[1.0]]).changed(node_sizes=np.full(1000, 2.0))
    pickled = pickle.dumps(problem)
    assert len(pickled) < 20_000
    one, two = pickle.loads(pickled), pickle.loads(pickled)
    assert one.node_features.dtype == np.float32
    assert (one.node_features == 7).all()
    assert one.node_features.shape == (1000, 300) == (one.n_nodes, one.n_features)
    assert not one.edge_features.flags.writeable
    assert two.node_sizes[0] == 2.0
    # All of one limit share its memory.
    assert one.source._cache is two.source._cache is not source._cache


def test_problems_ask_for_features_only_when_these_are_needed() -> None:
    cache = ArrayCache(NoLimit())
    source = CachedArray(cache, (3, 2), np.float64, fill_with_sevens)
    problem = LabelingProblem.from_source(source, [[0, 1], [1, 2]], np.ones((2, 1)), [1, 2, 3])
    other = problem.changed(edges=[[0, 2]], edge_features=[[0.5]])
    assert (other.n_nodes, other.n_features, other.feature_dtype.name) == (3, 2, "float64")
    assert repr(other) == "LabelingProblem(n_nodes=3, n_edges=1, node_features=2, edge_features=1)"
    assert cache.n_read == 0
    assert other.node_features.tolist() == [[7.0, 7.0]] * 3
    assert problem.node_features is other.node_features
    assert cache.n_read == 48
    with pytest.raises(ValueError, match=r"node_sizes has shape \(2,\): expected \[3\]"):
        problem.changed(node_sizes=[1, 2])


def test_memory_of_the_process() -> None:
    before = resident_memory()
    # Pages of its own: an array may take memory that the process has already.
    with mmap.mmap(-1, 4 * 10**7) as block:
        block.write(bytes([1]) * len(block))
        assert 3 * 10**7 < resident_memory() - before < 10**8


def test_a_limit_that_is_too_small_says_what_is_needed() -> None:
    with pytest.raises(MemoryLimitError, match=r"memory_limit is 1MB: this program takes at least [0-9]+MB"):
        MemoryLimit(10**6).check(0, "this program")
    needed = resident_memory()
    with pytest.raises(MemoryLimitError, match="all of it takes at least") as error:
        MemoryLimit(needed + 10**9).check(2 * 10**9, "all of it")
    least = n_bytes(str(error.value).split("at least ")[1].split(";")[0])
    MemoryLimit(least + 10**8).check(2 * 10**9, "all of it")
