"""Features in 16 bits: numbers of half precision, and one power of two for all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Exponents of float32 are so much larger than those of float16.
BIAS = 112
# Bits of the sign, of an exponent of 5 bits and of a significand of 10, where float32 has them.
KEPT = np.int32(-0x70002000)  # 0x8fffe000
# What is smaller is no normal float32.
LEAST_EXPONENT = -126


class Quantized(NamedTuple):
    """Numbers float16 of any shape, to be multiplied by ``2 ** exponent``, int32 [1]."""

    numbers: NDArray[np.float16]
    exponent: NDArray[np.int32]


def quantize(features: NDArray[Any]) -> Quantized:
    """Return finite features in half of the memory.

    The largest is just below the largest float16, so that none overflows, and none that is more than 2^-29 of
    it has an error of more than one part in 2048.

    >>> dequantize(quantize(np.array([[2.0**20, 3.0, 1 / 3]], dtype=np.float32)))
    array([[1.0485760e+06, 3.0000000e+00, 3.3325195e-01]], dtype=float32)
    """
    largest = float(np.abs(features).max(initial=0.0))
    exponent = max(int(np.frexp(largest)[1]) - 15, LEAST_EXPONENT)
    # In double precision: a power of two may be beyond float32, though its product with features is not.
    numbers = np.ldexp(np.asarray(features, dtype=np.float64), -exponent).astype(np.float16)
    return Quantized(numbers, np.array([exponent], dtype=np.int32))


def dequantize(quantized: Quantized, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return the features as float32, in ``out`` if it is given; they are exactly what was kept."""
    numbers, exponent = quantized
    found = np.empty(numbers.shape, dtype=np.float32) if out is None else out
    # As casts do, which take several times as long: bits are moved to their places, and the exponents raised.
    bits = found.view(np.int32)
    np.left_shift(numbers.view(np.int16), 13, out=bits, dtype=np.int32)
    np.bitwise_and(bits, KEPT, out=bits)
    np.multiply(found, np.float32(2.0**BIAS), out=found)
    return np.multiply(found, np.float32(2.0 ** int(exponent[0])), out=found)
