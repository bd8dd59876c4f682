"""Annotations on images, for people to look at.

Images are uint8 [H, W, 3], masks uint8 [H, W] with 0 for void and label + 1; palettes [K + 1, 3] are the
colors of mask values.
"""

# ruff: noqa: PLC0415 -- Pillow is imported by those who draw: all that have kinds of annotation import this file.
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray, strips

if TYPE_CHECKING:
    from PIL import Image, ImageFont

Picture: TypeAlias = NDArray[np.uint8]
Color: TypeAlias = tuple[int, int, int]
Font: TypeAlias = "ImageFont.FreeTypeFont | ImageFont.ImageFont"

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
# Length of the dashes, and of the gaps between them, in the unit of lines.
DASH = 5


class Sketch:
    """An image that is drawn on, with the names and colors of its labels.

    Kinds draw on the ``canvas`` at once, with lines of a width in ``unit``; names are written where the first
    of them says, in the end, and what is to be above these comes last.
    """

    def __init__(self, image: Picture, names: Sequence[str], palette: Picture) -> None:
        from PIL import Image, ImageDraw

        self.canvas = Image.fromarray(image)
        self.draw = ImageDraw.Draw(self.canvas)
        self.palette = palette
        side = min(image.shape[:2])
        self.unit, self.font = max(1, round(side / 200)), text_font(max(10, side // 20))
        self.listed: list[int] = []
        self._amounts: dict[int, str] = {}
        self.above: list[Callable[[], None]] = []
        self._names = names
        self._places: dict[int, tuple[float, float]] = {}

    def color(self, label: int) -> Color:
        """Color of a label."""
        red, green, blue = self.palette[label + 1].tolist()
        return red, green, blue

    def write_name(self, label: int, x: float, y: float) -> None:
        """Have a name written at a place, unless it is elsewhere already."""
        self._places.setdefault(label, (x, y))

    def list_name(self, label: int, amount: str) -> None:
        """Have a name listed with how much of it there is; once, if it is a tag, too."""
        self._amounts[label] = amount

    def cover(self, mask: Picture) -> None:
        """Lay the colors of a mask over the image."""
        from PIL import Image

        self.canvas.paste(Image.fromarray(overlay(np.asarray(self.canvas), mask, self.palette)))

    def finish(self) -> Picture:
        """Write the names, those that are only listed in the corner, and return the picture."""
        for label, (x, y) in self._places.items():
            draw_name(self.canvas, (int(x), int(y)), self._names[label], self.color(label), self.font)
        listed = dict.fromkeys((*self.listed, *self._amounts))
        names = [(f"{self._names[k]} {self._amounts.get(k, '')}".strip(), self.color(k)) for k in listed]
        draw_list(self.canvas, names, self.font)
        for draw in self.above:
            draw()
        return np.asarray(self.canvas)


def draw_list(canvas: Image.Image, names: Sequence[tuple[str, Color]], font: Font) -> None:
    """Names in lines, from the lower left corner upwards."""
    line, left, bottom = text_height(font) + 3, 3, canvas.height - 3
    for name, color in names:
        if left > 3 and left + name_width(name, font) > canvas.width:
            left, bottom = 3, bottom - line - 2
        draw_name(canvas, (left, bottom - line), name, color, font)
        left += name_width(name, font) + 3


def draw_name(canvas: Image.Image, place: tuple[int, int], name: str, color: Color, font: Font) -> None:
    """A name on its color, moved so that it is in the picture."""
    from PIL import ImageDraw

    x = max(0, min(place[0], canvas.width - name_width(name, font)))
    y = max(0, min(place[1], canvas.height - text_height(font) - 3))
    draw = ImageDraw.Draw(canvas)
    draw.rectangle((x, y, x + name_width(name, font) - 1, y + text_height(font) + 2), fill=color)
    draw.text((x + 3, y + 1), name, fill=contrast(color), font=font)


def draw_dashes(sketch: Sketch, frame: tuple[float, float, float, float], color: Color, width: int) -> None:
    """A frame of dashes, inside of its sides as Pillow draws whole ones."""
    left, top, right, bottom = frame
    step, thick = DASH * sketch.unit, width - 1
    for x in begins(left, right, 2 * step):
        end = min(x + step, right)
        sketch.draw.rectangle((x, top, end, min(top + thick, bottom)), fill=color)
        sketch.draw.rectangle((x, max(bottom - thick, top), end, bottom), fill=color)
    for y in begins(top, bottom, 2 * step):
        end = min(y + step, bottom)
        sketch.draw.rectangle((left, y, min(left + thick, right), end), fill=color)
        sketch.draw.rectangle((max(right - thick, left), y, right, end), fill=color)


def begins(first: float, last: float, step: float) -> list[float]:
    """Where dashes begin, from the first place to the last, which may be one of them."""
    return [place for place in np.arange(first, last + 1, step).tolist() if place <= last]


def contrast(color: Color) -> Color:
    """Black or white, whichever is easier to read on the color.

    >>> contrast((255, 255, 0)), contrast((128, 0, 0))
    ((0, 0, 0), (255, 255, 255))
    """
    red, green, blue = color
    return BLACK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else WHITE


@lru_cache(maxsize=8)
def text_font(size: int) -> Font:
    """Pillow's own font, so that pictures are the same everywhere."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


def text_height(font: Font) -> int:
    """Height of a line of text."""
    return int(font.getbbox("Ag|")[3])


def name_width(name: str, font: Font) -> int:
    """Width of a name on its color."""
    return int(np.ceil(font.getlength(name))) + 6


def paint(mask: Picture, palette: Picture) -> Picture:
    """The colors of the mask.

    >>> paint(np.array([[0, 1]], dtype=np.uint8), np.array([[0, 0, 0], [128, 0, 0]], dtype=np.uint8))[0]
    array([[  0,   0,   0],
           [128,   0,   0]], dtype=uint8)
    """
    if mask.size and mask.max() >= len(palette):
        raise ValueError(f"the mask has the value {mask.max()}: the palette ends at {len(palette) - 1}")
    return np.asarray(palette, dtype=np.uint8)[mask]


def overlay(
    image: Picture, mask: Picture, palette: Picture, opacity: float = 0.55, outline: bool = True
) -> Picture:
    """The mask in its colors over the image, with opaque outlines; void is left as it is.

    >>> image, mask = np.full((1, 2, 3), 200, dtype=np.uint8), np.array([[0, 1]], dtype=np.uint8)
    >>> overlay(image, mask, np.zeros((2, 3), dtype=np.uint8), opacity=0.25, outline=False)[0, :, 0]
    array([200, 150], dtype=uint8)
    """
    check_sizes(image, mask)
    mixed = np.empty_like(image)
    for rows in strips(0, *mask.shape):
        part = slice(rows.start, rows.stop)
        share = np.where(mask[part] > 0, opacity, 0.0)
        if outline:
            # With the rows above and below, which borders depend on.
            above = max(rows.start - 1, 0)
            near = borders(mask[above : rows.stop + 1])[rows.start - above :][: len(rows)]
            share[near & (mask[part] > 0)] = 1.0
        colors = paint(mask[part], palette).astype(np.float64)
        mixed[part] = np.rint(image[part] + share[:, :, np.newaxis] * (colors - image[part]))
    return mixed


def check_sizes(image: Picture, *masks: Picture) -> None:
    """Raise unless the masks are as large as the image."""
    for mask in masks:
        if mask.shape != image.shape[:2]:
            raise ValueError(f"the mask has shape {mask.shape}: the image has {image.shape[:2]}")


def borders(mask: Picture) -> BoolArray:
    """Pixels next to another value above, below, left or right, bool [H, W]."""
    found = np.zeros(mask.shape, dtype=np.bool_)
    down, right = mask[1:] != mask[:-1], mask[:, 1:] != mask[:, :-1]
    for view, differs in ((found, down), (found.T, right.T)):
        view[1:] |= differs
        view[:-1] |= differs
    return found
