"""Superpixels: an image cut into regions.

Regions are int32 [H, W] with the labels 0..V-1, all used, each region 4-connected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from skimage.segmentation import felzenszwalb, slic

from multiutility.arrays import IndexArray
from multiutility.vision.regions.basins import basins
from multiutility.vision.regions.borders import adjacency, boundary_strength
from multiutility.vision.regions.boundary import FloatMap, Image, boundary_map
from multiutility.vision.regions.merging import connected, merge_regions

__all__ = [
    "Felzenszwalb",
    "RegionMerging",
    "Slic",
    "Superpixels",
    "adjacency",
    "boundary_map",
    "boundary_strength",
]


class Superpixels(Protocol):
    """A way to cut an image into regions; implementations are frozen dataclasses of plain numbers."""

    def __call__(self, image: Image) -> IndexArray:
        """Cut the image uint8 [H, W, 3] into regions int32 [H, W]."""

    def resized(self, n_regions: int) -> Self:
        """Return the same way, set to give about so many regions for a photograph of 320 x 213 pixels."""


@dataclass(frozen=True)
class Slic:
    """Regions of even size by k-means in color and place (Achanta et al. 2012).

    >>> import numpy as np
    >>> image = np.zeros((20, 30, 3), dtype=np.uint8)
    >>> image[:, 15:] = 255
    >>> regions = Slic(n_segments=6)(image)
    >>> bool(np.isin(regions[:, :15], regions[:, 15:]).any())
    False
    """

    n_segments: int = 250
    compactness: float = 10.0
    sigma: float = 0.0

    def __call__(self, image: Image) -> IndexArray:
        """Cut the image uint8 [H, W, 3] into regions int32 [H, W]."""
        regions = slic(image, self.n_segments, self.compactness, sigma=self.sigma, start_label=0)
        return connected(regions, min_size=1)

    def resized(self, n_regions: int) -> Self:
        """Return the same with another number of regions."""
        return replace(self, n_segments=n_regions)


@dataclass(frozen=True)
class Felzenszwalb:
    """Regions of very different sizes by greedy merging of pixels (Felzenszwalb and Huttenlocher 2004).

    A larger ``scale`` or ``min_size`` (in pixels) gives fewer regions; ``sigma`` smooths the image first.
    """

    scale: float = 60.0
    sigma: float = 0.5
    min_size: int = 60

    def __call__(self, image: Image) -> IndexArray:
        """Cut the image uint8 [H, W, 3] into regions int32 [H, W]."""
        regions = felzenszwalb(image, self.scale, self.sigma, self.min_size)
        return connected(regions, self.min_size)

    def resized(self, n_regions: int) -> Self:
        """Return the same with scale and least size set for about so many regions, by experience."""
        return replace(self, scale=max(1.0, 15000.0 / n_regions), min_size=max(1, 15000 // n_regions))


@dataclass(frozen=True)
class RegionMerging:
    """The regions of a hierarchy of boundaries, cut where ``n_regions`` are left (Arbelaez et al. 2011).

    Starts from the basins of the boundary map, of ``min_size`` pixels at least, and merges the two neighbors
    with the weakest common border again and again. The strength of a border is the mean of the map along it,
    times the size of the smaller region to the power ``size_power``: with 0, small spots of high contrast
    would outlive large regions.
    """

    n_regions: int = 100
    min_size: int = 30
    size_power: float = 0.5

    def __call__(self, image: Image) -> IndexArray:
        """Cut the image uint8 [H, W, 3] into regions int32 [H, W]."""
        return self.cut(boundary_map(image))

    def cut(self, boundary: FloatMap) -> IndexArray:
        """Cut an image with this boundary map into regions."""
        parts = connected(basins(boundary), min_size=self.min_size)
        return merge_regions(parts, boundary, self.n_regions, self.size_power)

    def resized(self, n_regions: int) -> Self:
        """Return the same with another number of regions."""
        return replace(self, n_regions=n_regions)
