"""Fixed-seed energies for the benchmarks: plain arrays that every peer can read.

A `Family` is a kind of energy at one size and one strength of coupling; its seeds are its instances. Several
couplings stand side by side on purpose: how hard an instance is, and who wins on it, depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

PIXELS_PER_NODE = 16
PLANTED_NOISE = 0.7
FLOW_UNIT = 10_000
"""Max-flow capacities are whole multiples of 1 / FLOW_UNIT, so that integer solvers lose nothing."""


class Instance(NamedTuple):
    """One energy: unary [V, K], edges [E, 2], weights [E], and S subset costs in CSR form."""

    name: str
    unary: Floats
    edges: Ints
    weights: Floats
    subset_starts: NDArray[np.int64]
    subset_nodes: Ints
    subset_labels: Ints
    subset_costs: Floats

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what the peers get: their bindings know label costs [K] (or none, [0]), not subsets."""
        n_nodes, n_labels = self.unary.shape
        whole = np.diff(self.subset_starts) == n_nodes
        costs = np.zeros(n_labels if len(whole) else 0)
        costs[self.subset_labels[whole]] = self.subset_costs[whole]
        return {"unary": self.unary, "edges": self.edges, "weights": self.weights, "label_costs": costs}


class FlowInstance(NamedTuple):
    """One minimum cut: capacity source -> i and i -> sink [V], and both directions of every edge [E, 2]."""

    name: str
    source: Floats
    sink: Floats
    edges: Ints
    capacities: Floats

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what the peers get: the capacities, and the unit that makes them integers."""
        terminals: dict[str, NDArray[np.generic]] = {"source": self.source, "sink": self.sink}
        return terminals | {"edges": self.edges, "capacities": self.capacities, "unit": np.array(FLOW_UNIT)}


class Subset(NamedTuple):
    """Pay `cost` once if any node of `nodes` takes `label`."""

    nodes: Ints
    label: int
    cost: float


@dataclass(frozen=True)
class Family:
    """Energies that share kind, size and strengths.

    `kind` is "random" (unaries uniform on [0, 1]) or "planted" (a segmentation plus noise); edge weights are
    uniform on [0, coupling], label costs on [0, label_cost]; `row_cost` > 0 adds rows and columns of boxes.
    `shape` is (n_nodes,) for a Delaunay graph of random points or (height, width) for a 4-connected grid.
    """

    kind: str
    shape: tuple[int, ...]
    n_labels: int
    coupling: float
    label_cost: float = 0.0
    row_cost: float = 0.0
    seeds: tuple[int, ...] = (0, 1, 2, 3)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(np.prod(self.shape))

    @property
    def name(self) -> str:
        """Name of the case in tables, and stem of the instances' names."""
        size = "x".join(map(str, self.shape))
        labels = f"-c{self.label_cost:g}" if self.label_cost else ""
        rows = f"-rows{self.row_cost:g}" if self.row_cost else ""
        return f"{self.kind}-{size}-k{self.n_labels}-w{self.coupling:g}{labels}{rows}"

    def instances(self) -> list[Instance]:
        """Make the instances of all seeds."""
        return [self.instance(seed) for seed in self.seeds]

    def instance(self, seed: int) -> Instance:
        """Make one instance; families that differ in costs only share graph and unaries."""
        rng = np.random.default_rng(seed)
        points, edges = graph(self.shape, rng)
        weights = self.coupling * rng.random(len(edges))
        segments = planted_labels(points, self.n_labels, rng)
        unary = rng.random((len(points), self.n_labels))
        if self.kind == "planted":
            unary = 1.5 + PLANTED_NOISE * rng.standard_normal(unary.shape)
            unary[np.arange(len(points)), segments] -= 1.0
        costs = self.label_cost * rng.random(self.n_labels)
        subsets = box_rows(points, segments, self.row_cost) if self.row_cost else []
        boxed = {subset.label for subset in subsets}
        everywhere = np.arange(len(points), dtype=np.int32)
        # A label is annotated by boxes or by its presence, never by both.
        subsets += [Subset(everywhere, k, c) for k, c in enumerate(costs) if c > 0 and k not in boxed]
        return Instance(f"{self.name}-s{seed}", unary, edges, weights, *flatten(subsets))


@dataclass(frozen=True)
class FlowFamily:
    """Minimum cuts alone: terminals uniform on [-1, 1], edges uniform on [0, coupling] in both directions."""

    shape: tuple[int, ...]
    coupling: float
    directed: bool = False
    seeds: tuple[int, ...] = (0, 1, 2, 3)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(np.prod(self.shape))

    @property
    def name(self) -> str:
        """Name of the case in tables, and stem of the instances' names."""
        size = "x".join(map(str, self.shape))
        return f"flow-{size}-w{self.coupling:g}" + "-directed" * self.directed

    def instances(self) -> list[FlowInstance]:
        """Make the instances of all seeds."""
        return [self.instance(seed) for seed in self.seeds]

    def instance(self, seed: int) -> FlowInstance:
        """Make one instance."""
        rng = np.random.default_rng(seed)
        points, edges = graph(self.shape, rng)
        terminals = np.rint(FLOW_UNIT * rng.uniform(-1, 1, len(points))) / FLOW_UNIT
        capacities = np.rint(FLOW_UNIT * self.coupling * rng.random((len(edges), 2))) / FLOW_UNIT
        if not self.directed:
            capacities[:, 1] = capacities[:, 0]
        source, sink = np.maximum(terminals, 0), np.maximum(-terminals, 0)
        return FlowInstance(f"{self.name}-s{seed}", source, sink, edges, capacities)


