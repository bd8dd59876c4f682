"""Arrays in files: safetensors with checksums, mapped into memory, and read with care."""

from __future__ import annotations

import json
import math
import mmap
import os
import sys
import zlib
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.files import replacing

Arrays: TypeAlias = dict[str, NDArray[Any]]

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1"}
DTYPES["BOOL"] = "|b1"
# Files of before have checksums of values only, not of what the values are.
FORMAT = 2
# Far more than any file of ours has; JSON takes many times its size in memory.
MAX_HEADER = 8 * 2**20


class ArrayFileError(ValueError):
    """A file that is damaged, or no file of arrays; says why, without its name."""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], *, durable: bool = False) -> None:
    """Write arrays with their checksums; see ``replacing`` for how."""
    from safetensors.numpy import save  # noqa: PLC0415 -- files only: all else works without it

    # One entry, as safetensors writes several in any order.
    sums = {name: checksum(name, array) for name, array in arrays.items()}
    facts = json.dumps({"format": FORMAT, "sums": sums})
    content = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()}, {"checksums": facts}
    )
    with replacing(path, durable=durable) as file:
        file.write(content)


def read_arrays(path: Path) -> Arrays:
    """Map the arrays of a file, read-only; raise ``ArrayFileError`` if anything about it is wrong.

    Nothing that the file says is believed: memory is taken for what is in it only, and no code is run.
    """
    try:
        return parsed(np.frombuffer(contents(path), np.uint8))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ArrayFileError(str(error) or type(error).__name__) from None


def read_array(path: Path, name: str, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Read one array into memory, without its checksum; raise ``ArrayFileError`` if anything else is wrong.

    It is written to ``out``, if that is given, which must be contiguous and of its shape and dtype.
    """
    try:
        with path.open("rb", buffering=0) as file:
            return read_part(file, name, out)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ArrayFileError(str(error) or type(error).__name__) from None


def read_part(file: FileIO, name: str, out: NDArray[Any] | None) -> NDArray[Any]:
    """Return an array of an open file; errors may be of many kinds."""
    size = os.fstat(file.fileno()).st_size
    start = header_end(file.read(8), size)
    entry = json.loads(file.read(start - 8))[name]
    first, last = (start + whole(offset) for offset in entry["data_offsets"])
    shape, dtype = tuple(whole(length) for length in entry["shape"]), np.dtype(DTYPES[entry["dtype"]])
    # Memory is taken for what is in the file only.
    if not (first <= last <= size and math.prod(shape) * dtype.itemsize == last - first):
        raise ArrayFileError(f"{name} is not as long as it should be")
    array = np.empty(shape, dtype) if out is None else out
    if (array.shape, array.dtype) != (shape, dtype):
        raise ArrayFileError(f"{name} is {dtype} of shape {shape}, not {array.dtype} of {array.shape}")
    file.seek(first)
    view, done = array.data.cast("B") if array.size else memoryview(b""), 0
    while done < last - first:
        count = file.readinto(view[done:])
        if not count:
            raise ArrayFileError(f"{name} ends too early")
        done += count
    return array


def header_end(first: bytes, size: int) -> int:
    """Return where the header of a file of a size ends, given its first 8 bytes."""
    end = 8 + int.from_bytes(first, "little")
    if not 8 <= end <= min(size, 8 + MAX_HEADER):
        raise ArrayFileError("its header is longer than can be")
    return end


def parsed(content: NDArray[np.uint8]) -> Arrays:
    """Return the arrays in the content of a file; errors may be of many kinds."""
    start = header_end(content[:8].tobytes(), len(content))
    header = json.loads(content[8:start].tobytes())
    facts, arrays = json.loads(header.pop("__metadata__")["checksums"]), {}
    if facts.get("format") != FORMAT:
        raise ArrayFileError("it was written by another version of multiutility")
    sums = facts["sums"]
    if set(sums) != set(header):
        raise ArrayFileError("it has other arrays than it was written with")
    for name, entry in header.items():
        first, last = (start + whole(offset) for offset in entry["data_offsets"])
        shape = [whole(length) for length in entry["shape"]]
        array = content[first:last].view(DTYPES[entry["dtype"]]).reshape(shape)
        if last > len(content) or checksum(name, array) != sums[name]:
            raise ArrayFileError(f"{name} has changed since it was written")
        arrays[name] = array
    return arrays


def whole(number: Any) -> int:
    """Return a number of a header that counts something."""
    if type(number) is not int or number < 0:
        raise ArrayFileError(f"{number!r} is not a size")
    return number


def contents(path: Path) -> mmap.mmap | bytes:
    """Return a file, mapped into memory if possible."""
    with path.open("rb") as file:
        if sys.version_info >= (3, 13) and sys.platform != "win32":
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
    # None for mappings: Windows replaces no mapped file, such as a checkpoint that learning goes on from.
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415  (not on Windows)

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def checksum(name: str, array: NDArray[Any]) -> int:
    """CRC-32 of an array: its name, dtype and shape, and its values."""
    kind = f"{name} {array.dtype.str} {array.shape}"
    return zlib.crc32(np.ascontiguousarray(array).data, zlib.crc32(kind.encode()))


def encode_text(text: str) -> NDArray[np.uint8]:
    """Text as an array.

    >>> decode_text(encode_text("gras"))
    'gras'
    """
    return np.frombuffer(text.encode(), np.uint8)


def decode_text(array: NDArray[Any]) -> str:
    """Return the text of an array."""
    return array.astype(np.uint8).tobytes().decode()


def prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays under longer names.

    >>> prefixed("a", {"x": np.zeros(1)})
    {'a.x': array([0.])}
    """
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """Return the arrays that were given this prefix, under their own names."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
