"""Drawing of things: flat shapes on a small canvas, then texture and light."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw

from multiutility.datasets.scenery.light import Color, Light
from multiutility.datasets.scenery.noise import Field

Point = tuple[float, float]

# Shapes are drawn larger and then reduced, for smooth borders.
OVERSAMPLING = 2


@dataclass(frozen=True, eq=False)
class Sprite:
    """Colors [h, w, 3] in 0..1 and how much they cover, [h, w] in 0..1; the thing stands on the last row."""

    color: Field
    cover: Field

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.cover.shape[0], self.cover.shape[1]

    def toned(self, tone: Field) -> Sprite:
        """Return the sprite with its colors multiplied by a tone [h, w] or [h, w, 3]."""
        factor = tone if tone.ndim == 3 else tone[..., np.newaxis]
        return replace(self, color=self.color * factor)

    def lit(self, light: Light, round_: float = 1.0) -> Sprite:
        """Return the sprite in the light: brighter at the top and on the side of the sun."""
        height, width = self.shape
        down = np.linspace(-1.0, 1.0, height, dtype=np.float32)[:, np.newaxis]
        across = np.linspace(-1.0, 1.0, width, dtype=np.float32) * light.side
        tone = 1.0 + round_ * light.contrast * (0.5 * across - 0.6 * down) - 0.08 * down
        return self.toned(tone[..., np.newaxis] * light.tint)

    def mirrored(self) -> Sprite:
        """Return the sprite looking the other way."""
        return Sprite(self.color[:, ::-1], self.cover[:, ::-1])


class Pen:
    """Draws flat shapes; coordinates run from 0 (top, left) to 1 (bottom), with the same unit across."""

    def __init__(self, pixels: float, aspect: float, base: Color) -> None:
        self._unit = OVERSAMPLING * max(pixels, 4.0)
        size = [OVERSAMPLING * math.ceil(self._unit * side / OVERSAMPLING) for side in (aspect, 1.0)]
        # The base color is everywhere, so that borders do not get the color of an empty canvas.
        self._color = Image.new("RGB", (size[0], size[1]), ink(base))
        self._cover = Image.new("L", (size[0], size[1]), 0)
        self._on_color, self._on_cover = ImageDraw.Draw(self._color), ImageDraw.Draw(self._cover)

    def ellipse(self, x: float, y: float, radius_x: float, radius_y: float, paint: Color) -> None:
        """Fill an ellipse around a point."""
        box = [(v * self._unit) for v in (x - radius_x, y - radius_y, x + radius_x, y + radius_y)]
        self._on_color.ellipse(box, fill=ink(paint))
        self._on_cover.ellipse(box, fill=255)

    def polygon(self, points: Iterable[Point], paint: Color) -> None:
        """Fill a polygon."""
        scaled = [(x * self._unit, y * self._unit) for x, y in points]
        self._on_color.polygon(scaled, fill=ink(paint))
        self._on_cover.polygon(scaled, fill=255)

    def rectangle(self, left: float, top: float, right: float, bottom: float, paint: Color) -> None:
        """Fill a rectangle."""
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], paint)

    def limb(self, points: Iterable[Point], width: float, paint: Color) -> None:
        """Draw a thick line through points, with round ends."""
        scaled = [(x * self._unit, y * self._unit) for x, y in points]
        thick = max(round(width * self._unit), 1)
        self._on_color.line(scaled, fill=ink(paint), width=thick, joint="curve")
        self._on_cover.line(scaled, fill=255, width=thick, joint="curve")
        radius = thick / 2
        for x, y in (scaled[0], scaled[-1]):
            self._on_color.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink(paint))
            self._on_cover.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)

    def sprite(self) -> Sprite:
        """Return what was drawn."""
        pictures = (self._color.reduce(OVERSAMPLING), self._cover.reduce(OVERSAMPLING))
        colors, cover = (np.asarray(picture, dtype=np.float32) / np.float32(255) for picture in pictures)
        return Sprite(colors, cover)


def ink(paint: Color) -> tuple[int, int, int]:
    """Color as Pillow wants it."""
    red, green, blue = (round(255 * min(max(float(value), 0.0), 1.0)) for value in paint)
    return red, green, blue
