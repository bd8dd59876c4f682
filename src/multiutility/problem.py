"""What is to be labeled: a graph with features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

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


class FeatureSource(Protocol):
    """Features [V, D] that may be somewhere else, such as in a file; they are the same at every reading."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of nodes and features."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    def read(self) -> FeatureArray:
        """Return the features, read-only and finite."""


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """Features that are in memory."""

    features: FeatureArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of nodes and features."""
        return self.features.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.features.dtype

    def read(self) -> FeatureArray:
        """Return the features."""
        return self.features

    def __reduce__(self) -> tuple[Any, ...]:
        return held, (self.features,)


def held(features: ArrayLike) -> Held:
    """Return checked features; a copy, if they are not read-only."""
    return Held(frozen_features(features, "node_features", None, -np.inf))


@dataclass(frozen=True, init=False, eq=False, repr=False)
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

    # Not by dataclass, which makes another class for them: then properties cannot be protected (3.11).
    __slots__ = ("edge_features", "edges", "node_sizes", "source")

    source: FeatureSource
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
        self._store(held(node_features), edges, edge_features, node_sizes)

    @classmethod
    def from_source(
        cls,
        source: FeatureSource,
        edges: ArrayLike,
        edge_features: ArrayLike,
        node_sizes: ArrayLike | None = None,
    ) -> Self:
        """Problem whose node features are read from a source, each time that somebody asks for them."""
        problem = cls.__new__(cls)
        problem._store(source, edges, edge_features, node_sizes)
        return problem

    def _store(
        self,
        source: FeatureSource,
        edges: ArrayLike,
        edge_features: ArrayLike,
        node_sizes: ArrayLike | None,
    ) -> None:
        n_nodes = source.shape[0]
        edges = frozen_edges(edges, n_nodes)
        similarities = frozen_features(edge_features, "edge_features", len(edges), 0.0)
        sizes = np.ones(n_nodes) if node_sizes is None else node_sizes
        sizes = frozen_floats(sizes, "node_sizes", (n_nodes,), "node sizes")
        empty = sizes <= 0
        if empty.any():
            i = int(np.argmax(empty))
            raise ValueError(f"node_sizes[{i}] is {sizes[i]}: node sizes must be > 0")
        for name, value in zip(self.__slots__, (similarities, edges, sizes, source), strict=True):
            object.__setattr__(self, name, value)

    @property
    def node_features(self) -> FeatureArray:
        """Features of the nodes, [V, D]; they may be read from a file: who keeps many keeps their memory."""
        return self.source.read()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.source.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features of a node, D."""
        return self.source.shape[1]

    @property
    def feature_dtype(self) -> np.dtype[Any]:
        """Precision of the features of nodes."""
        return self.source.dtype

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    def changed(
        self,
        *,
        edges: ArrayLike | None = None,
        edge_features: ArrayLike | None = None,
        node_sizes: ArrayLike | None = None,
    ) -> Self:
        """Problem with the same node features, which are neither read nor copied.

        >>> problem = LabelingProblem([[0.1], [0.8]], edges=[[0, 1]], edge_features=[[0.5]])
        >>> problem.changed(node_sizes=[2, 3]).node_sizes
        array([2., 3.])
        """
        return self.from_source(
            self.source,
            self.edges if edges is None else edges,
            self.edge_features if edge_features is None else edge_features,
            self.node_sizes if node_sizes is None else node_sizes,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays come back writeable: rebuild instead of restoring the slots.
        return self.from_source, (self.source, self.edges, self.edge_features, self.node_sizes)

    def __repr__(self) -> str:
        widths = f"node_features={self.n_features}, edge_features={self.edge_features.shape[1]}"
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
