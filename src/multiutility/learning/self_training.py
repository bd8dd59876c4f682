"""Self-training, the comparison methods of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from multiutility.annotations import Full
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.inference import Solver
from multiutility.learning.cccp import Fit, Imputation
from multiutility.learning.estimator import Estimator, warn_unmet
from multiutility.learning.examples import ClassWeight, Example, class_weights, slack_costs
from multiutility.learning.fitting import Fitting, one_blas_thread
from multiutility.learning.multi_utility import ALPHA
from multiutility.learning.optimizers.solution import Callback, Optimizer
from multiutility.learning.selection.evidence import Estimate
from multiutility.learning.starts.start import proposed
from multiutility.parallel import Executor
from multiutility.problem import LabelingProblem


class SelfTraining(Estimator):
    """Impute once, then train: the comparison methods of the paper's last section (after Kumar et al. 2011).

    Trains on the full labelings (if there are none, on soft labels), imputes labelings that agree with the
    weak annotations, and retrains on all of them, with ``loss="strong"`` by the Hamming loss to the imputed
    labelings, with ``loss="weak"`` by the annotations' own losses: one outer iteration of
    ``MultiUtilitySSVM``. In both, ``alpha`` weighs the slacks of weak annotations; 1 treats all alike.

    The other parameters and the attributes are those of ``MultiUtilitySSVM``; nothing is chosen.
    """

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803
        *,
        loss: Literal["strong", "weak"] = "strong",
        alpha: float = 0.1,
        tol: float = 0.01,
        class_weight: ClassWeight = None,
        optimizer: Optimizer[Any, Any] | None = None,
        solver: Solver | None = None,
        imputer: Solver | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int = 1,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        memory_limit: int | str | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.class_weight = class_weight
        self.optimizer = optimizer
        self.solver = solver
        self.imputer = imputer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.executor = executor

    def fit(self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]) -> Self:
        """Learn weights from problems with annotations; those whose annotation is None are left out."""
        if self.loss not in ("strong", "weak"):
            raise ValueError(f"loss is {self.loss!r}: expected 'strong' or 'weak'")
        examples, fitting = self._begin(problems, annotations, self.imputer)
        self.chosen_: dict[str, Any] = {}
        self.estimate_: Estimate | None = None
        with one_blas_thread():
            fit = self._fit(fitting, examples)
        self.n_iter_ = len(fit.objectives) - 1
        self.outer_objective_ = np.array(fit.objectives)
        warn_unmet(examples, fit.imputation)
        return self._keep(fitting, len(problems), examples, fit)

    def _fit(self, fitting: Fitting, examples: Sequence[Example]) -> Fit[Any]:
        backend = fitting.backend
        imputer = backend.imputer(examples)
        imputation = imputer.impute(self._first_weights(fitting, examples), proposed(examples))
        trained = self._hardened(examples, imputation) if self.loss == "strong" else examples
        alpha = ALPHA if self.alpha is None else self.alpha
        risk = backend.risk(trained, slack_costs(examples, self.C, alpha), imputation.labelings)
        solution = fitting.minimize(risk, self.tol)
        return Fit(solution, imputation, (solution.primal,), self.tol, solution.converged)

    def _first_weights(self, fitting: Fitting, examples: Sequence[Example]) -> FloatArray:
        """Weights to impute by: of the full labelings, or of soft labels without any."""
        if any(one.annotation.strong for one in examples):
            return fitting.full_weights(examples, self.C, self.tol)
        return fitting.backend.soft_start(examples).weights

    def _hardened(self, examples: Sequence[Example], imputation: Imputation) -> list[Example]:
        """Return the examples with full labelings in place of weak annotations."""
        n_labels = examples[0].annotation.n_labels
        fulls = [Full.from_labels(labels, n_labels) for labels in imputation.labelings]
        if self.class_weight is not None:
            fulls = [full.weighted(class_weights(examples, self.class_weight)) for full in fulls]
        pairs = zip(examples, fulls, strict=True)
        return [one if one.annotation.strong else replace(one, annotation=full) for one, full in pairs]
