"""Methods that experiments compare: ours, and others on the same features and annotations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from multiutility.annotations import Annotation
from multiutility.datasets.classes import Classes
from multiutility.experiments.naive import Regression, logistic_weights, naive_predictor, ridge_weights
from multiutility.experiments.parameters import PENALTIES, learning_parameters
from multiutility.identifiability import UnidentifiedLabelsWarning
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.learning import MultiUtilitySSVM
from multiutility.learning.estimators import SelfTraining
from multiutility.vision.features.preset import Prepared
from multiutility.vision.predictor import Predictor
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.training_set import TrainingSet

# A model from prepared images, by parameters of ``Segmenter``, or by a penalty.
Learner: TypeAlias = Callable[[TrainingSet, Mapping[str, Any]], Predictor]

OURS, LOCAL = "ours", "local"
SELF_STRONG, SELF_WEAK = "self-training", "self-training, weak loss"
LOGISTIC, RIDGE = "logistic", "ridge"


class SelfTrained(Segmenter):
    """Imputes once and trains with the Hamming loss to what was imputed, see ``SelfTraining``."""

    loss: Literal["strong", "weak"] = "strong"

    def _learner(
        self, classes: Classes, annotations: Sequence[Annotation | None], slack_weight: float
    ) -> MultiUtilitySSVM:
        ours = super()._learner(classes, annotations, slack_weight).get_params(deep=False)
        known = SelfTraining().get_params(deep=False)
        return SelfTraining(**{**{name: ours[name] for name in known if name in ours}, "loss": self.loss})


class SelfTrainedWeakly(SelfTrained):
    """Imputes once and trains with the losses of the annotations: one outer iteration of ours."""

    loss = "weak"


def segmenter(kind: type[Segmenter]) -> Learner:
    """Return the method of a segmenter."""
    return lambda training, parameters: (
        kind(training.preset.preset, **parameters).fit_prepared(training).predictor_
    )


def local(training: TrainingSet, parameters: Mapping[str, Any]) -> Predictor:
    """Learn without pairs of neighbors; their weights stay zero."""
    alone = replace(training, prepared=[without_edges(one) for one in training.prepared])
    return segmenter(Segmenter)(alone, parameters)


def without_edges(prepared: Prepared) -> Prepared:
    """Return the image with regions that have no neighbors."""
    problem = prepared.problem
    none = np.zeros((0, 2), dtype=np.int32)
    alone = problem.changed(edges=none, edge_features=problem.edge_features[:0])
    return prepared.with_problem(alone)


def naive(regression: Regression) -> Learner:
    """Return the method of a plain regression on filled-in annotations."""
    return lambda training, parameters: naive_predictor(training, regression, parameters["penalty"])


METHODS: dict[str, Learner] = {
    OURS: segmenter(Segmenter),
    LOCAL: local,
    SELF_STRONG: segmenter(SelfTrained),
    SELF_WEAK: segmenter(SelfTrainedWeakly),
    LOGISTIC: naive(logistic_weights),
    RIDGE: naive(ridge_weights),
}


def method_parameters(method: str, features: str, kinds: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a method is used with."""
    if method in PENALTIES:
        return {"penalty": PENALTIES[method]}
    return learning_parameters(features, kinds, changes)


class Learned(NamedTuple):
    """A model, and what it tells of itself, see ``about_model``."""

    predictor: Predictor
    about: dict[str, Any]


def learn(method: str, training: TrainingSet, parameters: Mapping[str, Any], **machine: Any) -> Learned:
    """Learn by a method; ``machine`` says how fast, and does not change the result."""
    given = parameters if method in PENALTIES else {**parameters, **machine}
    with without_advice():
        predictor = METHODS[method](training, given)
    return Learned(predictor, about_model(predictor))


def about_model(_predictor: Predictor) -> dict[str, Any]:
    """Return what a model tells of itself, in plain values for JSON.

    ``chosen`` is what learning has chosen, ``estimate`` how good the model takes itself to be: for each
    measure its value, and the ends of an interval that holds it with 90 %. Models have neither yet.
    """
    return {}


@contextmanager
def without_advice() -> Iterator[None]:
    """Leave out warnings that are for people who can mend their annotations or choose other parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UnmetCoverWarning)
        warnings.simplefilter("ignore", UnidentifiedLabelsWarning)
        yield
