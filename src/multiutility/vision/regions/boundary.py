"""Where boundaries run in an image, and how strong they are."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from multiutility import _core

Image: TypeAlias = NDArray[np.uint8]
FloatMap: TypeAlias = NDArray[np.float32]

# Texture counts about as much as color; borders of photographs spread over 0..255.
TEXTURE_WEIGHT = np.float32(8.0)
GAIN = np.float32(4.0)


def boundary_map(image: Image) -> FloatMap:
    """How strong a boundary runs through each pixel: float32 [H, W] in 0..255.

    The geometric mean of two gradients: that of color at a fine scale, which says where the boundary is, and
    that of color and texture at a coarse scale, which is low inside textures. Differences of means under
    Gaussians, in the direction where they are largest, stand for the half discs of Martin et al. (2004).

    >>> image = np.zeros((40, 60, 3), dtype=np.uint8)
    >>> image[:, 30:] = 255
    >>> boundary = boundary_map(image)
    >>> bool(boundary[:, 30].min() > 100), bool(boundary[:, :10].max() < 1)
    (True, True)
    """
    lab = lab_colors(image)
    busy = texture(np.ascontiguousarray(lab[..., 0]))
    # What is smooth at a scale of 8 pixels loses nothing by a quarter of the resolution.
    coarse = gradient(quarter(lab), 2.0)
    # OpenCV averages no more than four channels at once.
    thirds = [quarter(np.asarray(cv2.merge(busy[c : c + 3]), dtype=np.float32)) for c in (0, 3)]
    coarse += TEXTURE_WEIGHT * gradient(np.concatenate(thirds, axis=2), 2.0)
    support = cv2.resize(coarse, image.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    found = gradient(lab, 2.0)
    found *= support
    np.sqrt(found, out=found)
    found *= GAIN
    return np.minimum(found, np.float32(255), out=found)


def lab_colors(image: Image) -> FloatMap:
    """The image in CIE Lab, float32 [H, W, 3]: L in 0..100, a and b about -128..127."""
    return np.asarray(cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), dtype=np.float32)


def texture(lightness: FloatMap) -> list[FloatMap]:
    """How busy each pixel is: fine edges of four angles, and spots of two sizes, six maps [H, W]."""
    across = cv2.Sobel(lightness, cv2.CV_32F, 1, 0) / 8
    down = cv2.Sobel(lightness, cv2.CV_32F, 0, 1) / 8
    spots = cv2.Laplacian(lightness, cv2.CV_32F) / 4
    fine, wide = (cv2.GaussianBlur(lightness, (0, 0), sigma) for sigma in (1.5, 3.0))
    half = np.float32(np.sqrt(0.5))
    found = (across, down, half * (across + down), half * (across - down), spots, fine - wide)
    return [np.sqrt(np.abs(one, out=one), out=one) for one in found]


def quarter(channels: FloatMap) -> FloatMap:
    """Means of squares of 4 x 4 pixels, or nearly: [H, W, 3] to [H / 4, W / 4, 3]."""
    height, width = channels.shape[:2]
    size = max(1, width // 4), max(1, height // 4)
    return np.asarray(cv2.resize(channels, size, interpolation=cv2.INTER_AREA), dtype=np.float32)


def gradient(channels: FloatMap, sigma: float) -> FloatMap:
    """Largest change of all channels [H, W, D] together in any direction, per ``sigma`` pixels: [H, W]."""
    smooth = cv2.GaussianBlur(channels, (0, 0), sigma)
    across, down = (
        np.asarray(cv2.Sobel(smooth, cv2.CV_32F, x, 1 - x), np.float32).reshape(-1, channels.shape[2])
        for x in (1, 0)
    )
    return largest_change(across, down, sigma / 8).reshape(channels.shape[:2])


def largest_change(across: FloatMap, down: FloatMap, factor: float) -> FloatMap:
    """Largest change of all channels in any direction, of those across and down [N, D] times a factor: [N].

    It is the root of the larger eigenvalue of their tensor.
    """
    if across.shape != down.shape:
        raise ValueError(f"changes across have shape {across.shape}, but those down {down.shape}")
    return _core.largest_change(across, down, factor)
