"""Labelings of highest score by any model, and how far they agree with annotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray, IndexArray
from multiutility.energy import Energy
from multiutility.inference import Solver
from multiutility.learning.labeling_risk import AT_ONCE
from multiutility.models import Model
from multiutility.problem import LabelingProblem


def labelings(
    model: Model, problems: Sequence[LabelingProblem], weights: FloatArray, solver: Solver
) -> list[IndexArray]:
    """Return the labelings [V] of highest score; energies of a few problems are in memory at once."""
    found: list[IndexArray] = []
    for first in range(0, len(problems), AT_ONCE):
        some = problems[first : first + AT_ONCE]
        results = solver.minimize_many([model.energy(problem, weights) for problem in some])
        found += [result.labels for result in results]
    return found


def local_scores(energy: Energy, labels: IndexArray) -> FloatArray:
    """Scores [V, K] of all labels of each node while its neighbors have theirs, for minus an energy.

    >>> energy = Energy([[1, 2], [3, 2]], edges=[[0, 1]], weights=[5])
    >>> local_scores(energy, np.array([0, 1]))
    array([[-1.,  3.],
           [ 2., -2.]])
    """
    scores = -energy.unary
    first, second = energy.edges.T
    np.add.at(scores, (first, labels[second]), energy.weights)
    np.add.at(scores, (second, labels[first]), energy.weights)
    return scores


def agreement_with(
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation | None],
    labelings: Sequence[IndexArray],
) -> float:
    """``1 - sum of losses / sum of sizes`` of labelings; problems without annotation do not count."""
    losses, sizes = 0.0, 0.0
    for problem, annotation, labels in zip(problems, annotations, labelings, strict=True):
        if annotation is not None:
            losses += annotation.loss(problem, labels)
            sizes += float(annotation.label_sizes(problem).sum())
    return 1.0 - losses / sizes if sizes > 0 else 0.0
