"""A scene while it is painted, from far to near, and the camera that takes its picture."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from multiutility.datasets.scenery.light import Light, View, mixed
from multiutility.datasets.scenery.noise import Field, fields, piece
from multiutility.datasets.scenery.sprite import Sprite

VOID = -1


class Canvas:
    """Colors [H, W, 3] with the label (or ``VOID``) and the object (0 for none) of each pixel, [H, W]."""

    def __init__(self, view: View, light: Light) -> None:
        self.view, self.light = view, light
        self.picture: Field = np.zeros((*view.shape, 3), np.float32)
        self.labels: NDArray[np.int16] = np.full(view.shape, VOID, np.int16)
        self.objects: NDArray[np.uint8] = np.zeros(view.shape, np.uint8)

    def fill(self, where: NDArray[np.bool_], label: int, picture: Field, top: int = 0) -> None:
        """Paint stuff where it is; the picture begins at the row ``top``."""
        rows = slice(top, top + len(picture))
        np.copyto(self.picture[rows], picture, where=where[rows, :, np.newaxis])
        self.labels[where] = label

    def stamp(self, sprite: Sprite, x: float, bottom: float, label: int, number: int) -> None:
        """Paint a thing that stands at a point, as far as it is in the picture; ``number`` is its object."""
        top, left = round(bottom) - sprite.shape[0], round(x) - sprite.shape[1] // 2
        window, part = overlap(self.view.shape, sprite.shape, top, left)
        self.picture[window] = mixed(self.picture[window], sprite.color[part], sprite.cover[part])
        inside = sprite.cover[part] >= 0.5
        self.labels[window][inside] = label
        self.objects[window][inside] = number

    def shade(self, sprite: Sprite, x: float, bottom: float, grounds: Collection[int]) -> None:
        """Cast the shadow of a thing onto the ground, away from the sun."""
        shadow = lying(sprite, self.light.side)
        left = round(x) - sprite.shape[1] // 2
        if self.light.side > 0:
            left -= shadow.shape[1] - sprite.shape[1]
        window, part = overlap(self.view.shape, shadow.shape, round(bottom) - shadow.shape[0], left)
        depth = 0.9 * self.light.contrast * shadow[part] * np.isin(self.labels[window], list(grounds))
        self.picture[window] *= (1.0 - depth)[..., np.newaxis]

    def photograph(self, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Return the picture as a camera takes it: uneven light, exposure, a little blur, noise."""
        height, width = self.view.shape
        sharp = Image.fromarray(self._exposed(rng)).point(3 * gamma_curve(rng.uniform(0.8, 1.2)))
        near = math.exp(-0.5 / rng.uniform(0.35, 1.1) ** 2)
        kernel = [a * b for a in (near, 1.0, near) for b in (near, 1.0, near)]
        blurred = np.asarray(sharp.filter(ImageFilter.Kernel((3, 3), kernel)))
        noise = rng.standard_normal((height, width, 3), dtype=np.float32) * np.float32(rng.uniform(2.0, 10.0))
        return np.asarray(np.clip(noise + blurred, 0, 255), dtype=np.uint8)

    def _exposed(self, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Light that falls off to the sides, shadows of clouds, and what the camera does to colors."""
        height, width = self.view.shape
        down = np.linspace(-1, 1, height, dtype=np.float32)[:, np.newaxis]
        across = np.linspace(-1, 1, width, dtype=np.float32)
        slope, falloff = rng.uniform(-0.12, 0.12, 2).tolist(), rng.uniform(0.0, 0.08)
        shadow = 0.5 * self.light.contrast * rng.uniform(-0.3, 0.3)
        tone = shadow * piece(rng, fields().clouds, (height, width))
        tone += 1.0 + slope[0] * down + slope[1] * across - falloff * (down**2 + across**2)
        saturation, balance = rng.uniform(0.4, 1.2), rng.uniform(0.88, 1.12, 3) * rng.uniform(0.85, 1.15)
        mixing = saturation * np.eye(3) + (1.0 - saturation) / 3
        exposed = self.picture @ (255.0 * balance[:, np.newaxis] * mixing).astype(np.float32)
        exposed *= tone[..., np.newaxis]
        return np.clip(exposed, 0.0, 255.0, out=exposed).astype(np.uint8)


def gamma_curve(exponent: float) -> list[int]:
    """Table of bytes.

    >>> gamma_curve(1.0) == list(range(256))
    True
    """
    return [round(255 * (step / 255) ** exponent) for step in range(256)]


def lying(sprite: Sprite, side: float) -> Field:
    """Cover of a thing laid flat, its top slanting away from the sun."""
    flat = sprite.cover[::4]
    height, width = flat.shape
    shadow = np.zeros((height, width + height), np.float32)
    for row in range(height):
        shift = height - row if side < 0 else row
        shadow[row, shift : shift + width] = flat[row]
    return shadow


def overlap(
    shape: tuple[int, int], other: tuple[int, ...], top: int, left: int
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Return the window of a picture that another one covers, and the part of the other that is seen there.

    >>> overlap((10, 10), (4, 4), top=-1, left=8)
    ((slice(0, 3, None), slice(8, 10, None)), (slice(1, 4, None), slice(0, 2, None)))
    """
    starts = [min(max(first, 0), size) for first, size in zip((top, left), shape, strict=True)]
    stops = [
        max(min(first + length, size), start)
        for first, length, size, start in zip((top, left), other, shape, starts, strict=True)
    ]
    rows, columns = (slice(start, stop) for start, stop in zip(starts, stops, strict=True))
    return (rows, columns), (
        slice(rows.start - top, rows.stop - top),
        slice(columns.start - left, columns.stop - left),
    )


def borders(labels: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Pixels with a neighbor of another label, bool [H, W].

    >>> borders(np.array([[0, 0, 0, 1]], dtype=np.int16))
    array([[False, False,  True,  True]])
    """
    found = np.zeros(labels.shape, bool)
    across, down = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    found[:, 1:] |= across
    found[:, :-1] |= across
    found[1:] |= down
    found[:-1] |= down
    return found
