"""Small annotated problems, and the objective written out by enumeration."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations import Full, Tags
from multiutility.annotations.annotation import Annotation
from multiutility.inference import Exact, Solver
from multiutility.learning.examples import make_examples, slack_costs
from multiutility.learning.labeling_risk import LabelingRisk
from multiutility.models import Potts
from multiutility.problem import LabelingProblem

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]


def random_problem(
    rng: np.random.Generator, n_nodes: int = 4, n_features: int = 3, n_pairwise: int = 2
) -> LabelingProblem:
    """A chain with one more edge, and sizes."""
    chain = np.stack((np.arange(n_nodes - 1), np.arange(1, n_nodes)), axis=1)
    edges = np.concatenate((chain, [[0, n_nodes - 1]]))
    features = rng.standard_normal((n_nodes, n_features))
    return LabelingProblem(
        features, edges, rng.random((len(edges), n_pairwise)), rng.uniform(0.5, 2, n_nodes)
    )


def random_problems(seed: int, count: int, n_nodes: int = 4) -> tuple[list[LabelingProblem], list[Labels]]:
    """Problems whose labels (three) follow from the features, most of the time."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((3, 3))
    problems = [random_problem(rng, n_nodes) for _ in range(count)]
    noisy = [p.node_features @ hidden + 0.7 * rng.standard_normal((n_nodes, 3)) for p in problems]
    return problems, [scores.argmax(axis=1).astype(np.int32) for scores in noisy]


def fulls(labelings: Sequence[Labels], n_labels: int = 3) -> list[Annotation]:
    return [Full.from_labels(labels, n_labels) for labels in labelings]


def tags(labelings: Sequence[Labels], n_labels: int = 3) -> list[Annotation]:
    return [Tags(np.unique(labels).tolist(), n_labels) for labels in labelings]


def make_risk(
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation],
    c: float = 2.0,
    alpha: float = 0.1,
    solver: Solver | None = None,
) -> LabelingRisk:
    """The risk anchored at the annotations' starts, by default with an exact oracle."""
    examples = make_examples(problems, annotations)
    costs = slack_costs(examples, c, alpha)
    instances = [one.instance(float(cost)) for one, cost in zip(examples, costs, strict=True)]
    starts = [one.annotation.start(one.problem) for one in examples]
    return LabelingRisk(instances, starts, Exact() if solver is None else solver)


def all_labelings(n_nodes: int, n_labels: int) -> Floats:
    return np.array(list(product(range(n_labels), repeat=n_nodes)))


def hinge(problem: LabelingProblem, annotation: Annotation, anchor: Labels, weights: Floats) -> float:
    """max_y loss(y) + w . Psi(y) - w . Psi(anchor), by enumeration of the paper's formulas."""
    model = Potts(annotation.n_labels)
    values = [
        annotation.loss(problem, labels) + weights @ model.joint_feature(problem, labels)
        for labels in all_labelings(problem.n_nodes, annotation.n_labels)
    ]
    return float(max(values) - weights @ model.joint_feature(problem, anchor))


def latent_objective(
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation],
    weights: Floats,
    c: float,
    alpha: float,
) -> float:
    """Eq. lvssmv-obj, with both maxima by enumeration (covers included)."""
    total = float(weights @ weights / 2)
    for problem, annotation in zip(problems, annotations, strict=True):
        model, constraints = Potts(annotation.n_labels), annotation.constraints(problem)
        labelings = all_labelings(problem.n_nodes, annotation.n_labels)
        consistent = [labels for labels in labelings if constraints.satisfied(labels)]
        best = max(consistent, key=lambda labels: weights @ model.joint_feature(problem, labels))
        slack = hinge(problem, annotation, best, weights)
        total += c / len(problems) * (1.0 if annotation.strong else alpha) * slack
    return total


def pid_after(_number: int) -> int:
    """Number of the process, after so long that others have to help; here, where workers can import it."""
    time.sleep(0.2)
    return os.getpid()