def graph(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Points [V, 2] in the unit square (a grid: in the unit-wide rectangle) and edges [E, 2], i < j."""
    if len(shape) == 2:
        index = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        pairs = [(index[:, :-1], index[:, 1:]), (index[:-1], index[1:])]
        edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
        return np.argwhere(index >= 0) / max(shape), edges
    points = rng.random((shape[0], 2))
    starts, neighbors = Delaunay(points).vertex_neighbor_vertices
    nodes = np.repeat(np.arange(len(points)), np.diff(starts))
    return points, np.stack([nodes, neighbors], 1)[nodes < neighbors].astype(np.int32)


def planted_labels(points: Floats, n_labels: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Voronoi cells of random sites, labeled with about half of the labels."""
    sites = rng.random((min(len(points) // 20 + 2, 500), 2))
    present = rng.permutation(n_labels)[: n_labels // 2 + 1]
    labels = present[np.arange(len(sites)) % len(present)]
    return np.asarray(labels[cKDTree(sites).query(points)[1]])


def box_rows(points: Floats, segments: NDArray[np.int64], cost: float) -> list[Subset]:
    """Costs of all pixel rows and columns of the planted labels' bounding boxes, nodes being superpixels.

    Rows that cross the same nodes are one subset with the summed cost.
    """
    side = int(np.sqrt(PIXELS_PER_NODE * len(points)))
    pixels = np.stack(np.meshgrid(*[(np.arange(side) + 0.5) / side] * 2, indexing="ij"), -1)
    nodes = cKDTree(points).query(pixels)[1]
    subsets: dict[tuple[int, bytes], Subset] = {}
    for label in np.unique(segments):
        inside = np.argwhere(segments[nodes] == label)
        if not len(inside):
            continue
        (top, left), (bottom, right) = inside.min(0), inside.max(0) + 1
        box = nodes[top:bottom, left:right]
        for line in [*box, *box.T]:
            crossed = np.unique(line).astype(np.int32)
            key = int(label), crossed.tobytes()
            before = subsets[key].cost if key in subsets else 0.0
            subsets[key] = Subset(crossed, int(label), before + cost)
    return list(subsets.values())


def flatten(subsets: list[Subset]) -> tuple[NDArray[np.int64], Ints, Ints, Floats]:
    """Subset costs in CSR form: starts [S + 1], nodes, labels [S], costs [S]."""
    starts = np.concatenate([[0], np.cumsum([len(s.nodes) for s in subsets])]).astype(np.int64)
    nodes = np.concatenate([np.zeros(0, np.int32), *[s.nodes for s in subsets]])
    labels = np.array([s.label for s in subsets], np.int32)
    return starts, nodes, labels, np.array([s.cost for s in subsets], np.float64)


SMALL = (
    Family("random", (200,), 21, 0.2, 2),
    Family("random", (200,), 21, 0.3, 2),
    Family("random", (200,), 21, 0.4, 2),
    Family("planted", (200,), 21, 0.5, 2),
    Family("planted", (200,), 21, 1, 5),
    Family("random", (200,), 33, 0.2, 2, seeds=(0, 1)),
    Family("planted", (200,), 33, 1, 5, seeds=(0, 1)),
    Family("random", (200,), 21, 0.2, seeds=(0, 1)),
    Family("random", (200,), 21, 0.3, seeds=(0, 1)),
    Family("planted", (200,), 21, 0.5, seeds=(0, 1)),
    Family("planted", (200,), 21, 1, seeds=(0, 1)),
    Family("random", (200,), 21, 0.2, 2, row_cost=0.1, seeds=(0, 1)),
    Family("planted", (200,), 21, 0.5, 2, row_cost=0.1, seeds=(0, 1)),
)
"""The families whose exact optima are in optima.json."""

STRONG = tuple(Family("random", (200,), 21, coupling, 2) for coupling in (0.5, 0.7))
"""Edges so strong that one label for all nodes is hard to beat; too hard for exact optima."""

COUPLINGS = (("random", 0.2), ("random", 0.3), ("planted", 0.5), ("planted", 1.0))
MEDIUM = (
    *[Family(kind, (1000,), 33, w, 5, seeds=(0, 1, 2)) for kind, w in COUPLINGS],
    *[Family(kind, (1000,), 21, w, 5, seeds=(0, 1, 2)) for kind, w in COUPLINGS],
    *[Family(kind, (1000,), 21, w, 5, row_cost=0.1, seeds=(0, 1, 2)) for kind, w in COUPLINGS[::2]],
)
LARGE = tuple(
    Family(kind, (10_000,), n_labels, coupling, label_cost, seeds=(0, 1))
    for n_labels in (33, 21)
    for kind, coupling in COUPLINGS
    for label_cost in (0, 10)
)
GRID = tuple(
    Family(kind, (213, 320), 21, coupling, label_cost, seeds=(0,))
    for kind, coupling in (("random", 0.2), ("random", 0.4), ("planted", 0.5), ("planted", 1))
    for label_cost in (0, 50)
)
FLOWS = tuple(
    FlowFamily(shape, coupling, directed)
    for shape in ((10_000,), (100, 100), (213, 320))
    for coupling, directed in ((0.2, False), (0.5, False), (0.5, True))
)


def batch(n: int = 276) -> list[Instance]:
    """Make a training set's worth of energies: the first five families in turn, with seeds of their own."""
    families = SMALL[:5]
    return [families[seed % len(families)].instance(1000 + seed) for seed in range(n)]
