"""Seeds: single points with a label, and how much each node weighs around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import FloatArray, IndexArray, check_values, freeze, index_array, numeric_array


class Mass(Protocol):
    """Weight of the nodes around a seed, for an expected object size ``tau`` >= 0."""

    def __call__(self, tau: float) -> FloatArray:
        """Weights [V] >= 0, in the unit of the node sizes; of infinitely many nodes, they add up to tau."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Gaussian:
    """Gaussian of eq. kappa-il-os around one cell of a grid, summed over the cells of each node.

    ``mass_i = cell sum_{p in i} exp(-pi cell |p - position|^2 / tau)``. ``regions`` is the node of each cell
    of a grid of any dimension: superpixels of an image [H, W], or positions in a text [V]. A read-only int32
    array is shared by the seeds that are given it, not copied. ``cell`` is the size of a cell in the unit of
    the node sizes. For ``tau = 0`` the limit is meant: the cell itself.

    >>> mass = Gaussian(np.array([0, 1, 1, 2]), position=(1,))
    >>> mass(2.0).round(4)
    array([0.2079, 1.2079, 0.0019])
    >>> mass(0.0)
    array([0., 1., 0.])
    """

    regions: IndexArray
    position: tuple[int, ...]
    cell: float

    def __init__(self, regions: ArrayLike, position: Sequence[int], cell: float = 1.0) -> None:
        nodes = numeric_array(regions, "regions", "iu")
        check_values(nodes, "regions", "nodes", minimum=0)
        place = tuple(index_array(position, "position").tolist())
        inside = len(place) == nodes.ndim and all(
            0 <= index < length for index, length in zip(place, nodes.shape, strict=True)
        )
        if not inside:
            raise ValueError(f"position is {place}: it must be inside regions, of shape {nodes.shape}")
        if not 0 < cell < np.inf:
            raise ValueError(f"cell is {cell}: the size of a cell must be > 0")
        object.__setattr__(self, "regions", freeze(nodes, np.int32))
        object.__setattr__(self, "position", place)
        object.__setattr__(self, "cell", float(cell))

    @property
    def node(self) -> int:
        """The node of the position."""
        return int(self.regions[self.position])

    def __call__(self, tau: float) -> FloatArray:
        """Mass of each node [V]."""
        weights = np.full((1,) * self.regions.ndim, self.cell)
        for axis, (place, length) in enumerate(zip(self.position, self.regions.shape, strict=True)):
            squares = (np.arange(length) - place) ** 2.0
            # A Gaussian is the product of one for each axis.
            factor = np.exp(-np.pi * self.cell * squares / tau) if tau > 0 else squares == 0
            weights = weights * np.expand_dims(
                factor, tuple(a for a in range(self.regions.ndim) if a != axis)
            )
        return np.asarray(np.bincount(self.regions.ravel(), weights.ravel()), dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Seed:
    """A point with a label: its node, and the mass of the nodes around it for any object size.

    >>> regions = np.array([[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> seed = Seed.in_grid(3, (0, 1), regions)
    >>> seed, seed.mass(4.0).round(2)
    (Seed(label=3, node=0), array([2.12, 0.73]))
    """

    label: int
    node: int
    mass: Mass

    @classmethod
    def in_grid(cls, label: int, position: Sequence[int], regions: ArrayLike, cell: float = 1.0) -> Self:
        """Seed at a cell of a grid: the position is an index into ``regions`` (row, column), see Gaussian."""
        mass = Gaussian(regions, position, cell)
        return cls(label, mass.node, mass)

    def __repr__(self) -> str:
        return f"Seed(label={self.label}, node={self.node})"
