"""Methods that experiments compare: ours, and others on the same features and annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from multiutility.annotations import Annotation
from multiutility.learning import SelfTraining
from multiutility.problem import LabelingProblem
from multiutility.vision import baselines
from multiutility.vision.baselines import Naive
from multiutility.vision.features.preset import Prepared
from multiutility.vision.learning import Learned, Learner, multi_utility, without_advice
from multiutility.vision.predictor import Predictor
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.training_set import TrainingSet

# A model from prepared images, by parameters of ``Segmenter``.
Method: TypeAlias = Callable[[TrainingSet, Mapping[str, Any]], Predictor]

OURS, LOCAL = "ours", "local"
SELF_STRONG, SELF_WEAK = "self-training", "self-training, weak loss"
LOGISTIC, RIDGE = "logistic", "ridge"

# What self-training takes unless it is changed: it has the paper's losses, and weighs all images alike. Class
# weights of 0.25 were the best for masks, of a few on MSRC's training images.
SELF_TRAINING: dict[str, Any] = {"C": 1.0, "alpha": 1.0, "class_weight": 0.25, "method": "paper"}
# Parameters that tables show, whether they are changed or not.
SHOWN = ("method", "C", "alpha", "class_weight", "tol", "max_iter")


def self_training(
    loss: Literal["strong", "weak"],
    parameters: Mapping[str, Any],
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation | None],
    _rehearsals: Sequence[Sequence[Annotation]] | None,
) -> Learned:
    """Impute once, and train with the Hamming loss to what was imputed, or with the losses of annotations.

    The latter is one outer iteration of ours. See ``SelfTraining``.
    """
    known = SelfTraining().get_params(deep=False)
    given = {name: parameters[name] for name in known if name in parameters}
    return SelfTraining(**{**given, "loss": loss}).fit(problems, annotations)


def segmenter(learner: Learner = multi_utility) -> Method:
    """Return the method of a segmenter with a learner."""
    return lambda training, parameters: (
        Segmenter(training.preset.preset, **parameters).fit_prepared(training, learner).predictor_
    )


def local(training: TrainingSet, parameters: Mapping[str, Any]) -> Predictor:
    """Learn without pairs of neighbors; their weights stay zero."""
    alone = replace(training, prepared=[without_edges(one) for one in training.prepared])
    return segmenter()(alone, parameters)


def without_edges(prepared: Prepared) -> Prepared:
    """Return the image with regions that have no neighbors."""
    problem = prepared.problem
    none = np.zeros((0, 2), dtype=np.int32)
    alone = problem.changed(edges=none, edge_features=problem.edge_features[:0])
    return prepared.with_problem(alone)


NAIVE: dict[str, Naive] = {
    LOGISTIC: baselines.LOGISTIC,
    RIDGE: baselines.RIDGE,
}
METHODS: dict[str, Method] = {
    OURS: segmenter(),
    LOCAL: local,
    SELF_STRONG: segmenter(partial(self_training, "strong")),
    SELF_WEAK: segmenter(partial(self_training, "weak")),
    **{name: one.learn for name, one in NAIVE.items()},
}


def method_parameters(method: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a method is used with: ours has those of ``train``, unless changed.

    >>> method_parameters("self-training", {"C": 3.0})
    {'C': 3.0, 'alpha': 1.0, 'class_weight': 0.25, 'method': 'paper'}
    >>> method_parameters("ridge", {"C": 3.0})
    {}
    """
    if method in NAIVE:
        return {}
    if method in (SELF_STRONG, SELF_WEAK):
        return {**SELF_TRAINING, **changes, "method": SELF_TRAINING["method"]}
    usual = Segmenter().get_params(deep=False)
    return {**{name: usual[name] for name in SHOWN}, **changes}


def learn(method: str, training: TrainingSet, parameters: Mapping[str, Any], **machine: Any) -> Predictor:
    """Learn by a method; ``machine`` says how fast, and does not change the result."""
    with without_advice():
        return METHODS[method](training, {**parameters, **machine})
