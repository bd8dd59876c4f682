"""Arrays of the value types: checked on the way in, read-only from then on; sets of nodes; strips of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.int32]
StartArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

# Nodes and labels are stored in 32 bits, for the native core.
MAX_INDEX = 2**31 - 1
# Magnitudes that add up to this at most have no sum or difference that is infinite.
MAX_TOTAL = 1e300
# Pixels of an image that are computed at once.
STRIP_PIXELS = 1 << 20


def strips(first: int, last: int, width: int) -> Iterator[range]:
    """Rows from the first to before the last, in parts of so few pixels that many bytes for each do no harm.

    >>> list(strips(3, 6, width=STRIP_PIXELS // 2))
    [range(3, 5), range(5, 6)]
    """
    n_rows = max(1, STRIP_PIXELS // max(width, 1))
    for row in range(first, last, n_rows):
        yield range(row, min(row + n_rows, last))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Close the array for writing, and return it."""
    array.flags.writeable = False
    return array


def is_immutable(array: object) -> bool:
    """Whether neither the array nor any array that it is a view of can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def freeze(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only C-contiguous array, shared with the caller only if nobody can write to it."""
    if is_immutable(array):
        return read_only(np.ascontiguousarray(array, dtype=dtype))
    return read_only(np.array(array, dtype=dtype, order="C"))


def numeric_array(value: ArrayLike, name: str, kinds: str = "biuf") -> NDArray[Any]:
    """Return the value as an array, without copying, if its dtype is of one of the kinds."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array") from None
    if array.size == 0 and array.dtype.kind == "f":
        array = array if "f" in kinds else array.astype(np.int64)  # np.asarray([]) is an array of floats
    if array.dtype.kind not in kinds:
        expected = "numbers" if "f" in kinds else "booleans" if kinds == "b" else "integers"
        raise TypeError(f"{name} must hold {expected}, not {array.dtype}")
    # Unsigned differences wrap around, and unsigned 64-bit integers turn into floats next to signed ones.
    return array.astype(np.int64) if array.dtype.kind == "u" else array


def index_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return the value as a vector of integers, without copying if it is one."""
    array = numeric_array(value, name, "iu")
    check_shape(array, name, (None,))
    return array


def check_shape(array: NDArray[Any], name: str, shape: Sequence[int | None]) -> None:
    """Raise unless the array has the shape, in which None stands for any length."""
    matches = len(shape) == array.ndim and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not matches:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} has shape {array.shape}: expected [{wanted}]")


def first_index(bad: BoolArray) -> str:
    """Index of the first true element, as users write it."""
    return ", ".join(str(int(axis)) for axis in np.unravel_index(int(np.argmax(bad)), bad.shape))


def check_range(array: NDArray[Any], name: str, n: int, what: str) -> None:
    """Raise unless all elements are in 0..n-1."""
    if array.size and (array.min() < 0 or array.max() >= n):
        bad = (array < 0) | (array >= n)
        value = array[bad].flat[0]
        raise ValueError(f"{name}[{first_index(bad)}] is {value}: {what} must be in 0..{n - 1}")


def check_values(array: NDArray[Any], name: str, what: str, minimum: float = -np.inf) -> None:
    """Raise unless all elements are finite and at least the minimum."""
    # A finite sum has finite terms, and one reduction is faster than one array of booleans for each question.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(array.sum())
    if finite and (minimum == -np.inf or not array.size or array.min() >= minimum):
        return
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(f"{name}[{first_index(bad)}] is {array[bad].flat[0]}: {what} must be finite")
    bad = array < minimum
    if bad.any():
        raise ValueError(f"{name}[{first_index(bad)}] is {array[bad].flat[0]}: {what} must be >= {minimum:g}")


def check_total(**groups: FloatArray) -> None:
    """Raise if the magnitudes of all elements add up to more than MAX_TOTAL, naming the largest.

    >>> check_total(unary=np.array([[1e308], [1e308]]), weights=np.zeros(0))
    Traceback (most recent call last):
    ...
    ValueError: unary[0, 0] is 1e+308: all costs together may add up to 1e+300 at most; scale them down
    """
    if are_moderate(*groups.values()):
        return
    with np.errstate(over="ignore"):
        total = sum(float(np.abs(values).sum()) for values in groups.values())
    if total <= MAX_TOTAL:
        return
    name = max(groups, key=lambda name: float(np.abs(groups[name]).max(initial=0.0)))
    where = np.abs(groups[name]) == np.abs(groups[name]).max()
    largest = f"{name}[{first_index(where)}] is {groups[name][where][0]:g}"
    raise ValueError(f"{largest}: all costs together may add up to {MAX_TOTAL:g} at most; scale them down")


def are_moderate(*arrays: FloatArray) -> bool:
    """Whether elements are finite, and so small that all of them add up to far less than MAX_TOTAL.

    >>> are_moderate(np.array([1e100]), np.zeros((2, 2))), are_moderate(np.array([np.nan]))
    (True, False)
    """
    # Squares with a sum below this are of numbers with a much smaller one; there is no faster question.
    with np.errstate(over="ignore"):
        return all(np.vdot(values, values) < MAX_TOTAL for values in arrays)


def is_frozen(value: ArrayLike, shape: tuple[int, ...]) -> TypeGuard[FloatArray]:
    """Whether the value is an array of floats as they are kept: of this shape, read-only, C-contiguous."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.shape == shape
        and value.flags.c_contiguous
        and is_immutable(value)
    )


def frozen_floats(
    value: ArrayLike, name: str, shape: Sequence[int | None], what: str, minimum: float = -np.inf
) -> FloatArray:
    """Read-only float64 array of finite values, at least the minimum."""
    array = numeric_array(value, name)
    check_shape(array, name, shape)
    check_values(array, name, what, minimum)
    return freeze(array, np.float64)


def frozen_edges(value: ArrayLike, n_nodes: int) -> IndexArray:
    """Read-only int32 [E, 2] without self loops."""
    array = numeric_array(value, "edges", "iu")
    if array.size == 0:
        array = array.reshape(0, 2)
    check_shape(array, "edges", (None, 2))
    check_range(array, "edges", n_nodes, "nodes")
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        e = int(np.argmax(loops))
        raise ValueError(f"edges[{e}] joins node {array[e, 0]} to itself")
    return freeze(array, np.int32)


def frozen_sets(
    starts: ArrayLike, nodes: ArrayLike, labels: ArrayLike, n_nodes: int, n_labels: int, *, kind: str
) -> tuple[StartArray, IndexArray, IndexArray]:
    """Labeled node sets, flat and read-only; the nodes of each are sorted and unique."""
    label_array = index_array(labels, f"{kind}_labels")
    check_range(label_array, f"{kind}_labels", n_labels, "labels")
    node_array = index_array(nodes, f"{kind}_nodes")
    start_array = index_array(starts, f"{kind}_starts")
    check_shape(start_array, f"{kind}_starts", (len(label_array) + 1,))
    if start_array[0] != 0 or start_array[-1] != len(node_array) or (np.diff(start_array) < 0).any():
        raise ValueError(f"{kind}_starts must rise from 0 to {len(node_array)}, the number of {kind}_nodes")
    owner = owners(start_array)
    bad = (node_array < 0) | (node_array >= n_nodes)
    if bad.any():
        where, node = owner[bad][0], node_array[bad][0]
        raise ValueError(f"{kind}s[{where}] has node {node}: nodes must be in 0..{n_nodes - 1}")
    key = owner * MAX_INDEX + node_array
    if (np.diff(key) <= 0).any():
        key = np.unique(key)
        start_array = np.searchsorted(key, np.arange(len(label_array) + 1) * MAX_INDEX)
        node_array = key % MAX_INDEX
    return freeze(start_array, np.int64), freeze(node_array, np.int32), freeze(label_array, np.int32)


def concatenate_sets(sets: Sequence[ArrayLike], name: str) -> tuple[StartArray, NDArray[Any]]:
    """Return starts [S + 1] and concatenated nodes of a list of node sets."""
    arrays = [index_array(nodes, f"{name}[{s}] nodes") for s, nodes in enumerate(sets)]
    starts = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    return starts, np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)


def concatenate(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Read-only concatenation; shares the one array if the other is empty."""
    if not len(second):
        return first
    if not len(first):
        return second
    return read_only(np.concatenate((first, second)))


def concatenate_starts(first: StartArray, second: StartArray) -> StartArray:
    """Return the starts of two concatenated lists of sets."""
    return concatenate(first, second[1:] + first[-1])


def owners(starts: StartArray) -> StartArray:
    """Return the set that each element of flat sets belongs to: [S + 1] to [starts[-1]]."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def any_in_sets(hits: BoolArray, starts: StartArray) -> BoolArray:
    """Whether any element of each set is hit: [..., nnz] to [..., S]; an empty set never is."""
    before = np.zeros((*hits.shape[:-1], hits.shape[-1] + 1), dtype=np.int64)
    np.cumsum(hits, axis=-1, out=before[..., 1:])
    return np.asarray(before[..., starts[1:]] > before[..., starts[:-1]])


def checked_labels(labels: ArrayLike, n_nodes: int, n_labels: int, name: str = "labels") -> NDArray[Any]:
    """Return the labeling as an integer array [V] with values in 0..K-1."""
    array = numeric_array(labels, name, "iu")
    check_shape(array, name, (n_nodes,))
    check_range(array, name, n_labels, "labels")
    return array


def added(arrays: Sequence[FloatArray]) -> FloatArray:
    """Sum of arrays, one after another."""
    total = arrays[0].copy()
    for one in arrays[1:]:
        total += one
    return total
