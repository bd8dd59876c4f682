"""Points as a sample of segments: they tell what labels look like, but not how large these are.

There is one point in a segment, whether it is a speck or half of the image, so that labels are not as
frequent among points as they are among pixels. All nodes together tell how large labels are: a regression on
the points says how likely each label is for each node, and the shares of labels are those by which the
features of all nodes are the likeliest (label shift, by the EM algorithm of Saerens, Latinne and
Decaestecker, 2002).
"""

from __future__ import annotations

import numpy as np

from multiutility.annotations import Joint
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.learning.selection.choice import MOST_WEAK, STEPS, Data, evenly
from multiutility.learning.selection.regression import Targets, fit_logistic, probabilities

# Rare labels are favored by the power 1/2 of their inverse shares, as in soft labels: by shares as they are,
# a node is hardly ever of a label that covers a hundredth of all images, however much it looks like it.
FAVOR = 0.5
# Rounds of estimating shares, at most, and the change at which they end; no share is less than this.
ROUNDS, SETTLED, LEAST_SHARE = 200, 1e-5, 1e-5


def points_model(data: Data, ridge: float, every: bool = True) -> FloatArray | None:
    """Regression on the nodes with points, for labels that are as frequent as features say of all nodes.

    None unless some examples have points of all labels that they name and, if ``every``, every label that is
    named anywhere has a point. Those with less say with their features how frequent labels are.
    """
    parts = list[Targets]()
    n_labels = data.examples[0].annotation.n_labels
    named, shown = np.zeros((2, n_labels), dtype=np.bool_)
    usual = usual_number(data)
    for n in data.weak:
        certain = pointed(data, n)
        named |= data.clues(n).possible.any(axis=0)
        shown |= certain.any(axis=0)
        rows = np.flatnonzero(certain.any(axis=1))
        if len(rows):
            # Examples count alike, however many segments they have; but for those with points in some only.
            number = len(rows) if whole(data, n) else max(len(rows), usual)
            parts.append(Targets(data.features(n)[rows], certain[rows] / number))
    if not parts or (every and (named & ~shown).any()) or not n_pointed(data):
        return None
    model = fit_logistic(parts, ridge, n_steps=STEPS)
    sampled = np.sum([part.counts.sum(axis=0) for part in parts], axis=0)
    sampled /= sampled.sum()
    shares = shares_of(data, model, sampled)
    model[:, -1] += np.where(shown, FAVOR * np.log(shares) - np.log(np.maximum(sampled, LEAST_SHARE)), 0.0)
    return model


def usual_number(data: Data) -> float:
    """Mean number of nodes with points in examples that say which labels they have; 0 if none do."""
    numbers = [int(pointed(data, n).any(axis=1).sum()) for n in data.weak if whole(data, n)]
    return float(np.mean(numbers)) if numbers else 0.0


def whole(data: Data, n: int) -> bool:
    """Whether an example has points of all labels that are there, as far as it says."""
    annotation = data.annotation(n)
    return by_points_alone(annotation) and isinstance(annotation, Joint) and annotation.partition.complete


def n_pointed(data: Data) -> int:
    """How many examples have points of all labels that they name."""
    return sum(by_points_alone(data.annotation(n)) for n in data.weak)


def by_points_alone(annotation: Annotation) -> bool:
    """Whether an annotation has points of all labels that it names."""
    if not isinstance(annotation, Joint):
        return False
    named = annotation.partition
    return bool(named.seeded) and not (named.boxed or named.tagged)


def pointed(data: Data, n: int) -> FloatArray:
    """Label of each node [V, K] that has marks of one label; zeros for the others."""
    marks = data.clues(n).seeds
    return np.where(marks.sum(axis=1, keepdims=True) == 1, marks, 0.0)


def shares_of(data: Data, model: FloatArray, sampled: FloatArray) -> FloatArray:
    """Shares [K] of labels of all nodes, for a regression on nodes among which labels have other shares."""
    likely, counts = [], []
    for n in evenly(data.weak, 4 * MOST_WEAK):
        certain = pointed(data, n)
        known = certain.any(axis=1, keepdims=True)
        found = np.where(data.clues(n).possible, probabilities(data.features(n), model), 0.0)
        likely.append(np.where(known, certain, found / np.maximum(sampled, LEAST_SHARE)))
        sizes = data.examples[n].problem.node_sizes
        counts.append(sizes / sizes.sum())
    return shifted_shares(np.concatenate(likely), np.concatenate(counts), sampled)


def shifted_shares(likelihoods: FloatArray, counts: FloatArray, start: FloatArray) -> FloatArray:
    """Shares [K] of labels that make nodes likeliest, which count by ``counts`` [V].

    ``max_S sum_i c_i log sum_k S_k l_ik`` with likelihoods l [V, K], up to a factor for each node, from a
    start [K]. EM never lowers it.

    >>> shifted_shares(np.eye(2)[[0, 0, 0, 1]], np.ones(4), np.array([0.5, 0.5])).round(3)
    array([0.75, 0.25])
    """
    shares = np.maximum(start, LEAST_SHARE)
    for _ in range(ROUNDS):
        joint = likelihoods * shares
        joint /= np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        found = np.maximum(counts @ joint / counts.sum(), LEAST_SHARE)
        moved = float(np.abs(found - shares).max())
        shares = found
        if moved < SETTLED:
            break
    return shares
