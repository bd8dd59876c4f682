"""What descriptors see of an image: its pixels, its regions, and what follows from both."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multiutility.arrays import IndexArray
from multiutility.vision.regions.borders import Borders
from multiutility.vision.regions.boundary import FloatMap, Image, boundary_map, lab_colors

Value = TypeVar("Value")


class Picture:
    """An image uint8 [H, W, 3] with its regions int32 [H, W]; everything derived is computed once.

    The ``boundary`` map may be given, if it is known.

    >>> regions = np.array([[0, 0, 1], [0, 0, 1]], dtype=np.int32)
    >>> picture = Picture(np.zeros((2, 3, 3), dtype=np.uint8), regions)
    >>> picture.n_regions, picture.sizes.tolist(), picture.edges.tolist()
    (2, [4, 2], [[0, 1]])
    """

    def __init__(self, image: Image, regions: IndexArray, boundary: FloatMap | None = None) -> None:
        if image.shape[:2] != regions.shape:
            raise ValueError(f"image has shape {image.shape}, but regions {regions.shape}")
        self.image = image
        self.regions = regions
        if boundary is not None:
            self.boundary = boundary
        self._known: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return what ``compute()`` gave when the key was first asked for.

        It lets descriptors share work on one picture. Keys are, or hold, the descriptor that asks; as fitted
        state is no part of a key, a picture serves one preset only.
        """
        if key not in self._known:
            self._known[key] = compute()
        value: Value = self._known[key]
        return value

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.regions.shape[0], self.regions.shape[1]

    @cached_property
    def n_regions(self) -> int:
        """Number of regions V."""
        return int(self.regions.max()) + 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Pixels of each region, [V]."""
        return np.bincount(self.regions.ravel(), minlength=self.n_regions)

    @cached_property
    def lab(self) -> FloatMap:
        """The image in CIE Lab, float32 [H, W, 3]: L in 0..100, a and b about -128..127."""
        return lab_colors(self.image)

    @cached_property
    def gray(self) -> NDArray[np.uint8]:
        """The image in gray, uint8 [H, W]."""
        return np.asarray(cv2.cvtColor(self.image, cv2.COLOR_RGB2GRAY), np.uint8)

    @cached_property
    def borders(self) -> Borders:
        """Pairs of pixels across borders."""
        return Borders.of(self.regions)

    @property
    def edges(self) -> IndexArray:
        """Pairs of regions with a common border, int32 [E, 2]."""
        return self.borders.edges

    @cached_property
    def boundary(self) -> FloatMap:
        """The boundary map, float32 [H, W] in 0..255."""
        return boundary_map(self.image)

    @cached_property
    def strength(self) -> NDArray[np.float64]:
        """Mean of the boundary map along each edge's border, [E]."""
        return self.borders.means(self.boundary)

    @cached_property
    def membership(self) -> csr_array:
        """Which pixels a region has, as a sparse float32 matrix [V, H * W]."""
        order = np.argsort(self.regions.ravel(), kind="stable")
        starts = np.concatenate(([0], np.cumsum(self.sizes)))
        shape = (self.n_regions, self.regions.size)
        return csr_array((np.ones(order.size, dtype=np.float32), order, starts), shape=shape)

    @cached_property
    def neighbors(self) -> csr_array:
        """Common border of each two regions in pixel pairs, as a sparse symmetric float32 matrix [V, V]."""
        ends, others = self.edges.T.ravel(), self.edges[:, ::-1].T.ravel()
        lengths = np.tile(self.borders.lengths.astype(np.float32), 2)
        return csr_array((lengths, (ends, others)), shape=(self.n_regions, self.n_regions))

    def pool_sum(self, pixelwise: NDArray[Any]) -> NDArray[np.float32]:
        """Sums over the pixels of each region: [H, W, D] to [V, D]."""
        values = pixelwise.reshape(self.regions.size, -1)
        return np.asarray(self.membership @ values.astype(np.float32, copy=False), dtype=np.float32)

    def pool_mean(self, pixelwise: NDArray[Any]) -> NDArray[np.float32]:
        """Means over the pixels of each region: [H, W, D] to [V, D]."""
        return np.asarray(self.pool_sum(pixelwise) / self.sizes[:, np.newaxis], dtype=np.float32)
