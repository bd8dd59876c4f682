"""Arrays in files: safetensors with checksums, mapped into memory, and read with care."""

from __future__ import annotations

import json
import mmap
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from multiutility.files import replacing

Arrays: TypeAlias = dict[str, NDArray[Any]]

DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1", "BOOL": "|b1"}
# Far more than any file of ours has; JSON takes many times its size in memory.
MAX_HEADER = 8 * 2**20


class ArrayFileError(ValueError):
    """A file that is damaged, or no file of arrays; says why, without its name."""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], *, durable: bool = False) -> None:
    """Write arrays with their checksums; see ``replacing`` for how."""
    # One entry, as safetensors writes several in any order.
    sums = json.dumps({name: checksum(array) for name, array in arrays.items()})
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {"checksums": sums})
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


def parsed(content: NDArray[np.uint8]) -> Arrays:
    """Return the arrays in the content of a file; errors may be of many kinds."""
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    if not 8 <= start <= min(len(content), 8 + MAX_HEADER):
        raise ArrayFileError("its header is longer than can be")
    header = json.loads(content[8:start].tobytes())
    sums, arrays = json.loads(header.pop("__metadata__")["checksums"]), {}
    if set(sums) != set(header):
        raise ArrayFileError("it has other arrays than it was written with")
    for name, entry in header.items():
        first, last = (start + whole(offset) for offset in entry["data_offsets"])
        shape = [whole(length) for length in entry["shape"]]
        array = content[first:last].view(DTYPES[entry["dtype"]]).reshape(shape)
        if last > len(content) or checksum(array) != sums[name]:
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
