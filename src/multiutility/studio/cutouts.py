"""Outlines of things that somebody clicked on, or drew a box around: fast enough to wait for."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray
from multiutility.datasets.images import read_image
from multiutility.studio.marks import mapping, number_of
from multiutility.studio.stamps import Stamp, stamp
from multiutility.vision.regions.cutout import Hints, cut_out

# Pixels that are cut within about a second; what is larger is made smaller first.
MOST_PIXELS = 60_000
# What is around a box, in parts of its sides, shows what the thing is not.
AROUND = 0.25


@dataclass(frozen=True)
class Window:
    """A part of an image, in whole pixels, and where in the image somebody clicked, if that is how."""

    left: int
    top: int
    right: int
    bottom: int
    click: tuple[int, int] | None

    @classmethod
    def from_json(cls, data: Any, size: tuple[int, int]) -> Window:
        """Return what a page sent for an image [H, W]; raises ``ValueError`` for anything else."""
        names = ("left", "top", "right", "bottom")
        fields = mapping(data, (*names, "click"))
        left, top, right, bottom = (round(number_of(fields[name])) for name in names)
        if not (0 <= left < right <= size[1] and 0 <= top < bottom <= size[0]):
            raise ValueError("the window is not within the image")
        if fields["click"] is None:
            return cls(left, top, right, bottom, None)
        place = mapping(fields["click"], ("x", "y"))
        x, y = (round(number_of(place[name])) for name in ("x", "y"))
        if not (left <= x < right and top <= y < bottom):
            raise ValueError("the click is not within the window")
        return cls(left, top, right, bottom, (x, y))

    def widened(self, size: tuple[int, int]) -> Window:
        """The window with what is around it, within an image [H, W]."""
        across = max(3, round(AROUND * (self.right - self.left)))
        down = max(3, round(AROUND * (self.bottom - self.top)))
        return Window(
            max(0, self.left - across),
            max(0, self.top - down),
            min(size[1], self.right + across),
            min(size[0], self.bottom + down),
            None,
        )

    def of(self, image: NDArray[Any]) -> NDArray[Any]:
        """The part of an array [H, W, ...]."""
        return image[self.top : self.bottom, self.left : self.right]


class Cutouts:
    """Cuts things out of images; the last image is kept, as people cut one thing after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[Path, Stamp | None, NDArray[np.uint8]] | None = None

    def cut(self, path: Path, window: Window) -> BoolArray:
        """Return which pixels of the window are of the thing, bool [H, W]."""
        with self._lock:
            image = self._image(path)
            return clicked(image, window) if window.click else boxed(image, window)

    def _image(self, path: Path) -> NDArray[np.uint8]:
        now = stamp(path)
        if self._last is None or self._last[:2] != (path, now):
            self._last = path, now, read_image(path)
        return self._last[2]


def boxed(image: NDArray[np.uint8], box: Window) -> BoolArray:
    """The thing that a box is around; all outside of the box is something else."""
    around = box.widened(image.shape[:2])
    part = around.of(image)
    small = shrunk(part)
    down, across = (new / old for new, old in zip(small.shape[:2], part.shape[:2], strict=True))
    sides = (
        int((box.left - around.left) * across),
        int((box.top - around.top) * down),
        int(np.ceil((box.right - around.left) * across)),
        int(np.ceil((box.bottom - around.top) * down)),
    )
    found = enlarged(cut_out(small, Hints.of_box(small.shape[:2], sides)), part.shape[:2])
    inner = Window(
        box.left - around.left, box.top - around.top, box.right - around.left, box.bottom - around.top, None
    )
    return inner.of(found)


def clicked(image: NDArray[np.uint8], window: Window) -> BoolArray:
    """The thing that was clicked on, as far as it is in the window."""
    assert window.click is not None  # who calls this has one
    part = window.of(image)
    small = shrunk(part)
    x, y = window.click
    row = (y - window.top) * small.shape[0] // part.shape[0]
    column = (x - window.left) * small.shape[1] // part.shape[1]
    return enlarged(cut_out(small, Hints.of_click(small, row, column)), part.shape[:2])


def shrunk(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The image with so few pixels that it is cut at once."""
    height, width = image.shape[:2]
    factor = min(1.0, (MOST_PIXELS / (height * width)) ** 0.5)
    size = max(1, round(width * factor)), max(1, round(height * factor))
    if factor == 1:
        return np.ascontiguousarray(image)
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def enlarged(pixels: BoolArray, size: tuple[int, int]) -> BoolArray:
    """Pixels at another size [H, W], with a smooth border."""
    values = cv2.resize(pixels.astype(np.float32), (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(values > 0.5)
