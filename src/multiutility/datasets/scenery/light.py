"""The hour of the day and the place of the camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.datasets.scenery.noise import PERIOD, Field

# Red, green and blue in 0..1.
Color: TypeAlias = NDArray[np.float32]


def color(values: ArrayLike) -> Color:
    """Color from any three numbers."""
    return np.asarray(values, dtype=np.float32)


def varied(rng: np.random.Generator, values: ArrayLike, brightness: float = 0.15, hue: float = 0.05) -> Color:
    """Color near another one."""
    scale = (1.0 + brightness * rng.uniform(-1, 1)) * (1.0 + hue * rng.uniform(-1, 1, size=3))
    return color(np.clip(color(values) * scale, 0.02, 1.0))


def chosen(rng: np.random.Generator, palette: ArrayLike) -> Color:
    """One color of a palette [n, 3], varied a little."""
    return varied(rng, rng.choice(np.asarray(palette, dtype=np.float64)))


def mixed(first: ArrayLike, second: ArrayLike, part: ArrayLike) -> NDArray[np.float32]:
    """Blend [..., 3] of two colors (or pictures), with the part [...] of the second."""
    weight = np.asarray(part, dtype=np.float32)[..., np.newaxis]
    start = color(first)
    return np.asarray(start + weight * (color(second) - start))


@dataclass(frozen=True, eq=False)
class Light:
    """What light does to all things in a scene: the ``tint`` of the sun, the ``side`` (-1: left) it is on."""

    zenith: Color
    horizon: Color
    tint: Color
    side: float
    contrast: float
    cloudiness: float
    haze: float


# Zenith, horizon, tint, contrast of light and shadow, cloudiness from and to, haze.
HOURS: tuple[tuple[ArrayLike, ArrayLike, ArrayLike, float, tuple[float, float], float], ...] = (
    ((0.22, 0.45, 0.80), (0.70, 0.82, 0.92), (1.00, 0.98, 0.94), 0.30, (-1.2, 0.2), 0.25),
    ((0.35, 0.58, 0.85), (0.80, 0.87, 0.92), (1.05, 1.02, 0.96), 0.35, (-1.5, -0.5), 0.15),
    ((0.60, 0.64, 0.68), (0.78, 0.80, 0.81), (0.82, 0.85, 0.88), 0.10, (0.6, 1.6), 0.40),
    ((0.35, 0.40, 0.62), (0.95, 0.66, 0.42), (1.05, 0.84, 0.64), 0.40, (-0.8, 0.3), 0.35),
    ((0.20, 0.22, 0.42), (0.68, 0.48, 0.48), (0.66, 0.62, 0.70), 0.20, (-0.8, 0.8), 0.30),
    ((0.72, 0.73, 0.74), (0.80, 0.80, 0.80), (0.92, 0.92, 0.92), 0.05, (0.0, 1.0), 1.00),
)
CHANCES = (0.28, 0.22, 0.16, 0.14, 0.10, 0.10)


def make_light(rng: np.random.Generator) -> Light:
    """Light of a random hour: noon, morning, an overcast day, sunset, dusk or fog."""
    zenith, horizon, tint, contrast, clouds, haze = HOURS[rng.choice(len(HOURS), p=CHANCES)]
    return Light(
        zenith=varied(rng, zenith),
        horizon=varied(rng, horizon),
        tint=varied(rng, tint, 0.1, 0.04),
        side=float(rng.choice([-1.0, 1.0])),
        contrast=contrast * rng.uniform(0.7, 1.3),
        cloudiness=rng.uniform(*clouds),
        haze=min(haze * rng.uniform(0.5, 1.2), 0.9),
    )


@dataclass(frozen=True)
class View:
    """A camera over flat ground: row of the horizon (negative: above the picture), height in meters."""

    shape: tuple[int, int]
    horizon: int
    height: float

    @property
    def nearness(self) -> Field:
        """1 at the lower border, 0 at the horizon and above: [H, 1]."""
        rows = np.arange(self.shape[0], dtype=np.float32)[:, np.newaxis]
        return np.asarray(np.clip((rows - self.horizon) / (self.shape[0] - self.horizon), 0.0, 1.0))

    @property
    def ground(self) -> NDArray[np.bool_]:
        """What is under the horizon, bool [H, W]."""
        rows = np.arange(self.shape[0])[:, np.newaxis]
        return np.broadcast_to(rows >= self.horizon, self.shape)

    def beginning(self, row: int) -> View:
        """What is seen from a row on downwards."""
        return View((self.shape[0] - row, self.shape[1]), self.horizon - row, self.height)

    def scale(self, row: float) -> float:
        """Pixels of a meter that stands on the ground at a row."""
        return max(row - self.horizon, 1.0) / self.height

    def on_ground(self, rng: np.random.Generator, source: Field, size: float = 1.0) -> Field:
        """Lay a field on the ground, [H, W]; ``size`` > 1 is coarser. Fades towards the horizon."""
        height, width = self.shape
        distance = 1.0 / np.maximum(self.nearness, 0.04)
        columns = np.arange(width, dtype=np.float32) - width / 2
        across = columns * (distance / size) + rng.uniform(0, PERIOD)
        along = distance * ((height - self.horizon) / size) + rng.uniform(0, PERIOD)
        # Fields repeat, so that the places may be cut to whole numbers with any offset.
        spread = source[along.astype(np.intp) % PERIOD, across.astype(np.intp) % PERIOD]
        return np.asarray(spread * np.clip(2.0 * self.nearness, 0.15, 1.0))
