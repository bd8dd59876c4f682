"""Reading of weak annotations: what a mark says about the nodes around it, learned from full labelings.

A box is not full, a point may lie in a region that is mostly of another label, a tag says nothing of places.
How much each kind of mark is worth depends on the data. Where there are full labelings, it can be learned: we
know the marks that these would have had (``rehearsals``), and what the labels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.special import log_softmax, softmax

from multiutility.annotations import Joint
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import BoolArray, FloatArray
from multiutility.problem import LabelingProblem

# Logarithms of probabilities are not less than this: a model is never that sure.
LEAST_LOG = -12.0
# Clues of marks, in this order: the node is in a box of the label; a seed of the label is in the node; how
# many nodes the nearest seed of the label is away (minus the logarithm); the label has seeds.
MARKS = ("box", "seed", "nearness", "seeded")
# What is believed before there is any evidence, and how firmly: like that many nodes, of which those of one
# example are much alike. Besides marks, of the posteriors by models of the full labelings, of the weak
# annotations, and of places that are certain.
PRIOR = {"masks": 0.5, "weak": 0.1, "places": 0.1, "box": 0.0, "seed": 3.0, "nearness": 0.0, "seeded": 0.0}
FIRMNESS = 1.0


class Clues(NamedTuple):
    """What is known about the nodes of an example: labels that are possible [V, K], and clues [F, V, K]."""

    possible: BoolArray
    terms: FloatArray

    def with_opinions(self, *opinions: FloatArray) -> Clues:
        """Return the clues with logarithms of probabilities [V, K] before the others."""
        floor = np.exp(LEAST_LOG)
        logs = [np.log(np.maximum(one, floor)) for one in opinions]
        return Clues(self.possible, np.concatenate((np.array(logs), self.terms)))


@singledispatch
def clues_of(annotation: Annotation, problem: LabelingProblem) -> Clues:
    """Return the clues of an annotation; of kinds that are not known here, only which labels are possible."""
    allowed = annotation.constraints(problem).allowed
    shape = problem.n_nodes, annotation.n_labels
    possible = np.ones(shape, dtype=np.bool_) if allowed is None else np.asarray(allowed)
    return Clues(possible, np.zeros((len(MARKS), *shape)))


@clues_of.register
def joint_clues(annotation: Joint, problem: LabelingProblem) -> Clues:
    """Return the clues of tags, boxes and seeds."""
    possible = annotation.possible(problem)
    boxes, seeds, nearness, seeded = np.zeros((len(MARKS), *possible.shape))
    for box in annotation.boxes:
        boxes[box.nodes, box.label] = 1.0
    for seed in annotation.seeds:
        seeds[seed.node, seed.label] = 1.0
    for label in sorted({seed.label for seed in annotation.seeds}):
        sources = [seed.node for seed in annotation.seeds if seed.label == label]
        nearness[:, label] = -np.log1p(steps_from(problem, sources))
        seeded[:, label] = 1.0
    return Clues(possible, np.array((boxes, seeds, nearness, seeded)))


def steps_from(problem: LabelingProblem, sources: Sequence[int]) -> FloatArray:
    """How many edges each node [V] is away from the nearest of some nodes; those out of reach are V away.

    >>> problem = LabelingProblem(np.zeros((4, 1)), [[0, 1], [1, 2]], np.zeros((2, 1)))
    >>> steps_from(problem, [0])
    array([0., 1., 2., 4.])
    """
    first, second = problem.edges.T
    shape = problem.n_nodes, problem.n_nodes
    graph = coo_array((np.ones(len(first)), (first, second)), shape=shape).tocsr()
    found = dijkstra(graph, directed=False, indices=list(sources), unweighted=True, min_only=True)
    return np.asarray(np.minimum(found, problem.n_nodes), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Reading:
    """How clues are weighed: posteriors are proportional to ``exp(sum_f weights_f clue_f)``."""

    names: tuple[str, ...]
    weights: FloatArray

    @classmethod
    def default(cls, opinions: Sequence[str]) -> Reading:
        """Return what is believed without evidence."""
        names = (*opinions, *MARKS)
        return cls(names, np.array([PRIOR[name] for name in names]))

    def __call__(self, clues: Clues) -> FloatArray:
        """Return posteriors [V, K], of labels that are possible."""
        return np.asarray(softmax(self._scores(clues), axis=1))

    def fitted(self, known: Sequence[tuple[Clues, FloatArray]]) -> Reading:
        """Learn the weights: a conditional logit, for clues with sizes of the true labels [V, K].

        Each example counts as its number of nodes; labels that are not possible, as small parts of nodes may
        have, are left out.
        """
        counts = [np.where(clues.possible, truth, 0.0) for clues, truth in known]
        counts = [len(one) * one / max(float(one.sum()), 1e-12) for one in counts]

        def value(weights: FloatArray) -> tuple[float, FloatArray]:
            away = weights - self.weights
            loss, gradient = FIRMNESS * float(away @ away) / 2, FIRMNESS * away
            for (clues, _), count in zip(known, counts, strict=True):
                logs = log_softmax(Reading(self.names, weights)._scores(clues), axis=1)
                loss -= float(count[clues.possible] @ logs[clues.possible])
                residual = np.exp(logs) * count.sum(axis=1, keepdims=True) - count
                gradient = gradient + np.tensordot(clues.terms, residual, 2)
            return loss, gradient

        found = minimize(value, self.weights, jac=True, method="L-BFGS-B")
        return Reading(self.names, np.asarray(found.x))

    def _scores(self, clues: Clues) -> FloatArray:
        scores = np.tensordot(self.weights, clues.terms, 1)
        return np.where(clues.possible, scores, -np.inf)

    @property
    def facts(self) -> dict[str, float]:
        """The weights, by name."""
        return {
            name: round(weight, 3) for name, weight in zip(self.names, self.weights.tolist(), strict=True)
        }
