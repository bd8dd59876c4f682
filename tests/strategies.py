"""Small random problems: plain generators for thousands of them, and Hypothesis strategies that shrink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from multiutility.constraints import Constraints
from multiutility.energy import Energy

# How values are drawn: signed costs from integers (many ties), from a continuum, huge, tiny, or all zero.
SCALES: dict[str, Callable[[Any], Any]] = {
    "integer": lambda values: np.round(3 * values),
    "real": lambda values: values,
    "huge": lambda values: 1e12 * values,
    "tiny": lambda values: 1e-12 * values,
    "zero": lambda values: 0 * values,
}


@dataclass(frozen=True)
class Instance:
    """An energy with constraints, and the name of its scale."""

    energy: Energy
    constraints: Constraints
    scale: str

    @property
    def unit(self) -> float:
        """The size of its costs, for tolerances."""
        return {"huge": 1e12, "tiny": 1e-12}.get(self.scale, 1.0)


def random_edges(rng: np.random.Generator, n_nodes: int) -> NDArray[np.int64]:
    """None, few or many edges; parallel ones and several components happen."""
    if n_nodes < 2:
        return np.zeros((0, 2), dtype=np.int64)
    first = rng.integers(n_nodes, size=rng.integers(2 * n_nodes + 1))
    second = (first + rng.integers(1, n_nodes, size=len(first))) % n_nodes
    return np.stack((first, second), axis=1)


def random_energy(rng: np.random.Generator, n_nodes: int, n_labels: int, scale: str = "real") -> Energy:
    """Energy with random edges and subsets, empty and repeated ones among them."""
    scaled = SCALES[scale]
    edges = random_edges(rng, n_nodes)
    subsets = []
    for _ in range(rng.integers(4)):
        nodes = np.flatnonzero(rng.random(n_nodes) < rng.random())
        subsets.append((nodes, int(rng.integers(n_labels)), float(scaled(2 * rng.random()))))
    unary = scaled(2 * rng.standard_normal((n_nodes, n_labels)))
    weights = scaled(rng.random(len(edges)))
    return Energy(unary, edges, weights, subsets, offset=float(scaled(rng.standard_normal())))


def random_allowed(rng: np.random.Generator, n_nodes: int, n_labels: int) -> NDArray[np.bool_]:
    """Mask that leaves every node a label."""
    allowed: NDArray[np.bool_] = rng.random((n_nodes, n_labels)) < rng.choice([0.3, 0.6, 0.9])
    allowed[np.arange(n_nodes), rng.integers(n_labels, size=n_nodes)] = True
    return allowed


def random_constraints(
    rng: np.random.Generator, n_nodes: int, n_labels: int, max_covers: int = 3
) -> Constraints:
    """Mask (or none) and covers, which need not be possible."""
    allowed = random_allowed(rng, n_nodes, n_labels) if rng.random() < 0.5 else None
    covers = []
    for _ in range(rng.integers(max_covers + 1) if n_nodes else 0):
        nodes = rng.choice(n_nodes, size=rng.integers(1, min(n_nodes, 3) + 1), replace=False)
        covers.append((nodes, int(rng.integers(n_labels))))
    return Constraints(allowed, covers)


def random_instances(
    seed: int, count: int, max_nodes: int = 6, max_labels: int = 4, max_covers: int = 0
) -> Iterator[Instance]:
    """Instances of 0 to max_nodes nodes and 1 to max_labels labels, of all scales in turn."""
    rng = np.random.default_rng(seed)
    for m in range(count):
        scale = list(SCALES)[m % len(SCALES)]
        n_nodes, n_labels = int(rng.integers(max_nodes + 1)), int(rng.integers(1, max_labels + 1))
        energy = random_energy(rng, n_nodes, n_labels, scale)
        yield Instance(energy, random_constraints(rng, n_nodes, n_labels, max_covers), scale)


def planar_energy(rng: np.random.Generator, n_rows: int, n_columns: int, n_labels: int) -> Energy:
    """Energy on a grid with costs for each label and for rows: too large to enumerate."""
    node = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    across = np.stack((node[:, :-1].ravel(), node[:, 1:].ravel()), axis=1)
    down = np.stack((node[:-1].ravel(), node[1:].ravel()), axis=1)
    edges = np.concatenate((across, down))
    subsets: list[tuple[Any, int, float]] = [
        (node.ravel(), k, float(3 * rng.random())) for k in range(n_labels)
    ]
    subsets += [(row, int(rng.integers(n_labels)), float(rng.random())) for row in node]
    return Energy(4 * rng.random((node.size, n_labels)), edges, rng.random(len(edges)), subsets)


def energy_by_definition(energy: Energy, labels: tuple[int, ...]) -> float:
    """The energy of a labeling, term by term in plain Python."""
    total = energy.offset
    for i, label in enumerate(labels):
        total += float(energy.unary[i, label])
    for (i, j), weight in zip(energy.edges.tolist(), energy.weights.tolist(), strict=True):
        total += weight if labels[i] != labels[j] else 0.0
    for s in range(energy.n_subsets):
        begin, end = int(energy.subset_starts[s]), int(energy.subset_starts[s + 1])
        nodes = energy.subset_nodes[begin:end].tolist()
        used = any(labels[i] == int(energy.subset_labels[s]) for i in nodes)
        total += float(energy.subset_costs[s]) if used else 0.0
    return total


def unmet_by_definition(constraints: Constraints, labels: tuple[int, ...]) -> list[int]:
    """The unmet covers of a labeling, one by one in plain Python."""
    unmet = []
    for c in range(constraints.n_covers):
        begin, end = int(constraints.cover_starts[c]), int(constraints.cover_starts[c + 1])
        nodes = constraints.cover_nodes[begin:end].tolist()
        if all(labels[i] != int(constraints.cover_labels[c]) for i in nodes):
            unmet.append(c)
    return unmet


def allowed_labelings(energy: Energy, constraints: Constraints) -> Iterator[tuple[int, ...]]:
    """All labelings of allowed labels, covers aside."""
    everything = np.ones(energy.unary.shape, dtype=np.bool_)
    allowed = everything if constraints.allowed is None else constraints.allowed
    return product(*(np.flatnonzero(row).tolist() for row in allowed))


VALUES = st.sampled_from([-1.0, 0.0, 0.5, 2.0, 1e12, -1e12, 1e-12]) | st.floats(-10.0, 10.0)
WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e12, 1e-12]) | st.floats(0.0, 10.0)


@st.composite
def energies(draw: st.DrawFn, max_nodes: int = 5, max_labels: int = 3) -> Energy:
    """Energies of no or few nodes, of one or few labels, with any mixture of costs."""
    n_nodes, n_labels = draw(st.integers(0, max_nodes)), draw(st.integers(1, max_labels))
    rows = st.lists(VALUES, min_size=n_labels, max_size=n_labels)
    unary = np.array(draw(st.lists(rows, min_size=n_nodes, max_size=n_nodes))).reshape(n_nodes, n_labels)
    if n_nodes == 0:
        return Energy(unary, offset=draw(VALUES))
    node, label = st.integers(0, n_nodes - 1), st.integers(0, n_labels - 1)
    pairs = st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])
    edges = draw(st.lists(pairs, max_size=2 * n_nodes)) if n_nodes > 1 else []
    weights = draw(st.lists(WEIGHTS, min_size=len(edges), max_size=len(edges)))
    subsets = draw(st.lists(st.tuples(st.lists(node), label, WEIGHTS), max_size=3))
    return Energy(unary, edges, weights, subsets, draw(VALUES))


@st.composite
def constraints_for(draw: st.DrawFn, energy: Energy, max_covers: int = 3) -> Constraints:
    """Constraints that fit the energy; the covers need not be possible."""
    n_nodes, n_labels = energy.unary.shape
    labels = st.sets(st.integers(0, n_labels - 1), min_size=1)
    allowed = None
    if draw(st.booleans()):
        allowed = np.zeros((n_nodes, n_labels), dtype=np.bool_)
        for i in range(n_nodes):
            allowed[i, list(draw(labels))] = True
    if n_nodes == 0:
        return Constraints(allowed)
    nodes = st.lists(st.integers(0, n_nodes - 1), min_size=1, max_size=n_nodes)
    covers = draw(st.lists(st.tuples(nodes, st.integers(0, n_labels - 1)), max_size=max_covers))
    return Constraints(allowed, covers)


@st.composite
def labelings_of(draw: st.DrawFn, energy: Energy, constraints: Constraints | None = None) -> list[int]:
    """Labelings of allowed labels."""
    limits = Constraints() if constraints is None else constraints
    everything = np.ones(energy.unary.shape, dtype=np.bool_)
    allowed = everything if limits.allowed is None else limits.allowed
    return [draw(st.sampled_from(np.flatnonzero(row).tolist())) for row in allowed]
