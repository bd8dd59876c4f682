"""Annotated problems, made ready for learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from multiutility.annotations import Expected
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import BoolArray, FloatArray
from multiutility.constraints import Constraints
from multiutility.learning.labeling_risk import Instance
from multiutility.memory import make_room
from multiutility.models import Potts
from multiutility.problem import LabelingProblem

ClassWeight: TypeAlias = Literal["balanced", "auto"] | float | Mapping[int, float] | None

# What a block takes for each node and edge, besides its loss.
NODE_BYTES, EDGE_BYTES = 100, 24


@dataclass(frozen=True, eq=False)
class Example:
    """A problem with its annotation; ``index`` is its place among what the user passed."""

    index: int
    problem: LabelingProblem
    annotation: Annotation
    constraints: Constraints
    ignored: BoolArray | None = None

    @property
    def open_nodes(self) -> BoolArray:
        """Nodes for which the annotation leaves more than one label, bool [V]."""
        if self.constraints.allowed is None:
            return np.full(self.problem.n_nodes, self.annotation.n_labels > 1)
        return np.asarray(self.constraints.allowed.sum(axis=1) > 1)

    @property
    def latent(self) -> bool:
        """Whether there is anything to impute."""
        return self.ignored is None and bool(self.open_nodes.any())

    @property
    def silent(self) -> bool:
        """Whether all nodes are ignored."""
        return self.ignored is not None and bool(self.ignored.all())

    def without_open_nodes(self) -> Example:
        """Return the example with its open nodes ignored and their edges dropped; features are shared."""
        ignored, problem = self.open_nodes, self.problem
        if not ignored.any():
            return self
        kept = ~ignored[problem.edges].any(axis=1)
        left = problem.changed(edges=problem.edges[kept], edge_features=problem.edge_features[kept])
        return replace(self, problem=left, ignored=ignored)

    def instance(self, cost: float) -> Instance:
        """Return the block of a risk, with weight ``cost``."""
        return Instance(self.problem, self.annotation.loss_energy(self.problem), cost, self.ignored)


def model_of(examples: Sequence[Example]) -> Potts:
    """Return the model that is learned from the examples."""
    return Potts(examples[0].annotation.n_labels)


def make_instances(examples: Sequence[Example], costs: FloatArray) -> list[Instance]:
    """Return blocks of a risk, with weights [N] of their hinges."""
    # Caches of features look at the memory when these are read only, and here none is.
    n_nodes, n_edges = (
        sum(getattr(one.problem, name) for one in examples) for name in ("n_nodes", "n_edges")
    )
    make_room(n_nodes * (8 * examples[0].annotation.n_labels + NODE_BYTES) + n_edges * EDGE_BYTES)
    return [one.instance(cost) for one, cost in zip(examples, costs.tolist(), strict=True)]


def make_examples(
    problems: Sequence[LabelingProblem], annotations: Sequence[Annotation | None]
) -> list[Example]:
    """Pair problems with annotations, those without one left out; raise unless they fit each other."""
    if len(problems) != len(annotations):
        raise ValueError(f"{len(problems)} problems, but {len(annotations)} annotations")
    pairs = zip(problems, annotations, strict=True)
    examples = [
        Example(index, problem, annotation, annotation.constraints(problem))
        for index, (problem, annotation) in enumerate(pairs)
        if annotation is not None
    ]
    if not examples:
        raise ValueError("no problem has an annotation: there is nothing to learn from")
    for example in examples:
        check_alike(examples[0], example)
    return examples


def check_alike(first: Example, other: Example) -> None:
    """Raise unless both have the same labels and kinds of features."""
    if other.annotation.n_labels != first.annotation.n_labels:
        wanted, number = first.annotation.n_labels, other.annotation.n_labels
        raise ValueError(
            f"annotations[{other.index}] has {number} labels: annotations[{first.index}] has {wanted}"
        )
    check_widths(first, other)


def check_widths(first: Example, other: Example) -> None:
    """Raise unless both have as many features of nodes and of edges."""
    pairs = [(one.problem.n_features, one.problem.edge_features.shape[1]) for one in (first, other)]
    for name, wanted, width in zip(("node_features", "edge_features"), *pairs, strict=True):
        if width != wanted:
            raise ValueError(
                f"problems[{other.index}] has {width} {name}: expected {wanted}, as problems[{first.index}]"
            )


def slack_costs(examples: Sequence[Example], C: float, alpha: float) -> FloatArray:  # noqa: N803
    """Weights of the slacks in eq. lvssmv-obj: ``C / (N + M)``, times alpha for weak annotations."""
    strong = np.array([example.annotation.strong for example in examples])
    return np.where(strong, 1.0, alpha) * C / len(examples)


def trusted_costs(examples: Sequence[Example], C: float, alpha: float) -> FloatArray:  # noqa: N803
    """Weights of the slacks by how far annotations are trusted: 1 for full labelings, alpha for weak ones.

    They add up to C, whatever their number, so that full labelings count as much among few weak annotations
    as among many.
    """
    trust = np.array([1.0 if example.annotation.strong else alpha for example in examples])
    return np.asarray(C * trust / trust.sum())


def class_weights(examples: Sequence[Example], class_weight: ClassWeight) -> FloatArray:
    """Class weights omega [K], of mean 1 over all that is annotated.

    ``"balanced"`` gives all labels that occur the same total weight, by their estimated sizes; labels that
    do not occur get the largest weight of the others. A number is the power of these weights: 0 for none, 1
    for balanced ones. All annotations count alike, however far they are trusted: how frequent a label is, a
    few full labelings know less well.
    """
    sizes = np.sum([one.annotation.label_sizes(one.problem) for one in examples], axis=0)
    if class_weight is None or isinstance(class_weight, str | int | float):
        weights = balanced_weights(sizes) ** balance(class_weight)
    else:
        weights = np.ones(len(sizes))
        for label, weight in class_weight.items():
            if not (0 <= label < len(weights) and 0 <= weight < np.inf):
                raise ValueError(f"class_weight[{label}] is {weight}: expected a finite weight of a label")
            weights[label] = weight
    mean = sizes @ weights / sizes.sum() if sizes.any() else 1.0
    return np.asarray(weights / mean if mean > 0 else weights)


def balance(class_weight: float | str | None) -> float:
    """Power of balanced weights.

    >>> balance(None), balance("balanced"), balance(0.25)
    (0.0, 1.0, 0.25)
    """
    if class_weight is None:
        return 0.0
    if class_weight == "balanced":
        return 1.0
    if isinstance(class_weight, str) or not 0 <= class_weight <= 1:
        expected = "None, 'balanced', a number from 0 to 1, or weights by label"
        raise ValueError(f"class_weight is {class_weight!r}: expected {expected}")
    return float(class_weight)


def balanced_weights(sizes: FloatArray) -> FloatArray:
    """Weights [K] that give all labels the same weight in total; those without a size get the largest.

    >>> balanced_weights(np.array([2.0, 1.0, 0.0]))
    array([0.5, 1. , 1. ])
    """
    weights = np.divide(1, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    weights[sizes <= 0] = weights.max() if weights.any() else 1.0
    return weights


def label_weights(examples: Sequence[Example], class_weight: ClassWeight) -> FloatArray:
    """Class weights omega [K] of ``weighted``."""
    if class_weight is None or class_weight == 0:
        return np.ones(examples[0].annotation.n_labels)
    return class_weights(examples, class_weight)


def weighted(examples: Sequence[Example], class_weight: ClassWeight) -> list[Example]:
    """Return the examples with class weights in their losses."""
    if class_weight is None or class_weight == 0:
        return list(examples)
    weights = class_weights(examples, class_weight)
    return [replace(one, annotation=one.annotation.weighted(weights)) for one in examples]


def expecting(example: Example, shares: FloatArray) -> Example:
    """Return the example with the expected loss under soft labels [V, K]."""
    return replace(example, annotation=Expected(example.annotation, shares))


def settled(example: Example) -> Example:
    """Return the example with the labels that its annotation, class weights and all, has as the likeliest."""
    constraints = example.annotation.constraints(example.problem)
    return replace(example, constraints=constraints).without_open_nodes()
