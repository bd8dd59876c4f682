"""Opinions of the learner itself, on full labelings alone: it knows neighbors, which regressions do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from scipy.special import softmax

from multiutility.arrays import FloatArray
from multiutility.inference import Expansion
from multiutility.learning.examples import Example
from multiutility.learning.prediction import local_scores
from multiutility.learning.starts.locality import inverse_norms
from multiutility.models import Potts
from multiutility.problem import LabelingProblem

# Weights of the learner, roughly, on examples with full labelings.
Learn: TypeAlias = Callable[[Sequence[Example]], FloatArray]

# Full labelings that it learns from, at most: its opinion is one of several, and must not take long.
MOST_TAUGHT = 20
# Examples whose margins tell what is typical.
N_TYPICAL = 8


@dataclass(frozen=True, eq=False)
class Learned:
    """Weights of a model, and the margin that is typical of it."""

    weights: FloatArray
    n_labels: int
    margin: float = 1.0

    @classmethod
    def of(cls, weights: FloatArray, n_labels: int, problems: Sequence[LabelingProblem]) -> Self:
        """Measure the margins of the best labels over the next ones, on the nodes of some problems."""
        if n_labels == 1:
            return cls(weights, n_labels)
        ranked = [np.sort(cls(weights, n_labels).scores(one), axis=1) for one in problems]
        median = float(np.median(np.concatenate([one[:, -1] - one[:, -2] for one in ranked])))
        return cls(weights, n_labels, median if median > 0 else 1.0)

    def scores(self, problem: LabelingProblem) -> FloatArray:
        """Scores [V, K] of labels while neighbors have those of the best labeling.

        By the norm of features: what sizes of nodes have done to them does not count.
        """
        energy = Potts(self.n_labels).energy(problem, self.weights)
        found = local_scores(energy, Expansion().minimize(energy).labels)
        return np.asarray(found * inverse_norms(problem.node_features))

    def __call__(self, problem: LabelingProblem) -> FloatArray:
        """Probabilities [V, K] that grow with scores, in units of the typical margin."""
        return np.asarray(softmax(self.scores(problem) / self.margin, axis=1))
