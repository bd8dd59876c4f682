"""Photographs on their way to the features: from files or arrays, and no larger than needed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.images import image_size, read_image
from multiutility.kinds import KINDS, PixelAnnotation

ImageArray: TypeAlias = NDArray[np.uint8]
Shape: TypeAlias = tuple[int, int]


class Photo(Protocol):
    """Anything with a name and pixels."""

    @property
    def name(self) -> str:
        """Name for messages."""

    def size(self) -> Shape:
        """Height and width."""

    def image(self) -> ImageArray:
        """RGB pixels [H, W, 3]."""

    def fingerprint(self) -> str:
        """Hash of the content, without decoding."""


@dataclass(frozen=True)
class FilePhoto:
    """An image file."""

    name: str
    path: Path

    def size(self) -> Shape:
        """Height and width, without decoding."""
        return image_size(self.path)

    def image(self) -> ImageArray:
        """RGB pixels [H, W, 3]."""
        return read_image(self.path)

    def fingerprint(self) -> str:
        """Hash of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, eq=False)
class ArrayPhoto:
    """Pixels in memory, uint8 [H, W, 3], or [H, W] for grey."""

    name: str
    pixels: ImageArray

    def __post_init__(self) -> None:
        shape, dtype = self.pixels.shape, self.pixels.dtype
        if dtype != np.uint8 or 0 in shape or not (len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)):
            wanted = "expected uint8 of shape [H, W, 3] (RGB) or [H, W] (grey)"
            raise ValueError(f"{self.name} is {dtype} of shape {list(shape)}: {wanted}")

    def size(self) -> Shape:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    def image(self) -> ImageArray:
        """RGB pixels [H, W, 3]."""
        return self.pixels if self.pixels.ndim == 3 else np.repeat(self.pixels[..., np.newaxis], 3, axis=2)

    def fingerprint(self) -> str:
        """Hash of shape and pixels."""
        return hashlib.sha256(repr(self.pixels.shape).encode() + self.pixels.tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class Opened:
    """A photo whose pixels are kept once they have been asked for."""

    photo: Photo

    @property
    def name(self) -> str:
        """Name of the photo."""
        return self.photo.name

    def size(self) -> Shape:
        """Height and width."""
        return self.photo.size()

    @cached_property
    def pixels(self) -> ImageArray:
        """RGB pixels [H, W, 3]."""
        return self.photo.image()

    def image(self) -> ImageArray:
        """RGB pixels [H, W, 3]."""
        return self.pixels

    def fingerprint(self) -> str:
        """Hash of the photo."""
        return self.photo.fingerprint()


@dataclass(frozen=True)
class Shrunk:
    """A photo, shrunk so that its longer side is at most ``max_side``; smaller ones stay as they are."""

    photo: Photo
    max_side: int

    @property
    def name(self) -> str:
        """Name of the photo."""
        return self.photo.name

    def size(self) -> Shape:
        """Height and width."""
        return working_size(self.photo.size(), self.max_side)

    def image(self) -> ImageArray:
        """RGB pixels [H, W, 3]."""
        image = self.photo.image()
        height, width = working_size(image.shape[:2], self.max_side)
        if (height, width) == image.shape[:2]:
            return image
        return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)

    def fingerprint(self) -> str:
        """Hash of the photo and the size."""
        return f"{self.photo.fingerprint()}-{self.max_side}"


def photos(images: Sequence[str | Path | ImageArray]) -> list[Photo]:
    """Return photos of paths and arrays, in the same order.

    >>> [photo.name for photo in photos(["a.jpg", np.zeros((2, 3, 3), np.uint8)])]
    ['a.jpg', 'images[1]']
    """
    return [photo(image, f"images[{n}]") for n, image in enumerate(images)]


def photo(image: str | Path | ImageArray, name: str) -> Photo:
    """Return the photo of a path, or of an array under the name."""
    if isinstance(image, str | Path):
        return FilePhoto(str(image), Path(image))
    return ArrayPhoto(name, np.asarray(image))


def working_size(size: Sequence[int], max_side: int) -> Shape:
    """Height and width in the same proportion, with the longer side at most ``max_side``.

    >>> working_size((3000, 4000), 400), working_size((213, 320), 400)
    ((300, 400), (213, 320))
    >>> working_size((213, 320), 10**400)
    (213, 320)
    """
    height, width = size
    # Compared as whole numbers: a model file may have any.
    if max_side >= max(height, width):
        return height, width
    factor = max_side / max(height, width)
    return max(1, round(height * factor)), max(1, round(width * factor))


def resized(annotation: PixelAnnotation, size: Shape, new_size: Shape) -> PixelAnnotation:
    """Return the annotation of an image [H, W] for the same image at another size.

    >>> from multiutility.kinds import PixelSeed
    >>> seed = resized(PixelAnnotation(seeds=(PixelSeed(1, x=7, y=2),)), (4, 8), (2, 4)).seeds[0]
    >>> seed.x, seed.y
    (3, 1)
    """
    if size == new_size:
        return annotation
    values = {kind.name: kind.resized(annotation.value(kind), size, new_size) for kind in KINDS}
    return replace(annotation, **values, instances=None)


def enlarged(mask: NDArray[np.uint8], size: Shape) -> NDArray[np.uint8]:
    """Return a mask [H, W] at another size, with borders that are smooth, not stairs.

    Each label is interpolated on its own, and the strongest wins.

    >>> enlarged(np.array([[1, 2]], dtype=np.uint8), (1, 6))
    array([[1, 1, 1, 2, 2, 2]], dtype=uint8)
    """
    if mask.shape == size:
        return mask
    result = np.zeros(size, dtype=np.uint8)
    strongest = np.zeros(size, dtype=np.uint8)
    for label in np.unique(mask).tolist():
        part = np.where(mask == label, np.uint8(255), np.uint8(0))
        strength = cv2.resize(part, size[::-1], interpolation=cv2.INTER_LINEAR)
        stronger = strength > strongest
        result[stronger] = label
        strongest[stronger] = strength[stronger]
    return result
