"""The risk of labelings: model, annotations and solver put together."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_range,
    check_shape,
    concatenate,
    read_only,
)
from multiutility.energy import Energy
from multiutility.inference import Result, Solver
from multiutility.inference.solver import all_finished
from multiutility.learning.optimizers.planes import Scores, label_sums, lift, swap_labels, swapped
from multiutility.learning.optimizers.risk import Plane, Violation, objective
from multiutility.models.potts import Potts, agreement
from multiutility.problem import FeatureSource, LabelingProblem

# Blocks whose energies are in memory at the same time.
AT_ONCE = 64


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """A problem with the loss of its annotation and the weight C_n of its hinge.

    ``ignored``, bool [V] or None, marks nodes that keep their labels whatever the weights: they must have no
    edges and no losses.
    """

    problem: LabelingProblem
    loss: Energy
    cost: float
    ignored: BoolArray | None = None
    graph: Energy = field(init=False)

    def __post_init__(self) -> None:
        # What stays the same in the energies of all weights: edges, subsets and size terms.
        loss, edges = self.loss, concatenate(self.problem.edges, self.loss.edges)
        subsets = (loss.subset_starts, loss.subset_nodes, loss.subset_labels, loss.subset_costs)
        sizes = loss.sizes, loss.size_gains
        graph = Energy.from_arrays(loss.unary, edges, np.zeros(len(edges)), *subsets, 0.0, *sizes)
        object.__setattr__(self, "graph", graph)

    def plane(self, labels: NDArray[Any]) -> Plane:
        """Return the plane of a labeling."""
        frozen = read_only(np.array(labels, dtype=np.int32))
        loss = -self.loss.evaluate(frozen)
        return Plane(frozen, loss, agreement(self.problem, frozen))

    def scores(self, of: Scores) -> NDArray[Any]:
        """Scores of the nodes' labels [V, K], by their features."""
        scores = of(self.problem.node_features)
        if self.ignored is not None:
            scores[self.ignored] = 0
        return scores

    def energy(self, scores: NDArray[Any], pairwise: FloatArray) -> Energy:
        """Energy -F - K, whose minimum is the most violated labeling."""
        # In double precision, unlike that of a model at work: values of planes are compared with it.
        weights = self.problem.edge_features @ pairwise
        return self.graph.with_costs(
            read_only(self.loss.unary - scores),
            concatenate(read_only(weights), self.loss.weights),
            self.loss.offset - float(weights.sum()),
        )


