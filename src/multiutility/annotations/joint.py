"""Tags, boxes and seeds of one instance, with the areas that they share."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations.annotation import frozen_weights
from multiutility.annotations.box import Box
from multiutility.annotations.lines import merge
from multiutility.annotations.partition import Partition, split_area
from multiutility.annotations.seed import Seed, check_seeds
from multiutility.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_range,
    check_values,
    checked_labels,
    frozen_floats,
    index_array,
)
from multiutility.constraints import Constraints, Cover
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem


@dataclass(frozen=True, eq=False, repr=False)
class Joint:
    """Tags, boxes and seeds of one instance: eq. kappa-il, kappa-il-bb and kappa-il-os in one loss.

    A label is boxed (K_b), else seeded, else tagged (K_p), else absent (K_a): a box or seed wins over a tag
    of its label, which then only says that the labels of the instance are all named. With the nodes ``V_k``
    of the boxes of label ``k``, and ``V_0`` the nodes of no box, the loss is ::

        mean omega of the present labels * sum_i c_i [y_i in K_a, or i in V_0 and y_i in K_b]
        + sum_{k in K_p} omega_k sigma_k [no node has label k]
        + beta sum_boxes h_k omega_k (sum_rows nu [no node of the row has label k] + the same for columns)
        + beta sum_seeds h_k omega_k sum_i mass_i(tau_k) [y_i != k]

    ``sigma_k`` is the size of ``V_0`` over the number of tagged and seeded labels; ``tau_k`` is ``sigma_k``
    over the number of seeds of ``k``. For a label with boxes and seeds, ``tau_k`` is half the area of its
    boxes over the number of its seeds, and each of the two terms counts half, ``h_k = 1/2``; otherwise
    ``h_k = 1``. Consistent labelings have boxed labels on ``V_k`` only, seeded and tagged labels anywhere,
    absent labels nowhere, and the label of a seed on its node; boxed labels touch the four sides of each box.
    Whether that is possible for all boxes at once is for the solver to find out, and to report.

    Parameters
    ----------
    tags
        Labels that are present somewhere.
    boxes, seeds
        Places of things; see ``Box`` and ``Seed``.
    n_labels
        Number of labels, K.
    beta
        Weight of the terms of boxes and seeds.
    other
        The label of everything that has no label of its own, if there is one: the tag of instances that have
        no tag, or tags of boxed labels only and no seeds of others.
    complete
        Whether the labels that are not named are absent. By default, if there is a tag (be it ``other``, or
        of a label with boxes or seeds), unless all named labels are boxed: what is outside of the boxes then
        has a label that nobody named. If not, any label without a box may be anywhere, at no cost.
    strict
        Whether every tag must appear in consistent labelings: one cover each.
    tight
        Whether boxed labels must touch the sides of their boxes in consistent labelings: four covers each.
    areas
        Known sizes S_k of tagged and seeded labels, taken for sigma_k; the others share what is left.
    shares
        Relative sizes of labels, see ``estimate_areas``: sigma_k is then in proportion to them. Labels
        without one count as the mean of the others.
    box_areas
        Area of the union of the boxes of a label, in the unit of the node sizes (by default, the sum).
    sum_box_and_seed
        Whether both terms of a label with boxes and seeds count in full: ``h_k = 1``.

    >>> problem = LabelingProblem(np.zeros((6, 1)), [], np.zeros((0, 1)), node_sizes=np.full(6, 4))
    >>> cow = Box(2, rows=[[1, 1], [4, 4], [4, 4]], columns=[[1, 4, 4], [1, 4, 4]])
    >>> joint = Joint(tags=[0, 1], boxes=[cow], seeds=[], n_labels=4)
    >>> joint.loss(problem, [1, 1, 1, 0, 2, 0]), joint.loss(problem, [1, 1, 1, 0, 3, 0])
    (1.0, 10.0)
    >>> joint.loss_energy(problem).evaluate([1, 1, 1, 0, 3, 0])
    -10.0
    >>> joint.start(problem)
    array([0, 2, 0, 1, 2, 1], dtype=int32)
    """

    tags: Sequence[int]
    boxes: Sequence[Box]
    seeds: Sequence[Seed]
    n_labels: int
    beta: float = 1.0
    other: int | None = field(default=None, kw_only=True)
    complete: bool | None = field(default=None, kw_only=True)
    strict: bool = field(default=False, kw_only=True)
    tight: bool = field(default=True, kw_only=True)
    areas: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    shares: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    box_areas: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    sum_box_and_seed: bool = field(default=False, kw_only=True)
    weights: FloatArray = field(init=False)
    strong: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_labels < 1:
            raise ValueError(f"n_labels is {self.n_labels}: there must be at least one label")
        frozen_floats([self.beta], "beta", (1,), "weights of terms", minimum=0.0)
        for name in ("tags", "boxes", "seeds"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "weights", frozen_weights(np.ones(self.n_labels), self.n_labels))
        for name in ("areas", "shares", "box_areas"):
            object.__setattr__(self, name, dict(getattr(self, name)))
        check_consistency(self)

    @cached_property
    def partition(self) -> Partition:
        """What is known about each label."""
        boxed, seeded = (box.label for box in self.boxes), (seed.label for seed in self.seeds)
        return Partition.of(self.tags, boxed, seeded, self.n_labels, self.other, self.complete)

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> float:
        """Loss of the labeling [V], term by term as in the equation above."""
        y = checked_labels(labels, problem.n_nodes, self.n_labels)
        known, sizes = self.partition, problem.node_sizes
        sigma, total = self.sigma(problem), 0.0
        total += self._mean_weight() * sizes[np.isin(y, known.absent)].sum()
        total += self._mean_weight() * sizes[self.outside(problem) & np.isin(y, known.boxed)].sum()
        for label in known.tagged:
            total += self.weights[label] * sigma[label] * (y != label).all()
        for box in self.boxes:
            hits, weight = y == box.label, self._term_weight(box.label)
            total += weight * box.row_costs @ box.rows.empty(hits)
            total += weight * box.column_costs @ box.columns.empty(hits)
        for seed in self.seeds:
            total += self._term_weight(seed.label) * self.mass(problem, seed) @ (y != seed.label)
        return float(total)

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Energy whose value is minus the loss: unary costs, subset costs and an offset."""
        wrong = np.zeros((problem.n_nodes, self.n_labels), dtype=np.bool_)
        wrong[:, self.partition.absent] = True
        wrong[:, self.partition.boxed] = self.outside(problem)[:, np.newaxis]
        unary = np.where(wrong, -self._mean_weight() * problem.node_sizes[:, np.newaxis], 0.0)
        subsets = merge(self._subsets(problem))
        offset = -sum(cost for _, _, cost in subsets)
        for seed in self.seeds:
            gain = self._term_weight(seed.label) * self.mass(problem, seed)
            unary[:, seed.label] += gain
            offset -= float(gain.sum())
        return Energy(unary, subsets=subsets, offset=offset)

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Labels that each node may have, and covers for tight boxes and strict tags."""
        covers: list[Cover] = []
        if self.strict:
            covers += [(np.arange(problem.n_nodes), k) for k in self.partition.tagged if k in self.tags]
        if self.tight:
            sides = {(box.label, side.tobytes()): side for box in self.boxes for side in box.sides}
            covers += [(side, label) for (label, _), side in sides.items()]
        return Constraints(self._allowed(problem), covers)

    def start(self, problem: LabelingProblem) -> IndexArray:
        """Labeling with all boxes filled, and the nodes around seeds; the rest in equal runs of the labels.

        Small boxes lie over large ones. A node is around a seed if its mass is more than half its size.
        """
        labels = self._allowed(problem).argmax(axis=1)
        rest = [*self.partition.tagged, *self.partition.unknown] or self.partition.seeded
        free = np.flatnonzero(self.outside(problem))
        if rest:
            labels[free] = np.array(rest)[np.arange(len(free)) * len(rest) // max(len(free), 1)]
        for box in sorted(self.boxes, key=lambda box: -box.area):
            labels[box.nodes] = box.label
        for seed in self.seeds:
            if seed.label in self.partition.seeded:
                labels[2 * self.mass(problem, seed) > problem.node_sizes] = seed.label
        labels[[seed.node for seed in self.seeds]] = [seed.label for seed in self.seeds]
        return np.asarray(labels, dtype=np.int32)

    def prior(self, problem: LabelingProblem) -> FloatArray:
        """Half of what is in boxes has their labels; the rest is of all labels that may be anywhere, alike.

        Around seeds, their labels get as much on top as the seeds' masses are of the nodes.
        """
        anywhere = np.isin(np.arange(self.n_labels), self.partition.anywhere)
        boxed = np.zeros((problem.n_nodes, self.n_labels))
        for box in self.boxes:
            boxed[box.nodes, box.label] = 1.0
        boxed *= max(1, int(anywhere.sum())) / np.maximum(boxed.sum(axis=1, keepdims=True), 1.0)
        prior = boxed + anywhere
        for seed in self.seeds:
            sizes, mass = problem.node_sizes, self.mass(problem, seed)
            prior[:, seed.label] += np.divide(mass, sizes, out=np.zeros_like(mass), where=sizes > 0)
        prior *= self._allowed(problem)
        return np.asarray(prior / prior.sum(axis=1, keepdims=True))

    def label_sizes(self, problem: LabelingProblem) -> FloatArray:
        """Sizes that the loss expects: sigma of tagged and seeded labels, half the boxes of boxed ones."""
        sizes = np.zeros(self.n_labels)
        for label, size in self.sigma(problem).items():
            sizes[label] = size
        for label in self.partition.boxed:
            sizes[label] = self._box_area(label) / 2
        return sizes

    def weighted(self, weights: ArrayLike) -> Self:
        """The same annotation with class weights omega [K]."""
        other = copy.copy(self)
        object.__setattr__(other, "weights", frozen_weights(weights, self.n_labels))
        return other

    def outside(self, problem: LabelingProblem) -> BoolArray:
        """Nodes of no box, V_0, bool [V]."""
        outside = np.ones(problem.n_nodes, dtype=np.bool_)
        for b, box in enumerate(self.boxes):
            check_range(box.nodes, f"boxes[{b}].nodes", problem.n_nodes, "nodes")
            outside[box.nodes] = False
        return outside

    def sigma(self, problem: LabelingProblem) -> dict[int, float]:
        """Expected size of each tagged and seeded label."""
        area = float(problem.node_sizes[self.outside(problem)].sum())
        labels = [*self.partition.tagged, *self.partition.seeded]
        return split_area(area, labels, self.areas, self.shares)

    def mass(self, problem: LabelingProblem, seed: Seed) -> FloatArray:
        """Mass of the nodes [V] around one of the seeds, for the expected size of its objects, tau."""
        count = Counter(other.label for other in self.seeds)[seed.label]
        boxed = seed.label in self.partition.boxed
        size = self._box_area(seed.label) / 2 if boxed else self.sigma(problem)[seed.label]
        mass = seed.mass(size / count)
        return frozen_floats(mass, f"mass of {seed}", (problem.n_nodes,), "masses", minimum=0.0)

    def _box_area(self, label: int) -> float:
        return self.box_areas.get(label, sum(box.area for box in self.boxes if box.label == label))

    def _mean_weight(self) -> float:
        return float(self.weights[self.partition.present].mean())

    def _term_weight(self, label: int) -> float:
        shared = label in self.partition.boxed and any(seed.label == label for seed in self.seeds)
        half = 0.5 if shared and not self.sum_box_and_seed else 1.0
        return float(self.beta * half * self.weights[label])

    def _subsets(self, problem: LabelingProblem) -> list[tuple[IndexArray, int, float]]:
        everywhere, sigma = np.arange(problem.n_nodes, dtype=np.int32), self.sigma(problem)
        subsets = [(everywhere, k, float(self.weights[k]) * sigma[k]) for k in self.partition.tagged]
        for box in self.boxes:
            weight = self._term_weight(box.label)
            for lines, costs in ((box.rows, box.row_costs), (box.columns, box.column_costs)):
                subsets += [(lines[p], box.label, weight * cost) for p, cost in enumerate(costs.tolist())]
        return subsets

    def possible(self, problem: LabelingProblem) -> BoolArray:
        """Labels that some of each node may have, bool [V, K]: a seed tells of its own place only."""
        check_range(np.array([seed.node for seed in self.seeds]), "nodes of seeds", problem.n_nodes, "nodes")
        possible = np.zeros((problem.n_nodes, self.n_labels), dtype=np.bool_)
        possible[:, self.partition.anywhere] = True
        if self.outside(problem).any() and not self.partition.anywhere:
            raise ValueError("no label is left for the nodes outside the boxes: add tags")
        for box in self.boxes:
            possible[box.nodes, box.label] = True
        return possible

    def _allowed(self, problem: LabelingProblem) -> BoolArray:
        allowed = self.possible(problem)
        for seed in self.seeds:
            allowed[seed.node] = np.arange(self.n_labels) == seed.label
        return allowed

    def __repr__(self) -> str:
        parts = f"tags={list(self.tags)}, boxes={list(self.boxes)}, seeds={list(self.seeds)}"
        return f"{type(self).__name__}({parts}, n_labels={self.n_labels})"


def check_consistency(joint: Joint) -> None:
    """Raise if a label is out of range, nothing is annotated, or seeds contradict each other or the boxes."""
    named = {
        "tags": joint.tags,
        "labels of boxes": [box.label for box in joint.boxes],
        "labels of seeds": [seed.label for seed in joint.seeds],
        "other": [] if joint.other is None else [joint.other],
    }
    for name, labels in named.items():
        check_range(index_array(labels, name), name, joint.n_labels, "labels")
    if not (joint.tags or joint.boxes or joint.seeds):
        raise ValueError("no tags, boxes or seeds: leave out instances without an annotation")
    for name, sizes in (("areas", joint.areas), ("shares", joint.shares), ("box_areas", joint.box_areas)):
        check_range(index_array(list(sizes), name), name, joint.n_labels, "labels")
        check_values(
            np.array(list(sizes.values()), dtype=np.float64), f"{name}.values()", "sizes", minimum=0.0
        )
    if 0 in joint.shares.values():
        raise ValueError("shares must be > 0: leave out labels whose share is not known")
    check_seeds(joint.boxes, joint.seeds)
