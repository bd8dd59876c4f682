"""The run-length encoding of brush strokes in Label Studio: the binary format of the library rle-pack.

A stream of bits, the most significant of a byte first: the number of words (32 bits), the size of a word
minus 1 (5 bits), four sizes of counts minus 1 (4 bits each); then chunks, until all words are there: 1 bit
that tells a run from a list, 2 bits that choose the size of the count, the count minus 1, and one word, or as
many as counted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

HEADER_BITS = 32 + 5 + 4 * 4
COUNT_SIZES = (3, 4, 8, 16)
WORD_SIZE = 8


def decode(data: Iterable[int], max_words: int) -> NDArray[np.unsignedinteger]:
    """Words [N] of encoded bytes; raises ``ValueError`` if they are damaged, or for more than ``max_words``.

    >>> decode([0, 0, 0, 3, 57, 27, 252, 64, 32], max_words=100)
    array([1, 1, 1], dtype=uint8)
    """
    packed = bytes(data)
    n_bits = 8 * len(packed)
    if n_bits < HEADER_BITS:
        raise ValueError(f"{len(packed)} bytes are less than a header")
    # Of one big number, each part would take time in proportion to all of it; so bits are taken from bytes.
    position = 0

    def take(size: int) -> int:
        nonlocal position
        first, last = position >> 3, position + size + 7 >> 3
        if position + size > n_bits:
            raise ValueError(f"ends after {n_words} of {n_total} values")
        window = int.from_bytes(packed[first:last], "big")
        position += size
        return window >> 8 * last - position & (1 << size) - 1

    n_words = n_total = 0
    n_total = take(32)
    word_size = take(5) + 1
    count_sizes = [take(4) + 1 for _ in range(4)]
    if n_total > max_words:
        raise ValueError(f"has {n_total} values, expected at most {max_words}")
    words: NDArray[np.unsignedinteger] = np.zeros(n_total, np.uint8 if word_size <= WORD_SIZE else np.uint32)
    while n_words < n_total:
        run = take(1)
        count = take(count_sizes[take(2)]) + 1
        if n_words + count > n_total:
            raise ValueError(f"has more values than the {n_total} it tells of")
        words[n_words : n_words + count] = take(word_size) if run else [take(word_size) for _ in range(count)]
        n_words += count
    return words


def encode(words: ArrayLike) -> list[int]:
    """Bytes of words [N] in 0..255, all in runs.

    >>> encode([1, 1, 1])
    [0, 0, 0, 3, 57, 27, 252, 64, 32]
    """
    values = np.asarray(words)
    if values.ndim != 1 or values.min(initial=0) < 0 or values.max(initial=0) > 255:
        raise ValueError(f"words {values.shape}: expected [N] in 0..255")
    bits = [(len(values), 32), (WORD_SIZE - 1, 5), *((size - 1, 4) for size in COUNT_SIZES)]
    starts = np.flatnonzero(np.r_[len(values) > 0, values[1:] != values[:-1]])
    for value, length in zip(
        values[starts].tolist(), np.diff(starts, append=len(values)).tolist(), strict=True
    ):
        for count in _portions(length):
            choice = next(k for k, size in enumerate(COUNT_SIZES) if count <= 1 << size)
            bits += [(1, 1), (choice, 2), (count - 1, COUNT_SIZES[choice]), (value, WORD_SIZE)]
    text = "".join(f"{value:0{size}b}" for value, size in bits)
    return [int(text[first : first + 8].ljust(8, "0"), 2) for first in range(0, len(text), 8)]


def _portions(length: int) -> list[int]:
    longest = 1 << COUNT_SIZES[-1]
    return [longest] * (length // longest) + [rest for rest in [length % longest] if rest]
