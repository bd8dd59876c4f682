"""Fits that start from the last one: what is kept of it, and how examples that have changed come in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from multiutility.annotations import Expected
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.learning.cccp import Cccp, Fit, convex_fit
from multiutility.learning.examples import Example, check_widths, expecting, model_of, settled
from multiutility.learning.fitting import Fitting
from multiutility.learning.labeling_risk import LabelingRisk
from multiutility.learning.optimizers.dual import Dual
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.selection.rereading import Rereader, wider
from multiutility.learning.starts.start import proposed
from multiutility.problem import LabelingProblem


@dataclass(frozen=True, eq=False)
class Frozen:
    """What was chosen, and stays: class weights [K], weights of slacks, and how weak annotations are read.

    ``costs`` are the weights of the slacks of examples, C_n [N]: by the same rule as at first, so that the
    objective is that of a fit to the examples of now. Without a ``rereader``, annotations have losses of
    their own.
    """

    class_weights: FloatArray
    costs: Callable[[Sequence[Example]], FloatArray]
    rereader: Rereader | None

    def weights(self, n_labels: int) -> FloatArray:
        """Class weights [K]; labels that are new have the largest, as all that do not occur."""
        missing = n_labels - len(self.class_weights)
        return np.pad(self.class_weights, (0, missing), constant_values=self.class_weights.max())

    def ready(self, given: Sequence[Example], gone: Collection[int]) -> list[Example]:
        """Return examples as they are learned from, with class weights and posteriors."""
        if self.rereader is None:
            return [self._weighted(one) for one in given]
        # What is void has no expected loss, and guesses of it do harm.
        left = [one.without_open_nodes() if one.annotation.strong else one for one in given]
        pairs = zip(left, self.rereader(left, gone), strict=True)
        return [self._weighted(one if read is None else expecting(one, read)) for one, read in pairs]

    def wider(self, example: Example, given: Example) -> Example:
        """Return an example that has not changed, among more labels, as its annotation has it there."""
        n_labels = given.annotation.n_labels
        if not isinstance(example.annotation, Expected):
            return self._weighted(given.without_open_nodes() if example.ignored is not None else given)
        return self._weighted(expecting(given, wider(example.annotation.shares, n_labels)))

    def _weighted(self, example: Example) -> Example:
        annotation = example.annotation.weighted(self.weights(example.annotation.n_labels))
        weighted = replace(example, annotation=annotation)
        return settled(weighted) if isinstance(annotation, Expected) else weighted


@dataclass(frozen=True, eq=False)
class Kept:
    """A fit to go on from: what it was given, the examples that it was made of, and where it ended."""

    frozen: Frozen
    problems: Sequence[LabelingProblem]
    annotations: Sequence[Annotation | None]
    examples: Sequence[Example]
    fit: Fit[Dual]

    @property
    def risk(self) -> LabelingRisk:
        """The risk that was minimized, as it was anchored last."""
        risk = self.fit.solution.state.risk
        assert isinstance(risk, LabelingRisk)  # of this process: see MultiUtilitySSVM
        return risk

    def changed(
        self, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]
    ) -> list[int]:
        """Places of what is not the same object as before."""
        known = len(self.problems)
        return [
            n
            for n, (problem, annotation) in enumerate(zip(problems, annotations, strict=True))
            if n >= known or problem is not self.problems[n] or annotation is not self.annotations[n]
        ]


@dataclass(frozen=True, eq=False)
class Succession:
    """Examples of now, and their places among those of before, None for what is new or has changed."""

    examples: Sequence[Example]
    origins: Sequence[int | None]

    @property
    def fresh(self) -> list[int]:
        """Places of examples that are new or have changed."""
        return [n for n, origin in enumerate(self.origins) if origin is None]


def succeeded(
    kept: Kept,
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation | None],
    changed: Collection[int],
) -> Succession:
    """Put what has changed in place of what there was."""
    before = {one.index: n for n, one in enumerate(kept.examples)}
    grown = check_given(kept, problems, annotations)
    made = {
        n: Example(n, problems[n], annotation, annotation.constraints(problems[n]))
        for n, annotation in enumerate(annotations)
        if annotation is not None and (grown or n in changed)
    }
    for one in made.values():
        check_widths(kept.examples[0], one)
    gone = [n for n, annotation in enumerate(annotations) if annotation is None]
    ready = {one.index: one for one in kept.frozen.ready([made[n] for n in made if n in changed], gone)}
    examples: list[Example] = []
    origins: list[int | None] = []
    for n, annotation in enumerate(annotations):
        if n in ready:
            examples.append(ready[n])
            origins.append(None)
        elif annotation is not None and n in before:  # others were left out by choice, and still are
            old = kept.examples[before[n]]
            examples.append(kept.frozen.wider(old, made[n]) if grown else old)
            origins.append(before[n])
    if not examples:
        raise ValueError("no problem has an annotation any more: there is nothing to learn from")
    return Succession(examples, origins)


def check_given(
    kept: Kept, problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]
) -> bool:
    """Raise unless these can come after what there was; return whether there are more labels."""
    if len(problems) != len(annotations):
        raise ValueError(f"{len(problems)} problems, but {len(annotations)} annotations")
    if len(problems) < len(kept.problems):
        fix = "give those that are gone None as annotation, and new ones at the end"
        raise ValueError(f"{len(problems)} problems, but there were {len(kept.problems)}: {fix}")
    before = kept.examples[0].annotation.n_labels
    numbers = {n: one.n_labels for n, one in enumerate(annotations) if one is not None}
    most = max(numbers.values(), default=before)
    for n, number in numbers.items():
        if number != most or number < before:
            wanted = max(most, before)
            raise ValueError(f"annotations[{n}] has {number} labels: expected {wanted}; to have fewer, fit")
    return most > before


def risk_of(kept: Kept, succession: Succession, fitting: Fitting) -> LabelingRisk:
    """Return the risk of the examples of now, measured from the labelings of before.

    New examples are imputed by the weights of before.
    """
    old, examples = kept.risk, succession.examples
    costs, anchors = kept.frozen.costs(examples), proposed(examples)
    same = old.layout.n_labels == examples[0].annotation.n_labels
    instances = []
    for n, origin in enumerate(succession.origins):
        if origin is not None:
            anchors[n] = old.labelings[origin]
        if origin is not None and same:
            instances.append(old.instances[origin])
        else:
            instances.append(examples[n].instance(float(costs[n])))
    latent = [n for n in succession.fresh if examples[n].latent]
    if latent:
        imputer = fitting.backend.imputer([examples[n] for n in latent])
        found = imputer.impute(weights_before(kept, examples), [anchors[n] for n in latent]).labelings
        for n, labels in zip(latent, found, strict=True):
            anchors[n] = labels
    return old.succeeded(instances, anchors, costs, succession.origins)


def weights_before(kept: Kept, examples: Sequence[Example]) -> FloatArray:
    """Weights of the last fit, among the labels of now."""
    return kept.risk.layout.among(kept.fit.solution.weights, model_of(examples).layout(examples[0].problem))


def refit(
    kept: Kept, succession: Succession, fitting: Fitting, tol: float, max_iter: int, max_passes: int | None
) -> Fit[Dual]:
    """Learn from the examples of now, from where the last fit ended: those that have changed come first."""
    usual, examples = fitting.minimizer, succession.examples
    assert isinstance(usual, FrankWolfe)  # see MultiUtilitySSVM
    optimizer = usual if max_passes is None else replace(usual, max_passes=max_passes, average=False)
    risk = risk_of(kept, succession, fitting)
    start = kept.fit.solution.state.carried(risk, succession.origins)
    solution = optimizer.go_on(start, succession.fresh, tol, fitting.random_state, fitting.note)
    if not any(one.latent for one in examples):
        return convex_fit(examples, solution, tol)
    cccp: Cccp[LabelingRisk, Dual] = Cccp(optimizer, tol, tol, max_iter, journal=fitting.journal)
    imputer = fitting.backend.imputer(examples)
    return cccp.minimize(risk, imputer, solution, fitting.random_state, fitting.note)
