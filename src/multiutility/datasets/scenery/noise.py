"""Random fields that textures are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Field: TypeAlias = NDArray[np.float32]

# Fields repeat after so many pixels; pieces are cut at random places, so that it is rarely seen.
PERIOD = 512


@dataclass(frozen=True)
class Fields:
    """Fields [512, 512] of mean 0 and deviation 1 that continue at the opposite border."""

    clouds: Field
    rough: Field
    grain: Field
    leaves: Field
    blades: Field
    waves: Field
    tiles: Field


@cache
def fields() -> Fields:
    """Make all fields, always the same: what differs between pictures is where they are cut.

    The amplitude of each falls with the frequency (``rough``: many octaves, ``clouds``: the low ones mostly,
    ``grain``: all alike), or is in a band (``leaves``); ``blades`` are upright, ``waves`` lie, and ``tiles``
    are bricks.
    """
    rng = np.random.default_rng(2013)
    down, across = np.meshgrid(*2 * [np.fft.fftfreq(PERIOD) * PERIOD], indexing="ij")
    radius = np.hypot(down, across)
    narrow, wide = np.hypot(down * 4, across), np.hypot(down, across * 4)
    return Fields(
        clouds=field(rng, power(radius, 1.9)),
        rough=field(rng, power(radius, 1.3)),
        grain=field(rng, power(radius, 0.3)),
        leaves=field(rng, band(radius, 70.0)),
        blades=field(rng, band(narrow, 110.0) + 0.3 * power(radius, 1.0)),
        waves=field(rng, band(wide, 70.0) + 2.0 * band(wide, 25.0)),
        tiles=tiles(rng),
    )


def power(frequency: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Amplitudes that fall with a power of the frequency."""
    return np.asarray(np.maximum(frequency, 1.0) ** -exponent)


def band(frequency: NDArray[np.float64], center: float) -> NDArray[np.float64]:
    """Amplitudes of a wide band around a frequency, in waves for each period; scaled like ``power(., 1)``."""
    return np.asarray(np.exp(-0.5 * (np.log(np.maximum(frequency, 1e-3) / center) / 0.6) ** 2) / center)


def field(rng: np.random.Generator, amplitude: NDArray[np.float64]) -> Field:
    """Gaussian field with the amplitudes of its frequencies given."""
    spectrum = np.fft.fft2(rng.standard_normal(amplitude.shape)) * amplitude
    spectrum[0, 0] = 0.0
    values = np.fft.ifft2(spectrum).real
    return np.asarray(values / values.std(), dtype=np.float32)


def tiles(rng: np.random.Generator) -> Field:
    """Bricks of 16 x 32 with joints between them, each of a tone of its own."""
    rows, columns = np.mgrid[:PERIOD, :PERIOD]
    shifted = columns + 16 * (rows // 16 % 2)
    tones = rng.standard_normal((PERIOD // 16, PERIOD // 32))
    values = tones[rows // 16, shifted // 32 % (PERIOD // 32)]
    values[(rows % 16 < 2) | (shifted % 32 < 2)] = -2.5
    values -= values.mean()
    return np.asarray(values / values.std(), dtype=np.float32)


def piece(rng: np.random.Generator, source: Field, shape: tuple[int, int], step: float = 1.0) -> Field:
    """Cut a piece at a random place, mirrored or not; with ``step`` > 1 all is so much smaller."""
    top, left = rng.integers(PERIOD, size=2)
    mirror = -1 if rng.random() < 0.5 else 1
    rows = (top + (np.arange(shape[0]) * step).astype(np.intp)) % PERIOD
    columns = (left + mirror * (np.arange(shape[1]) * step).astype(np.intp)) % PERIOD
    return np.asarray(source[rows[:, np.newaxis], columns])


def curve(rng: np.random.Generator, source: Field, length: int) -> Field:
    """Cut a row at a random place; its mean is 0 and its largest absolute value 1."""
    values = piece(rng, source, (1, length))[0]
    values = values - values.mean()
    return np.asarray(values / np.abs(values).max())
