"""Reading of weak annotations: what a mark says about the nodes around it, learned from full labelings.

A box is not full, a point may lie in a region that is mostly of another label, a tag says nothing of places.
How much each kind of mark is worth depends on the data. Where there are full labelings, it can be learned: we
know the marks that these would have had (``rehearsals``), and what the labels are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.special import softmax

from multiutility.annotations import Joint
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import BoolArray, FloatArray, IndexArray
from multiutility.learning.selection.regression import unit_rows
from multiutility.learning.starts.logarithms import log_softmax
from multiutility.problem import LabelingProblem

# Logarithms of probabilities are not less than this: a model is never that sure.
LEAST_LOG = -12.0
# Clues of marks, in this order: the node is in a box of the label; a seed of the label is in the node; how
# far the nearest seed of the label is (minus the logarithm); the label has seeds; how likely the label can be
# there (the logarithm), if open tags do not name it, or near the sides of its loose boxes; which part of the
# node is in its boxes (the logarithm).
MARKS = ("box", "seed", "nearness", "seeded", "chance", "inside")
# Marks that say more of some labels than of others: boxes of windows are full, those of bicycles are not.
BY_LABEL = ("box", "nearness", "seeded")
# What is believed before there is any evidence: besides marks, of the posteriors by models of the full
# labelings, for the node and for its neighbors, whether these show a label, and of those by the learner; of
# those by weak annotations, and by places that are certain.
PRIOR = {"masks": 0.5, "neighbors": 0.0, "shown": 0.0, "learned": 0.0, "weak": 0.1, "places": 0.1}
PRIOR |= {"box": 0.0, "seed": 3.0, "nearness": 0.0, "seeded": 0.0, "chance": 1.0, "inside": 0.0}
# How firmly it may be believed, like that many nodes, and that marks say the same of all labels. Nodes of one
# example are much alike, so that it is not for their number to say: examples held out choose.
FIRM = (100.0, 10.0, 1.0)
# Steps of a fit, at most: each goes on from a similar one.
STEPS = 60


class Clues(NamedTuple):
    """What is known about the nodes of an example: labels that are possible [V, K], and clues [F, V, K]."""

    possible: BoolArray
    terms: FloatArray

    @property
    def placed(self) -> bool:
        """Whether any mark says where something is, if there are no opinions."""
        return any(term.any() for mark, term in zip(MARKS, self.terms, strict=True) if mark != "chance")

    @property
    def seeds(self) -> FloatArray:
        """Which nodes have seeds of which labels [V, K], 1 or 0, if there are no opinions."""
        return np.asarray(self.terms[MARKS.index("seed")])

    def with_opinions(self, *opinions: FloatArray) -> Clues:
        """Return the clues with logarithms of probabilities [V, K] before the others."""
        floor = np.exp(LEAST_LOG)
        logs = [np.log(np.maximum(one, floor)) for one in opinions]
        return Clues(self.possible, np.concatenate((np.array(logs), self.terms)))


def possible_labels(annotation: Annotation, problem: LabelingProblem) -> BoolArray:
    """Labels that the annotation allows each node, bool [V, K]."""
    if isinstance(annotation, Joint):
        return annotation.possible(problem)
    allowed = annotation.constraints(problem).allowed
    shape = problem.n_nodes, annotation.n_labels
    return np.ones(shape, dtype=np.bool_) if allowed is None else np.asarray(allowed)


class Known(NamedTuple):
    """Clues of an example whose true labels are known, by their sizes [V, K]; and its fold."""

    clues: Clues
    truth: FloatArray
    fold: int = 0

    @property
    def counts(self) -> FloatArray:
        """How much the true labels count [V, K]: together as the nodes do.

        Labels that are not possible, as small parts of nodes may have, are left out.
        """
        counts = np.where(self.clues.possible, self.truth, 0.0)
        return len(counts) * counts / max(float(counts.sum()), 1e-12)


class Sums(NamedTuple):
    """How much true labels count [V, K], and nodes [V, 1]; and of the possible labels the places."""

    counts: FloatArray
    of_nodes: FloatArray
    of_possible: FloatArray
    possible: NDArray[np.intp]

    @classmethod
    def of(cls, known: Known) -> Self:
        """Add up what is known of an example, once for all steps of a fit."""
        counts, possible = known.counts, np.flatnonzero(known.clues.possible)
        return cls(counts, counts.sum(axis=1, keepdims=True), counts.ravel()[possible], possible)


@singledispatch
def clues_of(annotation: Annotation, problem: LabelingProblem) -> Clues:
    """Return the clues of an annotation; of kinds that are not known here, only which labels are possible."""
    possible = possible_labels(annotation, problem)
    return Clues(possible, np.zeros((len(MARKS), *possible.shape)))


@clues_of.register
def joint_clues(annotation: Joint, problem: LabelingProblem) -> Clues:
    """Return the clues of tags, boxes and seeds."""
    possible = possible_labels(annotation, problem)
    boxes, seeds, nearness, seeded, chance, inside = np.zeros((len(MARKS), *possible.shape))
    for box in annotation.boxes:
        boxes[box.nodes, box.label] = 1.0
    for seed in annotation.marks:
        seeds[seed.node, seed.label] = 1.0
    for label in sorted({seed.label for seed in annotation.marks}):
        sources = [seed.node for seed in annotation.marks if seed.label == label]
        nearness[:, label] = -np.log1p(steps_from(problem, sources))
        seeded[:, label] = 1.0
    chance[:] = np.log(np.where(possible.any(axis=0), annotation.chances, 1.0))
    chance += np.log(annotation.reach(problem))
    ceilings = np.where(possible, annotation.ceilings(problem), 1.0)
    inside[:] = np.log(np.maximum(ceilings, np.exp(LEAST_LOG)))
    return Clues(possible, np.array((boxes, seeds, nearness, seeded, chance, inside)))


def steps_from(problem: LabelingProblem, sources: Sequence[int]) -> FloatArray:
    """How far each node [V] is from the nearest of some nodes, along the graph; V for those out of reach.

    Nodes whose features are alike are near: an edge is as long as the features of its nodes are apart, in
    units of the mean over all edges. So paths stay within things rather than cross their outlines.

    >>> problem = LabelingProblem([[1, 0], [1, 0], [0, 1], [1, 1]], [[0, 1], [1, 2]], np.zeros((2, 1)))
    >>> steps_from(problem, [0]).round(3)
    array([0., 0., 2., 4.])
    """
    pairs = np.unique(np.sort(problem.edges, axis=1), axis=0)
    shape = problem.n_nodes, problem.n_nodes
    # What has length 0 would be no edge in a sparse array.
    graph = coo_array((np.maximum(lengths(problem, pairs), 1e-6), tuple(pairs.T)), shape=shape).tocsr()
    found = dijkstra(graph, directed=False, indices=list(sources), min_only=True)
    return np.asarray(np.minimum(found, problem.n_nodes), dtype=np.float64)


def lengths(problem: LabelingProblem, pairs: IndexArray) -> FloatArray:
    """How far apart the features of the nodes of each pair [P, 2] are [P], in units of the mean."""
    rows = unit_rows(problem)
    found = np.linalg.norm(rows[pairs[:, 0]] - rows[pairs[:, 1]], axis=1).astype(np.float64)
    mean = found.mean() if len(found) else 0.0
    return np.asarray(found / mean if mean > 0 else np.ones_like(found))


def of_neighbors(problem: LabelingProblem, shares: FloatArray) -> FloatArray:
    """Mean of shares [V, K] over the neighbors of each node; its own for a node without any.

    >>> problem = LabelingProblem(np.zeros((4, 1)), [[0, 1], [1, 2]], np.zeros((2, 1)))
    >>> of_neighbors(problem, np.array([[1.0], [0.0], [0.5], [0.25]])).ravel()
    array([0.  , 0.75, 0.  , 0.25])
    """
    first, second = problem.edges.T
    ends = np.concatenate((first, second)), np.concatenate((second, first))
    shape = problem.n_nodes, problem.n_nodes
    graph = coo_array((np.ones(len(ends[0])), ends), shape=shape).tocsr()
    counts = np.asarray(graph.sum(axis=1)).reshape(-1, 1)
    return np.where(counts > 0, (graph @ shares) / np.maximum(counts, 1.0), shares)


class Readings(NamedTuple):
    """Weights of clues, learned from all examples, and for each fold without its own; and the loss of these.

    What is judged by the examples of a fold must not have been read with what these taught.
    """

    whole: Reading
    others: Mapping[int, Reading]
    loss: float

    def of(self, fold: int | None) -> Reading:
        """Return what was learned without the examples of a fold, or from all."""
        return self.whole if fold is None else self.others.get(fold, self.whole)


@dataclass(frozen=True, eq=False)
class Reading:
    """How clues are weighed: posteriors are proportional to ``exp(sum_f weights_fk clue_fk)``.

    ``weights`` [F] are those of the clues, and ``own`` [F, K], if given, what labels have on top of them.
    """

    names: tuple[str, ...]
    weights: FloatArray
    own: FloatArray | None = None

    @classmethod
    def default(cls, opinions: Sequence[str]) -> Reading:
        """Return what is believed without evidence."""
        names = (*opinions, *MARKS)
        return cls(names, np.array([PRIOR[name] for name in names]))

    def __call__(self, clues: Clues) -> FloatArray:
        """Return posteriors [V, K], of labels that are possible."""
        return np.asarray(softmax(self._scores(clues), axis=1))

    def fitted(self, known: Sequence[Known]) -> Readings:
        """Learn the weights from what is known of some examples: from all, and from all but those of a fold.

        How firmly the weights stay near these here, and those of single labels for the marks ``BY_LABEL``
        near what all labels share, is what folds that are held out, each in turn, are in favor of.
        """
        folds = sorted({one.fold for one in known})
        if len(folds) < 2:
            return Readings(self._refitted(self, known, FIRM[0], FIRM[0]) if known else self, {}, np.inf)
        best, firmest = Readings(self, {}, np.inf), FIRM[0]
        read, whole, shared = dict.fromkeys(folds, self), self, firmest
        for firmness, alike in (*((one, firmest) for one in FIRM), *((None, one) for one in FIRM[1:])):
            tried = (shared if firmness is None else firmness, alike)
            for fold in folds:
                others = [one for one in known if one.fold != fold]
                read[fold] = read[fold]._refitted(self, others, *tried)
            loss = sum(read[one.fold].loss(one) for one in known)
            if loss < best.loss:
                shared, whole = tried[0], whole._refitted(self, known, *tried)
                best = Readings(whole, dict(read), loss)
        return best

    def loss(self, known: Known) -> float:
        """Minus the logarithm of the probability of the true labels; an example counts as its nodes do."""
        counted = Sums.of(known)
        logs = log_softmax(self._scores(known.clues))
        return -float(counted.of_possible @ logs.ravel()[counted.possible])

    def _refitted(self, prior: Reading, known: Sequence[Known], firmness: float, alike: float) -> Reading:
        """Return a conditional logit, from this one on, whose weights stay near those of a prior."""
        n_clues, n_labels = known[0].clues.terms.shape[0], known[0].truth.shape[1]
        said = np.any([one.clues.terms.any(axis=(1, 2)) for one in known], axis=0)
        free = (np.isin(self.names, BY_LABEL) & said)[:, np.newaxis]
        sums = [Sums.of(one) for one in known]

        def reading(flat: FloatArray) -> Reading:
            return Reading(self.names, flat[:n_clues], free * flat[n_clues:].reshape(n_clues, n_labels))

        def value(flat: FloatArray) -> tuple[float, FloatArray]:
            tried = reading(flat)
            away, own = tried.weights - prior.weights, free * flat[n_clues:].reshape(n_clues, n_labels)
            loss = firmness * float(away @ away) / 2 + alike * float(np.vdot(own, own)) / 2
            shared, single = firmness * away, alike * own
            for one, counted in zip(known, sums, strict=True):
                logs = log_softmax(tried._scores(one.clues))
                loss -= counted.of_possible @ logs.ravel()[counted.possible]
                residual = np.exp(logs) * counted.of_nodes - counted.counts
                slopes = np.einsum("fvk,vk->fk", one.clues.terms, residual)
                shared, single = shared + slopes.sum(axis=1), single + free * slopes
            return loss, np.concatenate((shared, single.ravel()))

        own = np.zeros((n_clues, n_labels)) if self.own is None else self.own
        first = np.concatenate((self.weights, own.ravel()))
        found = minimize(value, first, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        return reading(np.asarray(found.x))

    def _scores(self, clues: Clues) -> FloatArray:
        scores = np.tensordot(self.weights, clues.terms, 1)
        if self.own is not None:
            some = self.own.any(axis=1)
            scores = scores + np.einsum("fk,fvk->vk", self.own[some], clues.terms[some])
        return np.where(clues.possible, scores, -np.inf)

    @property
    def facts(self) -> dict[str, float]:
        """The weights that labels share, by name."""
        return {
            name: round(weight, 3) for name, weight in zip(self.names, self.weights.tolist(), strict=True)
        }