class Seen:
    """The latest different labelings of an instance, as planes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._planes: list[Plane] = []
        self._labels: IndexArray = np.zeros((0, 0), dtype=np.int32)
        self._losses: FloatArray = np.zeros(0)
        self._pairwise: FloatArray = np.zeros((0, 0))
        self._oldest = 0

    @property
    def planes(self) -> Sequence[Plane]:
        """The planes, in the order in which the first of equals is taken."""
        return self._planes

    @property
    def oldest(self) -> int:
        """Place of the plane that is forgotten first."""
        return self._oldest

    @classmethod
    def restored(cls, capacity: int, planes: Sequence[Plane], oldest: int) -> Self:
        """Return the memory that had these planes."""
        seen = cls(capacity)
        for plane in planes:
            seen.add(plane)
        seen._oldest = oldest
        return seen

    def add(self, plane: Plane) -> None:
        """Remember the plane, and forget the oldest if there are too many."""
        if len(self._planes) < self._capacity:
            self._planes.append(plane)
            self._labels = np.array([known.labels for known in self._planes])
            self._losses = np.array([known.loss for known in self._planes])
            self._pairwise = np.array([known.pairwise for known in self._planes])
            return
        place, self._oldest = self._oldest, (self._oldest + 1) % self._capacity
        self._planes[place], self._labels[place] = plane, plane.labels
        self._losses[place], self._pairwise[place] = plane.loss, plane.pairwise

    def best(self, scores: NDArray[Any], pairwise: FloatArray) -> tuple[Plane | None, float]:
        """Return the plane of the largest ``loss + F``, with its value; None if there is none."""
        if not self._planes:
            return None, -np.inf
        values = label_sums(scores, self._labels)
        values += self._losses + self._pairwise @ pairwise
        best = int(values.argmax())
        return self._planes[best], float(values[best])


class Kernels:
    """Products ``X X^T`` of the features of instances, of which as many are kept as there are bytes for.

    They are small beside the features if there are fewer nodes than features, and save a pass over them.
    """

    def __init__(self, capacity: float) -> None:
        self.held = 0
        self._capacity = capacity
        # By where features are from: problems that differ in edges or sizes only share them.
        self._kept: dict[FeatureSource, NDArray[Any]] = {}

    def of(self, problem: LabelingProblem) -> NDArray[Any]:
        """Return the product [V, V] of a problem; the same numbers, whether it is kept or not."""
        if problem.source in self._kept:
            return self._kept[problem.source]
        features: NDArray[Any] = problem.node_features
        product: NDArray[Any] = features @ features.T
        if self.held + product.nbytes <= self._capacity:
            self._kept[problem.source] = product
            self.held += product.nbytes
        return product

    def only(self, problems: Sequence[LabelingProblem]) -> Kernels:
        """Return the products that are kept of some problems."""
        other, sources = Kernels(self._capacity), {one.source for one in problems}
        other._kept = {source: product for source, product in self._kept.items() if source in sources}
        other.held = sum(product.nbytes for product in other._kept.values())
        return other


class LabelingRisk:
    """Risk of labelings: each instance is a block, its hinge found by a solver.

    ``costs[n] max_y (loss_n(y) + F(x_n, y; w) - F(x_n, anchor_n; w))`` for the discriminant F of eq. energy.
    What the solver finds is compared with the anchor and with ``memory`` earlier labelings of the instance,
    and the best is taken: with an approximate solver the hinge is still at least the loss of the anchor. The
    solver itself starts afresh: its message passes give better starts than old labelings, and it is faster.
    Products of features that are kept take at most ``kernel_bytes``.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        anchors: Sequence[NDArray[Any]],
        solver: Solver,
        memory: int = 4,
        kernel_bytes: float = np.inf,
    ) -> None:
        self.instances = list(instances)
        self.solver = solver
        self.anchors = [one.plane(labels) for one, labels in zip(instances, anchors, strict=True)]
        self._capacity = memory
        self._seen = [Seen(memory) for _ in instances]
        self._kernels = Kernels(kernel_bytes)
        self.costs: FloatArray = np.array([one.cost for one in instances], dtype=np.float64)
        self.layout = Potts(int(instances[0].loss.n_labels)).layout(instances[0].problem)
        self.dtype: np.dtype[Any] = np.result_type(*{one.problem.feature_dtype for one in instances})

    def anchored(self, anchors: Sequence[NDArray[Any]]) -> LabelingRisk:
        """Return the same risk measured from other labelings; labelings seen so far are shared."""
        other = copy.copy(self)
        # Planes of unchanged labelings stay the same objects: that is how optimizers tell.
        other.anchors = [
            old if np.array_equal(old.labels, labels) else instance.plane(labels)
            for instance, old, labels in zip(self.instances, self.anchors, anchors, strict=True)
        ]
        return other

    def with_memory(self, memory: Mapping[str, NDArray[Any]]) -> LabelingRisk:
        """Return the same risk with other labelings seen so far, which it shares with nobody."""
        other = copy.copy(self)
        other._seen = [Seen(self._capacity) for _ in self._seen]
        other.remember(memory)
        return other

    def succeeded(
        self,
        instances: Sequence[Instance],
        anchors: Sequence[NDArray[Any]],
        costs: FloatArray,
        origins: Sequence[int | None],
    ) -> LabelingRisk:
        """Return a risk of other instances, of which the n-th was number ``origins[n]`` here, or is new.

        What was seen of the old ones, and products of features, are kept. There may be more labels.
        """
        other = LabelingRisk(instances, anchors, self.solver, self._capacity)
        other.costs = np.array(costs, dtype=np.float64)
        other._kernels = self._kernels.only([one.problem for one in instances])
        for n, origin in enumerate(origins):
            if origin is not None:
                seen = self._seen[origin]
                other._seen[n] = Seen.restored(self._capacity, seen.planes, seen.oldest)
        return other

    @property
    def labelings(self) -> list[IndexArray]:
        """The labelings that hinges are measured from."""
        return [plane.labels for plane in self.anchors]

    def objective(self, weights: FloatArray) -> float:
        """Return ``|w|^2 / 2 + risk(w)``; with an approximate solver, a lower estimate."""
        return objective(self, weights)

    def anchor(self, block: int) -> Plane:
        """Return the plane of the labeling that the block's hinge is measured from."""
        return self.anchors[block]

    def scores(self, blocks: Sequence[int], weights: FloatArray) -> list[NDArray[Any]]:
        """Return the scores of the nodes' labels, [V, K], of each of the blocks."""
        of = Scores(self.layout.rows(weights).astype(self.dtype))
        return [self.instances[n].scores(of) for n in blocks]

    def oracle(self, blocks: Sequence[int], weights: FloatArray) -> list[Violation]:
        """Return the most violated plane of each of the blocks."""
        # Some at a time: energies of all would take as much memory as everything else that is known of them.
        parts = (blocks[first : first + AT_ONCE] for first in range(0, len(blocks), AT_ONCE))
        return [found for part in parts for found in self._violations(part, weights)]

    def _violations(self, blocks: Sequence[int], weights: FloatArray) -> list[Violation]:
        scores, pairwise = self.scores(blocks, weights), self.layout.pairwise(weights)
        energies = [self.instances[n].energy(s, pairwise) for n, s in zip(blocks, scores, strict=True)]
        results = all_finished(self.solver.minimize_many(energies))
        found = zip(blocks, scores, results, strict=True)
        return [self._violation(n, s, pairwise, result) for n, s, result in found]

    def _violation(self, block: int, scores: NDArray[Any], pairwise: FloatArray, result: Result) -> Violation:
        anchor, seen = self.anchors[block], self._seen[block]
        known, value = seen.best(scores, pairwise)
        base = discriminant(anchor.labels, anchor.pairwise, scores, pairwise)
        if known is None or anchor.loss + base >= value:
            known, value = anchor, anchor.loss + base
        if -result.energy > value:
            known, value = self._new_plane(block, scores, pairwise, result), -result.energy
            seen.add(known)
        return Violation(known, value - base, scores)

    def _new_plane(self, block: int, scores: NDArray[Any], pairwise: FloatArray, result: Result) -> Plane:
        instance, labels = self.instances[block], result.labels
        if instance.ignored is not None:
            labels = np.where(instance.ignored, self.anchors[block].labels, labels)
        # Solvers may be anybody's, and native code takes labels as they are.
        check_shape(labels, "labels of the solver", (instance.problem.n_nodes,))
        check_range(labels, "labels of the solver", self.layout.n_labels, "labels")
        edges = agreement(instance.problem, labels)
        # The loss is what the discriminant leaves of the value: cheaper than to evaluate it.
        loss = -result.energy - discriminant(labels, edges, scores, pairwise)
        return Plane(read_only(labels), loss, edges)

    def lift(self, block: int, nodes: NDArray[Any], out: NDArray[Any]) -> None:
        """Write ``nodes^T X`` [K, D] of a matrix on the block's nodes [V, K] to ``out``."""
        lift(nodes, self.instances[block].problem.node_features, out)

    def memory(self) -> Arrays:
        """Return the labelings seen so far, those of all blocks one after another, with their losses."""
        planes = [plane for seen in self._seen for plane in seen.planes]
        return {
            "counts": np.array([len(seen.planes) for seen in self._seen]),
            "oldest": np.array([seen.oldest for seen in self._seen]),
            "labels": np.concatenate([np.zeros(0, np.int32), *(plane.labels for plane in planes)]),
            "losses": np.array([plane.loss for plane in planes], dtype=np.float64),
            "pairwise": np.array([plane.pairwise for plane in planes]).reshape(-1, self.layout.n_pairwise),
        }

    def remember(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Replace the labelings seen so far, for all risks that share them."""
        check_range(memory["labels"], "labels", self.layout.n_labels, "labels")
        for name in ("counts", "oldest"):
            check_shape(memory[name], name, (len(self.instances),))
        counts, oldest = memory["counts"].tolist(), memory["oldest"].tolist()
        check_range(memory["counts"], "counts", self._capacity + 1, "counts")
        check_range(memory["oldest"], "oldest", self._capacity, "places")
        sizes = [one.problem.n_nodes for one, n in zip(self.instances, counts, strict=True) for _ in range(n)]
        check_shape(memory["labels"], "labels", (sum(sizes),))
        pieces = np.split(memory["labels"].astype(np.int32), np.cumsum(sizes)[:-1]) if sizes else []
        rows = zip(pieces, memory["losses"].tolist(), memory["pairwise"], strict=True)
        planes = [Plane(read_only(y), loss, np.array(p)) for y, loss, p in rows]
        first = 0
        for block, (count, place) in enumerate(zip(counts, oldest, strict=True)):
            # In place: risks that differ in their anchors share the list.
            self._seen[block] = Seen.restored(self._capacity, planes[first : first + count], place)
            first += count

    def kernel(self, block: int, nodes: NDArray[Any]) -> NDArray[Any]:
        """Return ``X X^T nodes`` [V, K] of a matrix on the block's nodes [V, K]."""
        problem = self.instances[block].problem
        product = np.asarray(nodes, problem.feature_dtype)
        if problem.n_nodes > self.layout.n_features:
            features: NDArray[Any] = problem.node_features
            return np.asarray(features @ (features.T @ product))
        return np.asarray(self._kernels.of(problem) @ product)

    def swap(self, block: int, first: Plane, second: Plane) -> NDArray[Any]:
        """Return ``X X^T (onehot(first) - onehot(second))`` [V, K] of the labelings of two planes."""
        problem, n_labels = self.instances[block].problem, self.layout.n_labels
        if problem.n_nodes > self.layout.n_features:
            return self.kernel(block, swapped(first.labels, second.labels, n_labels, self.dtype))
        return swap_labels(self._kernels.of(problem), first.labels, second.labels, n_labels)


def discriminant(labels: IndexArray, edges: FloatArray, scores: NDArray[Any], pairwise: FloatArray) -> float:
    """F = <w, Psi(y)> of a labeling, for scores [V, K] and weights of edge features [e].

    ``edges`` [e] is the sum of the features of the uncut edges.
    """
    return float(label_sums(scores, labels[np.newaxis])[0] + edges @ pairwise)
