"""Small pictures for tests of features."""

from __future__ import annotations

import numpy as np

from multiutility.arrays import IndexArray
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.boundary import Image
from multiutility.vision.regions.superpixels import Slic


def noise_image(height: int, width: int, seed: int = 0) -> Image:
    """Blocks of color with noise: something for every descriptor to see."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (4, 5, 3))
    rows, columns = np.arange(height) * 4 // height, np.arange(width) * 5 // width
    noise = rng.normal(0, 12, (height, width, 3))
    return np.clip(blocks[np.ix_(rows, columns)] + noise, 0, 255).astype(np.uint8)


def noise_picture(height: int = 48, width: int = 64, seed: int = 0, n_segments: int = 30) -> Picture:
    """Such an image with regions."""
    image = noise_image(height, width, seed)
    return Picture(image, Slic(n_segments)(image))


def block_regions(height: int, width: int, size: int) -> IndexArray:
    """Square regions, numbered row by row."""
    n_columns = -(-width // size)
    rows, columns = np.arange(height)[:, np.newaxis] // size, np.arange(width) // size
    return (rows * n_columns + columns).astype(np.int32)
