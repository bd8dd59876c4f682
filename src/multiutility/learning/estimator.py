"""What all estimators share: how a fit begins and what it leaves, and prediction."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray, IndexArray
from multiutility.inference import Solver
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.learning.cccp import Fit, Imputation
from multiutility.learning.examples import ClassWeight, Example, make_examples, weighted
from multiutility.learning.fitting import Fitting, Resources
from multiutility.learning.optimizers.solution import Optimizer, Record, Solution
from multiutility.learning.prediction import agreement_with, labelings
from multiutility.models import Potts
from multiutility.problem import LabelingProblem


class Estimator(BaseEstimator):
    """An estimator of the weights of ``Potts``, by scikit-learn's conventions.

    Those that learn differ in ``fit``, and each lists its own parameters, as scikit-learn wants it.
    """

    C: float
    tol: float
    class_weight: ClassWeight
    optimizer: Optimizer[Any, Any] | None
    solver: Solver | None
    random_state: int | np.random.RandomState | None

    weights_: FloatArray
    n_labels_: int
    n_features_in_: int
    objective_: NDArray[Any]
    imputed_: list[IndexArray | None]

    def predict(self, problems: Sequence[LabelingProblem]) -> list[IndexArray]:
        """Labelings [V] of highest score."""
        check_is_fitted(self)
        solver = Resources.of(self).solver(self.solver)
        return labelings(Potts(self.n_labels_), problems, self.weights_, solver)

    def decision_function(self, problems: Sequence[LabelingProblem]) -> list[NDArray[Any]]:
        """Scores [V, K] of the nodes' labels, neighbors aside."""
        check_is_fitted(self)
        model = Potts(self.n_labels_)
        return [model.scores(problem, self.weights_) for problem in problems]

    def score(self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]) -> float:
        """``1 - sum of losses / sum of sizes``: for full labelings the accuracy, void aside."""
        return agreement_with(problems, annotations, self.predict(problems))

    def _begin(
        self,
        problems: Sequence[LabelingProblem],
        annotations: Sequence[Annotation | None],
        imputer: Solver | None = None,
    ) -> tuple[list[Example], Fitting]:
        """Check all arguments; return the examples, with class weights in their losses, and a new fit."""
        for name in ("C", "tol"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise ValueError(f"{name} is {value}: expected a positive number")
        given = None if self.class_weight == "auto" else self.class_weight
        examples = weighted(make_examples(problems, annotations), given)
        return examples, self._fitting(examples, imputer)

    def _fitting(self, examples: Sequence[Example], imputer: Solver | None) -> Fitting:
        """Return a new fit."""
        resources = Resources.of(self)
        backend = resources.backend(resources.solver(self.solver), imputer)
        beside = {*resources.names(), "optimizer", "warm_start"}
        parameters = {name: repr(p) for name, p in self.get_params(deep=False).items() if name not in beside}
        parameters["class"] = type(self).__name__
        return Fitting(examples, resources, backend, self.optimizer, self.random_state, parameters)

    def _keep(
        self,
        fitting: Fitting,
        n_problems: int,
        examples: Sequence[Example],
        fit: Fit[Any],
    ) -> Self:
        """Keep what was learned from examples; called by ``fit`` itself, whose caller a warning is for."""
        if not fit.converged:
            message = stopped_short(fit.solution, self.tol, fitting.records)
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        self.weights_ = fit.solution.weights
        self.n_labels_ = examples[0].annotation.n_labels
        self.n_features_in_ = examples[0].problem.n_features
        self.objective_ = fitting.curve()
        self.imputed_ = [None] * n_problems
        for one, labels in zip(examples, fit.imputation.labelings, strict=True):
            self.imputed_[one.index] = labels
        return self


def stopped_short(solution: Solution[Any], tol: float, records: Sequence[Record]) -> str:
    """Return how far learning was from its end when its passes or iterations were over."""
    gap = (solution.primal - solution.dual) / solution.primal if solution.primal > 0 else 0.0
    last = records[-1]
    if gap > tol:
        what = f"learning stopped after {last.passes} passes with a gap of {gap:.1%}, not below tol ({tol:g})"
        return f"{what}: the best objective may be lower by that; a smaller C, or a larger tol, ends sooner"
    what = (
        f"learning stopped after {last.iteration} outer iterations (max_iter), with labels that still change"
    )
    return f"{what}; the gap is {gap:.1%}"


def warn_unmet(examples: Sequence[Example], imputation: Imputation) -> None:
    """Warn of annotations that no labeling found agrees with."""
    for n, covers in imputation.unmet.items():
        labels = sorted({int(examples[n].constraints.cover_labels[c]) for c in covers})
        message = f"annotations[{examples[n].index}]: {len(covers)} covers of labels {labels} cannot be met"
        warnings.warn(message, UnmetCoverWarning, stacklevel=3)
