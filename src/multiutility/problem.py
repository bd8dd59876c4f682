"""What is to be labeled: a graph with features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.arrays import (
    FloatArray,
    IndexArray,
    check_shape,
    check_values,
    freeze,
    frozen_edges,
    frozen_floats,
    numeric_array,
    read_only,
)

FeatureArray: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class LabelingProblem:
    """A graph to be labeled: features of nodes and edges, and sizes of nodes.

    ``node_features`` is [V, D], ``edges`` [E, 2], ``edge_features`` [E, e] with values >= 0 (similarities),
    ``node_sizes`` [V] with values > 0 (for superpixels: pixels), or None for ones. Features keep the dtypes
    float32 and float64. All arrays are read-only; read-only or memory-mapped features are shared, not copied.

    >>> problem = LabelingProblem([[0.1, 0.9], [0.8, 0.2]], edges=[[0, 1]], edge_features=[[0.5]])
    >>> problem
    LabelingProblem(n_nodes=2, n_edges=1, node_features=2, edge_features=1)
    >>> problem.node_sizes
    array([1., 1.])
    """

    node_features: FeatureArray
    edges: IndexArray
    edge_features: FeatureArray
    node_sizes: FloatArray

    def __init__(
        self,
        node_features: ArrayLike,
        edges: ArrayLike,
        edge_features: ArrayLike,
        node_sizes: ArrayLike | None = None,
    ) -> None:
        nodes = frozen_features(node_features, "node_features", None, -np.inf)
        edges = frozen_edges(edges, len(nodes))
        similarities = frozen_features(edge_features, "edge_features", len(edges), 0.0)
        sizes = np.ones(len(nodes)) if node_sizes is None else node_sizes
        sizes = frozen_floats(sizes, "node_sizes", (len(nodes),), "node sizes")
        empty = sizes <= 0
        if empty.any():
            i = int(np.argmax(empty))
            raise ValueError(f"node_sizes[{i}] is {sizes[i]}: node sizes must be > 0")
        for name, value in zip(self.__slots__, (nodes, edges, similarities, sizes), strict=True):
            object.__setattr__(self, name, value)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_features)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable: rebuild instead of restoring the slots.
        return LabelingProblem, tuple(getattr(self, name) for name in self.__slots__)

    def __repr__(self) -> str:
        widths = f"node_features={self.node_features.shape[1]}, edge_features={self.edge_features.shape[1]}"
        return f"LabelingProblem(n_nodes={self.n_nodes}, n_edges={self.n_edges}, {widths})"


def frozen_features(value: ArrayLike, name: str, length: int | None, minimum: float) -> FeatureArray:
    """Read-only features [length, any] that keep the dtypes float32 and float64."""
    array = numeric_array(value, name)
    check_shape(array, name, (length, None))
    check_values(array, name, "features", minimum)
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if is_mapped(array) and array.flags.c_contiguous and array.dtype == dtype:
        return read_only(array.view(np.ndarray))
    return freeze(array, dtype)


def is_mapped(array: object) -> bool:
    """Whether the array is a view of a memory-mapped file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False
