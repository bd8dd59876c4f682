"""What every model promises."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from multiutility.arrays import FloatArray
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem


class Model(Protocol):
    """A score of labelings that is linear in the weights: ``F(y) = w . joint_feature(y) = -E(y)``.

    What prediction and imputation see of it, in learning and after it, are energies; learning besides knows
    the parts of ``Potts``.
    """

    @property
    def n_labels(self) -> int:
        """Number of labels, K."""

    def n_weights(self, problem: LabelingProblem) -> int:
        """Number of weights, the same for all problems with the same number of features."""

    def nonnegative(self, problem: LabelingProblem) -> slice:
        """The weights that must be >= 0; ``energy`` raises ValueError if one is not."""

    def joint_feature(self, problem: LabelingProblem, labels: ArrayLike) -> FloatArray:
        """Features [n_weights] of the labeling [V]."""

    def energy(self, problem: LabelingProblem, weights: ArrayLike) -> Energy:
        """Energy of labelings for the weights [n_weights]."""
