"""Estimators with scikit-learn's conventions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from multiutility.annotations import Expected, Full, Tags
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray, IndexArray
from multiutility.inference import Expansion, Pinpoint, Solver
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.learning.cccp import Cccp, Fit, Imputation, Imputing
from multiutility.learning.checkpoint.journal import Journal, Journaled
from multiutility.learning.cluster.backends import Elsewhere, Here, Place
from multiutility.learning.examples import (
    ClassWeight,
    Example,
    balance,
    class_weights,
    make_examples,
    slack_costs,
    trusted_costs,
    weighted,
)
from multiutility.learning.labeling_risk import AT_ONCE
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.solution import Callback, Minimizer, Optimizer, Record, Solution
from multiutility.learning.selection.choice import Choice, truth_of
from multiutility.learning.selection.choose import choose
from multiutility.learning.selection.evidence import Estimate
from multiutility.learning.starts.masks import Masks
from multiutility.learning.starts.soft import Soft
from multiutility.learning.starts.start import Beginning, Start, proposed
from multiutility.memory import n_bytes
from multiutility.models import Potts
from multiutility.parallel import Executor
from multiutility.problem import LabelingProblem

# Relative gap at which the convex problem of the first outer iteration ends, and that of a first model.
LOOSEST, ROUGH = 0.4, 0.1
# Weight of the slacks of weak annotations in the paper.
ALPHA = 0.1
# Where to begin with the losses of annotations, unless it is said.
STARTS: tuple[Start, ...] = (Soft(), Masks())
# Part of a limit of memory that products of features may take.
KERNEL_SHARE = 4


class SSVM(BaseEstimator):
    """Structured support vector machine for full labelings: eq. ssvm-obj.

    ``min |w|^2 / 2 + C / N sum_n max_y (Delta_n(y) + F(x_n, y; w) - F(x_n, y_n; w))`` over weights w whose
    pairwise part is not negative. Nodes that are all void are left out, with their edges.

    Parameters
    ----------
    C : float
        Weight of the slacks.
    tol : float
        Duality gap, as part of the primal objective, at which learning ends. With an approximate solver the
        primal is a lower estimate, so that the gap is not certified.
    class_weight : None, "balanced", float or dict
        Weights of labels in the losses, scaled to the mean 1 over all annotated nodes; a number from 0 to 1
        is a power of balanced ones.
    optimizer : Optimizer
        By default ``FrankWolfe()``.
    solver : Solver
        By default ``Expansion(n_jobs=n_jobs)``.
    random_state : int, RandomState or None
        Order of the instances.
    n_jobs : int
        Threads of the default solver, and of the start; results do not depend on it.
    verbose : int
        Print the objective after every pass.
    callback : callable
        Called with a ``Record`` after every pass.
    checkpoint : path or None
        File that keeps the state of learning, about twice a minute. If it is there, learning goes on from it,
        and ends with bit for bit the same weights; one of other problems or parameters is refused. It is
        left behind, to be removed when the result is safe. ``random_state`` must be a number then.
    memory_limit : int, str or None
        Memory that the process may have, in bytes or as ``"2GB"``: products of features that are kept from
        one pass to the next take a quarter of it at most. Features themselves take what is left if the
        problems read them through an ``ArrayCache``, as those of ``Segmenter`` do. The weights are bit for
        bit the same, whatever the limit.
    executor : Executor or None
        Who learns, such as a ``Cluster``: examples go there in shards, and an ``optimizer`` must know how to
        work with shards, as ``ShardedFrankWolfe`` does. The weights do not depend on the number of workers.

    Attributes
    ----------
    weights_ : ndarray [K D + e]
        Weights: K rows of D weights of node features, then weights of edge features, see ``Potts``.
    objective_ : structured ndarray
        After every pass: ``iteration`` (outer; 0 for trials of starts), ``passes``, ``primal``, ``dual``,
        ``gap``, ``seconds``, and ``exact``: whether the primal was computed or estimated on the way.
    imputed_ : list
        Labelings that the instances were fitted to.

    >>> problem = LabelingProblem([[1.0, 0.0], [0.0, 1.0], [0.1, 0.9]], [[0, 1], [1, 2]], [[1.0], [1.0]])
    >>> model = SSVM(C=10).fit([problem], [Full.from_labels([0, 1, 1], n_labels=2)])
    >>> model.predict([problem])
    [array([0, 1, 1], dtype=int32)]
    >>> model.score([problem], [Full.from_labels([0, 1, -1], n_labels=2)])
    1.0
    """

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803
        *,
        tol: float = 0.01,
        class_weight: ClassWeight = None,
        optimizer: Optimizer[Any, Any] | None = None,
        solver: Solver | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int = 1,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        memory_limit: int | str | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.class_weight = class_weight
        self.optimizer = optimizer
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.executor = executor

    def fit(self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]) -> Self:
        """Learn weights from problems with full labelings; those whose annotation is None are left out."""
        examples = [one.without_open_nodes() for one in self._examples(problems, annotations)]
        for one in examples:
            if not one.annotation.strong:
                raise ValueError(f"annotations[{one.index}] is weak: use MultiUtilitySSVM")
        with one_blas_thread():
            solution = self._solve(self._risk(examples, 1.0, proposed(examples)), self.tol)
        return self._store(examples, solution, proposed(examples), solution.converged)

    def predict(self, problems: Sequence[LabelingProblem]) -> list[IndexArray]:
        """Labelings [V] of highest score."""
        check_is_fitted(self)
        model, solver, labelings = Potts(self.n_labels_), self._solver(), []
        for first in range(0, len(problems), AT_ONCE):
            some = problems[first : first + AT_ONCE]
            results = solver.minimize_many([model.energy(problem, self.weights_) for problem in some])
            labelings += [result.labels for result in results]
        return labelings

    def decision_function(self, problems: Sequence[LabelingProblem]) -> list[NDArray[Any]]:
        """Scores [V, K] of the nodes' labels, neighbors aside."""
        check_is_fitted(self)
        return [Potts(self.n_labels_).scores(problem, self.weights_) for problem in problems]

    def score(self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]) -> float:
        """``1 - sum of losses / sum of sizes``: for full labelings the accuracy, void aside."""
        labelings = self.predict(problems)
        losses, sizes = 0.0, 0.0
        for problem, annotation, labels in zip(problems, annotations, labelings, strict=True):
            if annotation is not None:
                losses += annotation.loss(problem, labels)
                sizes += float(annotation.label_sizes(problem).sum())
        return 1.0 - losses / sizes if sizes > 0 else 0.0

    def _examples(
        self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]
    ) -> list[Example]:
        """Check all arguments; the curve starts anew."""
        for name in ("C", "tol"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise ValueError(f"{name} is {value}: expected a positive number")
        self._random_state = check_random_state(self.random_state)
        self._records: list[Record] = []
        self._n_problems = len(problems)
        given = None if self.class_weight == "auto" else self.class_weight
        examples = weighted(make_examples(problems, annotations), given)
        self._place = self._make_place()
        self._minimizer, self._journal = self._make_minimizer(examples)
        return examples

    def _make_minimizer(self, examples: Sequence[Example]) -> tuple[Minimizer[Any, Any], Journal]:
        """Return the optimizer, with a journal if a checkpoint is asked for."""
        optimizer = self._place.optimizer() if self.optimizer is None else self.optimizer
        if self.checkpoint is None:
            return optimizer, Journal()
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(f"random_state is {self.random_state}: checkpoints need a whole number")
        beside = ("callback", "checkpoint", "executor", "memory_limit", "n_jobs", "verbose")
        parameters = {name: repr(p) for name, p in self.get_params(deep=False).items() if name not in beside}
        parameters |= {"class": type(self).__name__, "optimizer": repr(optimizer)}
        journal = Journal(Path(self.checkpoint), self._place.key(examples, parameters))
        return Journaled(optimizer, journal), journal

    def _make_place(self) -> Place:
        """Return where the work is done."""
        limit = np.inf if self.memory_limit is None else n_bytes(self.memory_limit) / KERNEL_SHARE
        if self.executor is None:
            return Here(self._solver(), self._imputer(), self.n_jobs, limit)
        return Elsewhere(self.executor, self._solver(), self._imputer(), limit)

    def _solver(self) -> Solver:
        if self.solver is not None:
            return self.solver
        return Expansion(n_jobs=self.n_jobs if self.executor is None else 1)

    def _imputer(self) -> Solver:
        return Pinpoint(self._solver())

    def _risk(self, examples: Sequence[Example], alpha: float, anchors: Sequence[IndexArray]) -> Any:
        return self._place.risk(examples, slack_costs(examples, self.C, alpha), anchors)

    def _solve(self, risk: Any, tolerance: float) -> Solution[Any]:
        return self._minimizer.minimize(risk, tolerance, None, self._random_state, self._note)

    def _note(self, record: Record) -> None:
        self._records.append(record)
        if self.verbose:
            mark = "" if record.exact else "~"
            print(
                f"iteration {record.iteration} pass {record.passes}: primal {mark}{record.primal:.6g} "
                f"dual {record.dual:.6g} gap {mark}{record.relative_gap:.2%} after {record.seconds:.1f} s"
            )
        if self.callback is not None:
            self.callback(record)

    def _store(
        self,
        examples: Sequence[Example],
        solution: Solution[Any],
        labelings: Sequence[IndexArray],
        converged: bool,
    ) -> Self:
        if not converged:
            message = stopped_short(solution, self.tol, self._records)
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        # A fitted model can be copied; what it was made with cannot.
        self._minimizer, self._journal = FrankWolfe(), Journal()
        del self._place
        self.weights_: FloatArray = solution.weights
        self.n_labels_ = examples[0].annotation.n_labels
        self.n_features_in_ = examples[0].problem.n_features
        self.objective_ = curve(self._records)
        self.imputed_: list[IndexArray | None] = [None] * self._n_problems
        for one, labels in zip(examples, labelings, strict=True):
            self.imputed_[one.index] = labels
        return self


class MultiUtilitySSVM(SSVM):
    """Multi-utility SSVM, for annotations of every kind at once: eq. lvssmv-obj.

    ``min |w|^2 / 2 + C / (N + M) (sum_n xi_n + alpha sum_m eta_m)`` with the slacks xi of N full labelings,
    as in ``SSVM``, and for each of M weak annotations
    ``eta = max_y (K(y) + F(x, y; w)) - max_{consistent y} F(x, y; w)``. Nodes that are all void in a full
    labeling are imputed, too. Not convex: by the concave-convex procedure, from whichever of ``starts`` leads
    lowest.

    Parameters
    ----------
    alpha : float or None
        Weight of the slacks of weak annotations. None: 0.1, or chosen if ``weak_loss`` is "expected".
    weak_loss : "annotation" or "expected"
        Losses of weak annotations: their own, as in the paper, or ``Expected`` ones under posteriors that are
        chosen by evidence, see ``learning.selection``. With the latter, what is void in full labelings is
        left out, as in ``SSVM``, full labelings weigh the same among few weak annotations as among many, and
        ``class_weight`` may be "auto", to be chosen, too.
    starts : sequence of Start, or None
        Where to begin, if ``weak_loss`` is "annotation": by default from soft labels, and from the SSVM on
        the full labelings, ``(Soft(), Masks())``.
    max_iter : int
        Outer iterations, at most.
    imputer : Solver
        For annotation-consistent inference, by default ``Pinpoint`` around the solver.

    The other parameters and the attributes are those of ``SSVM``; ``n_iter_`` is the number of outer
    iterations, ``outer_objective_`` the objective after each of them. ``chosen_`` (dict) says what was chosen
    and why, ``estimate_`` (Estimate or None) what held-out full labelings promise for new ones.
    """

    def __init__(
        self,
        C: float = 1.0,  # noqa: N803
        *,
        alpha: float | None = ALPHA,
        weak_loss: Literal["annotation", "expected"] = "annotation",
        starts: Sequence[Start] | None = None,
        tol: float = 0.01,
        max_iter: int = 20,
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
        super().__init__(
            C,
            tol=tol,
            class_weight=class_weight,
            optimizer=optimizer,
            solver=solver,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
            checkpoint=checkpoint,
            memory_limit=memory_limit,
            executor=executor,
        )
        self.alpha = alpha
        self.weak_loss = weak_loss
        self.starts = starts
        self.max_iter = max_iter
        self.imputer = imputer

    def fit(
        self,
        problems: Sequence[LabelingProblem],
        annotations: Sequence[Annotation | None],
        rehearsals: Sequence[Sequence[Annotation]] | None = None,
    ) -> Self:
        """Learn weights from problems with annotations; those whose annotation is None are left out.

        ``rehearsals``, one sequence for each problem, are weak annotations that a full labeling would have
        had if its problem had been annotated as the others: how to read these is learned from that, if
        ``weak_loss`` is "expected". By default they are the labels that a full labeling has, as tags.
        """
        examples = self._examples(problems, annotations)
        self._rehearsals = rehearsed(examples, rehearsals)
        self.chosen_: dict[str, Any] = {}
        self.estimate_: Estimate | None = None
        with one_blas_thread():
            fit, used = self._fit(examples)
        self.n_iter_ = len(fit.objectives) - 1
        self.outer_objective_ = np.array(fit.objectives)
        warn_unmet(used, fit.imputation)
        return self._store(used, fit.solution, fit.imputation.labelings, fit.converged)

    def _fit(self, examples: Sequence[Example]) -> tuple[Fit[Any], Sequence[Example]]:
        """Return the fit, and the examples that it was made of."""
        if self.weak_loss not in ("annotation", "expected"):
            raise ValueError(f"weak_loss is {self.weak_loss!r}: expected 'annotation' or 'expected'")
        if self.weak_loss == "expected":
            return self._fit_expected(examples)
        alpha = ALPHA if self.alpha is None else self.alpha
        costs = slack_costs(examples, self.C, alpha)
        if not any(one.latent for one in examples):
            return self._fit_convex(examples, costs), examples
        risk = self._place.risk(examples, costs, proposed(examples))
        beginning = Beginning(examples, self._place, partial(self._full_weights, examples))
        begins = [start(beginning) for start in (STARTS if self.starts is None else self.starts)]
        anchored = [risk.anchored(labelings) for labelings in begins if labelings is not None]
        if not anchored:
            raise ValueError(f"starts is {self.starts!r}: none of them can begin without full labelings")
        return self._procedure(anchored, self._place.imputer(examples)), examples

    def _fit_expected(self, examples: Sequence[Example]) -> tuple[Fit[Any], Sequence[Example]]:
        """Learn from the losses that are expected under posteriors, which are chosen first."""
        # What is void has no expected loss, and guesses of it do harm.
        left = [one.without_open_nodes() if one.annotation.strong else one for one in examples]
        power = None if self.class_weight == "auto" else fixed_power(self.class_weight)
        choice = choose(left, self._rehearsals, self._place.soft_start, self.alpha, power)
        self.chosen_, self.estimate_ = dict(choice.facts), choice.estimate
        known = self._expecting(left, choice)
        costs = trusted_costs(known, self.C, choice.alpha)
        return self._fit_convex(known, costs), known

    def _fit_convex(self, examples: Sequence[Example], costs: FloatArray) -> Fit[Any]:
        """Learn from examples that leave nothing open: the same as SSVM."""
        solution = self._solve(self._place.risk(examples, costs, proposed(examples)), self.tol)
        return Fit(solution, unimputed(examples), (solution.primal,), self.tol, solution.converged)

    def _procedure(self, begins: Sequence[Any], imputer: Imputing) -> Fit[Any]:
        loosest = max(self.tol, LOOSEST)
        cccp: Cccp[Any, Any] = Cccp(self._minimizer, self.tol, loosest, self.max_iter, journal=self._journal)
        return cccp.minimize_best(begins, imputer, self._random_state, self._note)

    def _expecting(self, examples: Sequence[Example], choice: Choice) -> list[Example]:
        """Return the examples that count, with expected losses in place of those of weak annotations."""
        pairs = zip(examples, choice.posteriors, strict=True)
        known = [
            one if posterior is None else expecting(one, posterior)
            for one, posterior in pairs
            if choice.alpha > 0 or one.annotation.strong
        ]
        chosen = weighted(known, choice.balance if self.class_weight == "auto" else self.class_weight)
        return [one if one.annotation.strong else settled(one) for one in chosen]

    def _imputer(self) -> Solver:
        return Pinpoint(self._solver()) if self.imputer is None else self.imputer

    def _full_weights(self, examples: Sequence[Example]) -> FloatArray:
        """Weights of the SSVM on the full labelings."""
        full = [one.without_open_nodes() for one in examples if one.annotation.strong]
        return self._solve(self._risk(full, 1.0, proposed(full)), max(self.tol, ROUGH)).weights


class SelfTraining(MultiUtilitySSVM):
    """Impute once, then train: the comparison methods of the paper's last section (after Kumar et al. 2011).

    Trains on the full labelings (if there are none, on soft labels), imputes labelings that agree with the
    weak annotations, and retrains on all of them, with ``loss="strong"`` by the Hamming loss to the imputed
    labelings, with ``loss="weak"`` by the annotations' own losses: one outer iteration of
    ``MultiUtilitySSVM``. In both, ``alpha`` weighs the slacks of weak annotations; 1 treats all alike.
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
        super().__init__(
            C,
            alpha=alpha,
            tol=tol,
            max_iter=1,
            class_weight=class_weight,
            optimizer=optimizer,
            solver=solver,
            imputer=imputer,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
            checkpoint=checkpoint,
            memory_limit=memory_limit,
            executor=executor,
        )
        self.loss = loss

    def _fit(self, examples: Sequence[Example]) -> tuple[Fit[Any], Sequence[Example]]:
        if self.loss not in ("strong", "weak"):
            raise ValueError(f"loss is {self.loss!r}: expected 'strong' or 'weak'")
        imputer = self._place.imputer(examples)
        strong = any(one.annotation.strong for one in examples)
        weights = self._full_weights(examples) if strong else self._place.soft_start(examples).weights
        imputation = imputer.impute(weights, proposed(examples))
        trained = self._hardened(examples, imputation) if self.loss == "strong" else examples
        alpha = ALPHA if self.alpha is None else self.alpha
        risk = self._place.risk(trained, slack_costs(examples, self.C, alpha), imputation.labelings)
        solution = self._solve(risk, self.tol)
        return Fit(solution, imputation, (solution.primal,), self.tol, solution.converged), examples

    def _hardened(self, examples: Sequence[Example], imputation: Imputation) -> list[Example]:
        """Return the examples with full labelings in place of weak annotations."""
        n_labels = examples[0].annotation.n_labels
        fulls = [Full.from_labels(labels, n_labels) for labels in imputation.labelings]
        if self.class_weight is not None:
            fulls = [full.weighted(class_weights(examples, self.class_weight)) for full in fulls]
        pairs = zip(examples, fulls, strict=True)
        return [one if one.annotation.strong else replace(one, annotation=full) for one, full in pairs]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Products of one instance are too small to share: threads cost more than they give."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def rehearsed(
    examples: Sequence[Example], rehearsals: Sequence[Sequence[Annotation]] | None
) -> list[Sequence[Annotation]]:
    """Return the weak annotations that full labelings would have had, by example; tags if none are given."""
    if rehearsals is not None:
        return [rehearsals[one.index] for one in examples]
    return [[tags_of(one)] if one.annotation.strong else [] for one in examples]


def tags_of(example: Example) -> Annotation:
    """Tags of the labels that a full labeling has."""
    labels = np.flatnonzero(truth_of(example).sum(axis=0) > 0).tolist()
    return Tags(labels or [0], example.annotation.n_labels)


def fixed_power(class_weight: ClassWeight) -> float:
    """Power of class weights that are given; weights by label are not looked at in choices."""
    return 0.0 if isinstance(class_weight, Mapping) else balance(class_weight)


def expecting(example: Example, shares: FloatArray) -> Example:
    """Return the example with the expected loss under soft labels [V, K]."""
    return replace(example, annotation=Expected(example.annotation, shares))


def settled(example: Example) -> Example:
    """Return the example with the labels that its annotation, class weights and all, has as the likeliest."""
    constraints = example.annotation.constraints(example.problem)
    return replace(example, constraints=constraints).without_open_nodes()


def unimputed(examples: Sequence[Example]) -> Imputation:
    """Imputation of examples that leave nothing open."""
    return Imputation(proposed(examples), np.zeros(len(examples)), {})


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


def curve(records: Sequence[Record]) -> NDArray[Any]:
    """Return the records as a structured array."""
    fields = [("iteration", int), ("passes", int), ("primal", float), ("dual", float), ("gap", float)]
    rows = [(r.iteration, r.passes, r.primal, r.dual, r.gap, r.seconds, r.exact) for r in records]
    return np.array(rows, dtype=[*fields, ("seconds", float), ("exact", bool)])
