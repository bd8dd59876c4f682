"""All weak annotations of one instance, with the areas that they share."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations.annotation import frozen_weights
from multiutility.annotations.box import Box
from multiutility.annotations.boxed import Boxed
from multiutility.annotations.contradictions import check_consistency
from multiutility.annotations.lines import merge
from multiutility.annotations.partition import split_area
from multiutility.annotations.seed import Seed
from multiutility.annotations.seeded import Seeded
from multiutility.annotations.sized import spread
from multiutility.annotations.tagged import Tagged
from multiutility.annotations.term import Shared, Subset, Term
from multiutility.annotations.terms import Terms
from multiutility.arrays import (
    FloatArray,
    IndexArray,
    checked_labels,
    frozen_floats,
)
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem
from multiutility.sizes import Range


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Joint(Terms):
    """Tags, boxes, seeds and other terms of one instance: eq. kappa-il, kappa-il-bb, kappa-il-os in one loss.

    A label is boxed (K_b), else seeded, else tagged (K_p), else absent (K_a): a box or seed wins over a tag
    of its label, which then only says that the labels of the instance are all named. With the nodes ``V_k``
    of the boxes of label ``k``, and ``V_0`` the nodes of no box, the loss is ::

        mean omega of the present labels * sum_i c_i [y_i in K_a, or i in V_0 and y_i in K_b]
        + mean omega of the present labels * sum_i c_i (1 - pi_{y_i}) [y_i in K_u]
        + sum_{k in K_p} omega_k sigma_k [no node has label k]
        + beta sum_boxes h_k omega_k (sum_rows nu [no node of the row has label k] + the same for columns)
        + beta sum_seeds h_k omega_k sum_i mass_i(tau_k) [y_i != k]

    ``sigma_k`` is the size of ``V_0``, and of what loose boxes are not expected to reach, over the number of
    tagged and seeded labels; ``tau_k`` is ``sigma_k`` over the number of seeds of ``k``. Of labels in ``K_u``
    nothing is said; ``pi_k`` is 1 unless a term has ``chances`` (see ``OpenTagged``), by which ``k`` counts
    in the number of labels, too. For a label with boxes and seeds, ``tau_k`` is half the area of its boxes
    over the number of its seeds, and each of the two terms counts half, ``h_k = 1/2``; otherwise ``h_k = 1``.
    Consistent labelings have boxed labels on ``V_k`` only, seeded and tagged labels anywhere, absent labels
    nowhere, and the label of a seed on its node; boxed labels touch the four sides of each box. Whether that
    is possible for all boxes at once is for the solver to find out, and to report.

    What boxes and seeds add to it are terms, see ``Term``; those of other kinds join them as ``terms``, each
    with its own part of the loss and of the constraints. They share the labels' sizes and the node's labels.

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
        Known sizes S_k of tagged and seeded labels, taken for sigma_k; the others share what is left. Sizes
        that terms know, as ``Sized`` does, come before these.
    shares
        Relative sizes of labels, see ``estimate_areas``: sigma_k is then in proportion to them. Labels
        without one count as the mean of the others.
    box_areas
        Area of the union of the boxes of a label, in the unit of the node sizes (by default, the sum).
    sum_box_and_seed
        Whether both terms of a label with boxes and seeds count in full: ``h_k = 1``.
    terms
        Terms of other kinds, or further ones of these.

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

    beta: float
    areas: Mapping[int, float]
    shares: Mapping[int, float]
    sum_box_and_seed: bool
    weights: FloatArray
    strong: ClassVar[bool] = False

    def __init__(
        self,
        tags: Sequence[int],
        boxes: Sequence[Box],
        seeds: Sequence[Seed],
        n_labels: int,
        beta: float = 1.0,
        *,
        other: int | None = None,
        complete: bool | None = None,
        strict: bool = False,
        tight: bool = True,
        areas: Mapping[int, float] | None = None,
        shares: Mapping[int, float] | None = None,
        box_areas: Mapping[int, float] | None = None,
        sum_box_and_seed: bool = False,
        terms: Sequence[Term] = (),
    ) -> None:
        if n_labels < 1:
            raise ValueError(f"n_labels is {n_labels}: there must be at least one label")
        frozen_floats([beta], "beta", (1,), "weights of terms", minimum=0.0)
        usual = (
            Tagged(tuple(tags), strict),
            Boxed(tuple(boxes), dict(box_areas or {}), tight),
            Seeded(tuple(seeds)),
        )
        values: dict[str, Any] = {
            "terms": (*usual, *terms),
            "n_labels": n_labels,
            "beta": beta,
            "other": other,
            "complete": complete,
            "areas": dict(areas or {}),
            "shares": dict(shares or {}),
            "sum_box_and_seed": sum_box_and_seed,
            "weights": frozen_weights(np.ones(n_labels), n_labels),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        check_consistency(self)

    @staticmethod
    def of(terms: Sequence[Term], n_labels: int, beta: float = 1.0, **options: Any) -> Joint:
        """Return the annotation of these terms only."""
        return Joint((), (), (), n_labels, beta, terms=terms, **options)

    def expecting(self, chances: ArrayLike) -> Self:
        """The same annotation with chances [K] that labels are there of which open tags say nothing."""
        known = frozen_floats(chances, "chances", (self.n_labels,), "labels", minimum=0.0)
        if known.max() > 1:
            raise ValueError(f"chances[{known.argmax()}] is {known.max():g}: expected 0 to 1")
        other = copy.copy(self)
        object.__setattr__(other, "terms", tuple(term.expecting(known) for term in self.terms))
        return other

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> float:
        """Loss of the labeling [V], term by term as in the equation above."""
        y = checked_labels(labels, problem.n_nodes, self.n_labels)
        known, sizes, shared = self.partition, problem.node_sizes, self._shared(problem)
        total = 0.0
        total += self._mean_weight() * sizes[np.isin(y, known.absent)].sum()
        total += self._mean_weight() * sizes[self.outside(problem) & np.isin(y, known.boxed)].sum()
        for label in known.unknown:
            total += self._mean_weight() * (1.0 - self.chances[label]) * sizes[y == label].sum()
        for label in known.tagged:
            total += self.weights[label] * shared.label_sizes[label] * (y != label).all()
        for term in self.terms:
            for part in term.losses(shared, y):
                total += part
        return float(total)

    def loss_energy(self, problem: LabelingProblem) -> Energy:
        """Energy whose value is minus the loss: unary costs, subset costs, size terms and an offset."""
        shared = self._shared(problem)
        wrong = np.tile(1.0 - self.chances, (problem.n_nodes, 1))
        wrong[:, self.partition.boxed] = self.outside(problem)[:, np.newaxis]
        unary = np.where(wrong > 0, -self._mean_weight() * problem.node_sizes[:, np.newaxis] * wrong, 0.0)
        subsets = merge(self._subsets(shared))
        offset = -sum(cost for _, _, cost in subsets)
        for term in self.terms:
            for label, gain in term.gains(shared):
                unary[:, label] += gain
                offset -= float(gain.sum())
        sizes = [(*one, float(self.weights[one[1]])) for one in self.ranges(problem)]
        return Energy(unary, subsets=subsets, offset=offset, sizes=sizes)

    def constraints(self, problem: LabelingProblem) -> Constraints:
        """Labels that each node may have, covers for tight boxes and strict tags, and known sizes."""
        shared = self._shared(problem)
        covers = [cover for term in self.terms for cover in term.covers(shared)]
        return Constraints(self.allowed(problem), covers, self.ranges(problem))

    def ranges(self, problem: LabelingProblem) -> list[Range]:
        """Sizes of labels that terms know, with their ranges."""
        if not self.parts:
            return []
        shared = self._shared(problem)
        return [one for term in self.terms for one in term.ranges(shared)]

    def start(self, problem: LabelingProblem) -> IndexArray:
        """Labeling with all boxes filled, and the nodes around seeds; the rest in equal runs of the labels.

        Small boxes lie over large ones. A node is around a seed if its mass is more than half its size.
        """
        shared, labels = self._shared(problem), self.allowed(problem).argmax(axis=1)
        rest = [*self.partition.tagged, *self.partition.unknown] or self.partition.seeded
        free = np.flatnonzero(self.outside(problem))
        if rest:
            labels[free] = np.array(rest)[np.arange(len(free)) * len(rest) // max(len(free), 1)]
        for term in self.terms:
            for nodes, label in term.fills(shared):
                labels[nodes] = label
        for mark in self.marks:
            labels[mark.node] = mark.label
        return np.asarray(labels, dtype=np.int32)

    def prior(self, problem: LabelingProblem) -> FloatArray:
        """Half of what is in boxes has their labels; the rest is of all labels that may be anywhere, alike.

        Where boxes are loose, it is less by the chance that the object reaches a node. Labels whose sizes are
        known are as likely as these are, and those of which open tags say nothing count by their chances.
        Around seeds, their labels get as much on top as the seeds' masses are of the nodes.
        """
        likely = spread(self.parts, self.partition.anywhere, self.n_labels) * self.chances
        boxed = np.zeros((problem.n_nodes, self.n_labels))
        for home in self.homes:
            boxed[home.nodes, home.label] = 1.0
        boxed *= (likely.sum() or 1.0) / np.maximum(boxed.sum(axis=1, keepdims=True), 1.0)
        prior, shared = boxed + likely, self._shared(problem)
        for term in self.terms:
            for label, hint in term.hints(shared):
                prior[:, label] += hint
        prior *= self.allowed(problem) * self.reach(problem)
        return np.asarray(prior / prior.sum(axis=1, keepdims=True))

    def label_sizes(self, problem: LabelingProblem) -> FloatArray:
        """Sizes that the loss expects: sigma of tagged and seeded labels, half the boxes of boxed ones."""
        sizes = np.zeros(self.n_labels)
        known = [term.sizes for term in self.terms]
        for label, size in [*self.sigma(problem).items(), *(pair for one in known for pair in one.items())]:
            sizes[label] = size
        for label, part in self.parts.items():
            sizes[label] = part * float(problem.node_sizes.sum())
        return sizes

    def weighted(self, weights: ArrayLike) -> Self:
        """The same annotation with class weights omega [K]."""
        other = copy.copy(self)
        object.__setattr__(other, "weights", frozen_weights(weights, self.n_labels))
        return other

    def sigma(self, problem: LabelingProblem) -> dict[int, float]:
        """Expected size of each tagged and seeded label: they share what is in no box, or is not reached."""
        free = np.where(self.outside(problem), 1.0, (1.0 - self.housed(problem)).prod(axis=1))
        area = float((problem.node_sizes[free > 0] * free[free > 0]).sum())
        labels = [*self.partition.tagged, *self.partition.seeded]
        known = {label: part * float(problem.node_sizes.sum()) for label, part in self.parts.items()}
        told = any(term.chances is not None for term in self.terms)
        likely = {k: float(self.chances[k]) for k in self.partition.unknown} if told else {}
        return split_area(area, labels, {**self.areas, **known}, self.shares, likely)

    def ceilings(self, problem: LabelingProblem) -> FloatArray:
        """The part of each node that can have each label at most [V, K]: what is in its boxes, if it has any.

        >>> from multiutility.annotations.box import Box
        >>> problem = LabelingProblem(np.zeros((2, 1)), [], np.zeros((0, 1)), node_sizes=[4, 4])
        >>> box = Box(1, rows=[[0, 0, 1], [0, 0, 0]], columns=[[0, 0], [0, 0], [1, 0]])
        >>> Joint([0], [box], (), n_labels=2).ceilings(problem)
        array([[1.  , 1.  ],
               [1.  , 0.25]])
        """
        ceilings, shared = np.ones((problem.n_nodes, self.n_labels)), self._shared(problem)
        for term in self.terms:
            for label, most in term.ceilings(shared):
                ceilings[:, label] = np.minimum(ceilings[:, label], most)
        return ceilings

    def _shared(self, problem: LabelingProblem) -> Shared:
        sizes = self.label_sizes(problem)
        return Shared(problem.node_sizes, self.partition, sizes, self.weights, self._term_weights())

    def _mean_weight(self) -> float:
        return float(self.weights[self.partition.present].mean())

    def _term_weights(self) -> FloatArray:
        """Weights of terms [K]: those that estimate the same label share its weight."""
        named = Counter(label for term in self.terms if term.estimates for label in set(term.labels))
        shared = [1 if self.sum_box_and_seed else max(named[k], 1) for k in range(self.n_labels)]
        return np.asarray(self.beta * (1 / np.array(shared)) * self.weights)

    def _subsets(self, shared: Shared) -> Iterator[Subset]:
        everywhere = np.arange(len(shared.node_sizes), dtype=np.int32)
        for k in self.partition.tagged:
            yield everywhere, k, float(self.weights[k]) * float(shared.label_sizes[k])
        for term in self.terms:
            yield from term.subsets(shared)

    def __repr__(self) -> str:
        parts = [f"tags={list(self.tags)}", f"boxes={list(self.boxes)}", f"seeds={list(self.seeds)}"]
        parts += [repr(term) for term in self.terms if not isinstance(term, Tagged | Boxed | Seeded)]
        return f"{type(self).__name__}({', '.join(parts)}, n_labels={self.n_labels})"
