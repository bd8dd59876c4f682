"""The multi-utility SSVM, for annotations of every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from multiutility.annotations import Tags
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.inference import Solver
from multiutility.learning.cccp import Cccp, Fit, convex_fit
from multiutility.learning.estimator import Estimator, warn_unmet
from multiutility.learning.examples import (
    ClassWeight,
    Example,
    balance,
    expecting,
    label_weights,
    settled,
    slack_costs,
    trusted_costs,
    weighted,
)
from multiutility.learning.fitting import Fitting, one_blas_thread
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.solution import Callback, Optimizer
from multiutility.learning.refitting import Frozen, Kept, refit, succeeded
from multiutility.learning.selection.choice import GUESSED, Choice, truth_of
from multiutility.learning.selection.choose import choose
from multiutility.learning.selection.evidence import Estimate
from multiutility.learning.selection.rereading import Rereader
from multiutility.learning.selection.unmasked import SEEDS_ONLY, UNJUDGED
from multiutility.learning.starts.masks import Masks
from multiutility.learning.starts.soft import Soft
from multiutility.learning.starts.start import Beginning, Start, proposed
from multiutility.parallel import Executor
from multiutility.problem import LabelingProblem

# Relative gap at which the convex problem of the first outer iteration ends.
LOOSEST = 0.4
# Weight of the slacks of weak annotations in the paper.
ALPHA = 0.1
# Where to begin with the losses of annotations, unless it is said.
STARTS: tuple[Start, ...] = (Soft(), Masks())


class MultiUtilitySSVM(Estimator):
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
    warm_start : bool
        Whether ``fit`` keeps what it takes to go on from it, for ``refit``: some memory for each node. It
        needs the usual optimizer, in this process, and no checkpoint.

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
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int = 1,
        verbose: int = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        memory_limit: int | str | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.C = C
        self.alpha = alpha
        self.weak_loss = weak_loss
        self.starts = starts
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.optimizer = optimizer
        self.solver = solver
        self.imputer = imputer
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.executor = executor

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
        examples, fitting = self._begin(problems, annotations, self.imputer)
        if self.warm_start:
            self._check_warm_start(fitting)
        self.chosen_: dict[str, Any] = {}
        self.estimate_: Estimate | None = None
        self.kept_: Kept | None = None
        with one_blas_thread():
            fit, used, frozen = self._fit(fitting, examples, rehearsed(examples, rehearsals))
            if self.warm_start:
                self.kept_ = Kept(frozen(), tuple(problems), tuple(annotations), used, fit)
        return self._done(fitting, len(problems), used, fit)

    def refit(
        self,
        problems: Sequence[LabelingProblem],
        annotations: Sequence[Annotation | None],
        changed: Sequence[int] | None = None,
        max_passes: int | None = None,
    ) -> Self:
        """Learn on from the last fit: only what has changed begins anew, and all that was chosen stays.

        ``problems`` and ``annotations`` are those of the last time, some of them replaced; None as annotation
        takes a problem out, and new ones come at the end. ``changed`` are the places of what is not as it
        was; by default, of what is not the same object. With ``max_passes``, it ends after so many passes at
        the latest, and the next ``refit``, maybe without a change, goes on.

        Class weights, the weight of weak annotations and how they are read are those of ``fit``, so that the
        objective stays the same but for the examples; ``fit`` chooses anew. A weak annotation that comes
        later is read by what the others were taken for, and by all labels that have become certain since.
        There may be more labels than before, after the others: annotations that have not changed must then
        say the same of the old ones.

        >>> from multiutility.annotations import Full
        >>> one, two = (LabelingProblem([[1.0, x], [x, 1.0]], [[0, 1]], [[0.1]]) for x in (0.0, 0.2))
        >>> labels = [Full.from_labels([0, 1], n_labels=2), None]
        >>> model = MultiUtilitySSVM(C=10, warm_start=True, random_state=0).fit([one, two], labels)
        >>> model.predict([two])
        [array([0, 1], dtype=int32)]
        >>> labels = [labels[0], Full.from_labels([1, 1], n_labels=2)]
        >>> model.refit([one, two], labels).predict([two])
        [array([1, 1], dtype=int32)]
        """
        kept = vars(self).get("kept_")
        if kept is None:
            raise ValueError("there is no fit to go on from: call fit, with warm_start=True")
        new = kept.changed(problems, annotations) if changed is None else list(changed)
        with one_blas_thread():
            succession = succeeded(kept, problems, annotations, set(new))
            fitting = self._fitting(succession.examples, self.imputer)
            self._check_warm_start(fitting)
            fit = refit(kept, succession, fitting, self.tol, self.max_iter, max_passes)
        self.kept_ = Kept(kept.frozen, tuple(problems), tuple(annotations), succession.examples, fit)
        if max_passes is not None:
            fit = replace(fit, converged=True)  # nobody is warned who wanted it
        return self._done(fitting, len(problems), succession.examples, fit)

    def _check_warm_start(self, fitting: Fitting) -> None:
        """Raise if there is nothing that a later fit could start from."""
        for name in ("checkpoint", "executor"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is {getattr(self, name)}: with warm_start, there must be none")
        if not isinstance(fitting.minimizer, FrankWolfe):
            raise ValueError(f"optimizer is {self.optimizer}: with warm_start, it must be FrankWolfe")

    def _done(self, fitting: Fitting, n_problems: int, used: Sequence[Example], fit: Fit[Any]) -> Self:
        self.n_iter_ = len(fit.objectives) - 1
        self.outer_objective_ = np.array(fit.objectives)
        warn_unmet(used, fit.imputation)
        return self._keep(fitting, n_problems, used, fit)

    def _fit(
        self, fitting: Fitting, examples: Sequence[Example], rehearsals: Sequence[Sequence[Annotation]]
    ) -> tuple[Fit[Any], Sequence[Example], Callable[[], Frozen]]:
        """Return the fit, the examples that it was made of, and what stays in a ``refit``."""
        if self.weak_loss not in ("annotation", "expected"):
            raise ValueError(f"weak_loss is {self.weak_loss!r}: expected 'annotation' or 'expected'")
        if self.weak_loss == "expected":
            return self._fit_expected(fitting, examples, rehearsals)
        alpha = ALPHA if self.alpha is None else self.alpha
        costs = slack_costs(examples, self.C, alpha)
        frozen = partial(self._frozen, examples, partial(slack_costs, C=self.C, alpha=alpha))
        if not any(one.latent for one in examples):
            return self._fit_convex(fitting, examples, costs), examples, frozen
        fit = self._procedure(fitting, examples, self._begins(fitting, examples, costs))
        return fit, examples, frozen

    def _fit_expected(
        self, fitting: Fitting, examples: Sequence[Example], rehearsals: Sequence[Sequence[Annotation]]
    ) -> tuple[Fit[Any], Sequence[Example], Callable[[], Frozen]]:
        """Learn from the losses that are expected under posteriors, which are chosen first."""
        # What is void has no expected loss, and guesses of it do harm.
        left = [one.without_open_nodes() if one.annotation.strong else one for one in examples]
        power = None if self.class_weight == "auto" else fixed_power(self.class_weight)
        learn = partial(self._learn_roughly, fitting)
        choice = choose(left, rehearsals, fitting.backend.soft_start, self.alpha, power, learn)
        self.chosen_, self.estimate_ = dict(choice.facts), choice.estimate
        known = self._expecting(left, choice)
        costs = trusted_costs(known, self.C, choice.alpha)
        return self._fit_convex(fitting, known, costs), known, partial(self._chosen, left, known, choice)

    def _learn_roughly(self, fitting: Fitting, examples: Sequence[Example]) -> FloatArray:
        """Weights of full labelings, for an opinion: guesses of rare labels are often wrong."""
        ready = weighted(examples, GUESSED) if self.class_weight == "auto" else examples
        return fitting.rough_weights(ready, trusted_costs(ready, self.C, 1.0))

    def _frozen(
        self,
        examples: Sequence[Example],
        costs: Callable[[Sequence[Example]], FloatArray],
        balance: ClassWeight = None,
        rereader: Rereader | None = None,
    ) -> Frozen:
        """Return what stays in a ``refit``."""
        power = balance if self.class_weight == "auto" else self.class_weight
        return Frozen(label_weights(examples, power), costs, rereader)

    def _chosen(self, examples: Sequence[Example], known: Sequence[Example], choice: Choice) -> Frozen:
        """Return what stays of a choice: also how to read weak annotations if there were none that count."""
        judged = choice.alpha > 0 and any(not one.annotation.strong for one in known)
        alpha = choice.alpha if judged else UNJUDGED if self.alpha is None else self.alpha
        used = {one.index for one in known}
        pairs = zip(examples, choice.posteriors, strict=True)
        posteriors = [posterior for one, posterior in pairs if one.index in used]
        some = [one for one in examples if one.index in used]
        marks = SEEDS_ONLY if choice.marks is None else choice.marks
        assert choice.space is not None  # see choose
        how = (marks, choice.balance or 0.0, choice.alpha > 0, choice.space())
        rereader = Rereader(some, posteriors, *how)
        costs = partial(trusted_costs, C=self.C, alpha=alpha)
        return self._frozen(known, costs, choice.balance, rereader)

    def _fit_convex(self, fitting: Fitting, examples: Sequence[Example], costs: FloatArray) -> Fit[Any]:
        """Learn from examples that leave nothing open: the same as SSVM."""
        return convex_fit(examples, fitting.solve(examples, costs, self.tol), self.tol)

    def _begins(self, fitting: Fitting, examples: Sequence[Example], costs: FloatArray) -> list[Any]:
        """Return the risk measured from the labelings of each start."""
        backend = fitting.backend
        risk = backend.risk(examples, costs, proposed(examples))
        beginning = Beginning(examples, backend, partial(fitting.full_weights, examples, self.C, self.tol))
        begins = [start(beginning) for start in (STARTS if self.starts is None else self.starts)]
        anchored = [risk.anchored(labelings) for labelings in begins if labelings is not None]
        if not anchored:
            raise ValueError(f"starts is {self.starts!r}: none of them can begin without full labelings")
        return anchored

    def _procedure(self, fitting: Fitting, examples: Sequence[Example], begins: Sequence[Any]) -> Fit[Any]:
        loosest = max(self.tol, LOOSEST)
        cccp: Cccp[Any, Any] = Cccp(
            fitting.minimizer, self.tol, loosest, self.max_iter, journal=fitting.journal
        )
        imputer = fitting.backend.imputer(examples)
        return cccp.minimize_best(begins, imputer, fitting.random_state, fitting.note)

    def _expecting(self, examples: Sequence[Example], choice: Choice) -> list[Example]:
        """Return the examples that count, with expected losses in place of those of weak annotations."""
        pairs = zip(examples, choice.posteriors, strict=True)
        known = [
            one if posterior is None else expecting(one, posterior)
            for n, (one, posterior) in enumerate(pairs)
            if one.annotation.strong or (choice.alpha > 0 and n not in choice.left_out)
        ]
        chosen = weighted(known, choice.balance if self.class_weight == "auto" else self.class_weight)
        ready = [one if one.annotation.strong else settled(one) for one in chosen]
        # What nothing is known of has no loss, but would share the weight of the others.
        return [one for one in ready if not one.silent] or ready


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
