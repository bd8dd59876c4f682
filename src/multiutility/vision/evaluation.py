"""How good predictions are on a dataset with masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.datasets.accepted import accepted_images
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.metrics import (
    accuracy,
    intersection_over_union,
    mask_confusion,
    mean_iou,
    mean_recall,
    recall,
)
from multiutility.vision.about import judged
from multiutility.vision.display import ScoreTable, evaluation_html
from multiutility.vision.photo import FilePhoto
from multiutility.vision.predictor import Prediction, Predictor, Progress
from multiutility.vision.store import FeatureStore


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Confusion of a dataset's masks with predictions, and the accuracy on each image.

    ``matrix`` has a row and a column for each of ``names``: the dataset's classes first, then those that only
    the model knows; they never are right. ``about`` is what the model tells of itself, if it does, and
    ``accepted`` names images that were left out, as their masks are predictions that somebody accepted.
    """

    classes: Classes
    names: tuple[str, ...]
    matrix: FloatArray
    accuracies: dict[str, float]
    about: Mapping[str, Any] = field(default_factory=dict)
    accepted: tuple[str, ...] = ()

    @property
    def left_out(self) -> frozenset[int]:
        """Labels that the means leave out: rare ones, and those that only the model knows."""
        return self.classes.rare | frozenset(range(len(self.classes), len(self.names)))

    @property
    def accuracy(self) -> float:
        """Part of all labeled pixels that is right."""
        return accuracy(self.matrix)

    @property
    def mean_recall(self) -> float:
        """Mean over the classes of the part of their pixels that is right; rare classes left out."""
        return mean_recall(self.matrix, self.left_out)

    @property
    def mean_iou(self) -> float:
        """Mean intersection over union of the classes; rare classes left out."""
        return mean_iou(self.matrix, self.left_out)

    @property
    def measures(self) -> dict[str, float | None]:
        """Accuracy, mean recall and mean IoU; None for those that are not defined."""
        return {
            "accuracy": defined(self.accuracy),
            "mean_recall": defined(self.mean_recall),
            "mean_iou": defined(self.mean_iou),
        }

    @property
    def expected(self) -> dict[str, dict[str, Any]]:
        """For each measure what the model has promised for new images, and whether the score is ``inside``.

        Nothing, if it has promised nothing.
        """
        return judged(self.about, self.measures)

    def ranked(self) -> list[str]:
        """Names of the images, best first."""
        return sorted(self.accuracies, key=lambda name: (-self.accuracies[name], name))

    def to_dict(self) -> ScoreTable:
        """Return everything as JSON; what is not defined is None."""
        recalls, unions, pixels = (
            recall(self.matrix),
            intersection_over_union(self.matrix),
            self.matrix.sum(1),
        )
        scores = {
            **self.measures,
            "n_images": len(self.accuracies),
            "n_accepted": len(self.accepted),
            "classes": {
                name: {"recall": defined(recalls[k]), "iou": defined(unions[k]), "pixels": int(pixels[k])}
                for k, name in enumerate(self.classes.names)
            },
            "expected": self.expected,
        }
        return ScoreTable(scores)

    def _repr_html_(self) -> str:
        return evaluation_html(self)


def defined(value: float) -> float | None:
    """Return the value, or None for nan."""
    return None if np.isnan(value) else float(value)


def evaluate(
    predictor: Predictor,
    dataset: DatasetFolder,
    n_jobs: int = 1,
    store: FeatureStore | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare predictions with the masks of a dataset; images without a mask are left out.

    So are masks that are accepted predictions, by ``studio/accepted.csv`` of the dataset: that they are like
    predictions says nothing.

    Classes are matched by name: where the model gives a label that the dataset does not have, it is wrong.
    """
    names = joint_names(dataset.classes, predictor.classes, str(dataset.path))
    matrix, accuracies = np.zeros((len(names), len(names))), {}
    translate = label_translation(predictor.classes, names)
    known = accepted_images(dataset.path)
    accepted = tuple(sample.name for sample in dataset if "mask" in sample.kinds and sample.name in known)
    scored = dataset.select(name for name in dataset.names if name not in known)
    for sample, prediction in predictions(predictor, scored, n_jobs, store, progress):
        truth = sample.mask()
        assert truth is not None  # only samples with masks are evaluated
        if truth.any():
            one = mask_confusion(truth, translate[prediction.mask], len(names))
            accuracies[sample.name] = accuracy(one)
            matrix += one
    if not accuracies:
        but = " but accepted predictions" if accepted else ""
        raise ValueError(f"{dataset.path}: no image has a mask{but}: there is nothing to compare with")
    return Evaluation(dataset.classes, names, matrix, accuracies, predictor.about, accepted)


def predictions(
    predictor: Predictor,
    dataset: DatasetFolder,
    n_jobs: int = 1,
    store: FeatureStore | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Sample, Prediction]]:
    """Yield the samples that have masks, each with its prediction."""
    samples = [sample for sample in dataset if "mask" in sample.kinds]
    photos = [FilePhoto(sample.name, sample.path) for sample in samples]
    return zip(samples, predictor.predict(photos, n_jobs, store, progress), strict=True)


def joint_names(of_dataset: Classes, of_model: Classes, where: str) -> tuple[str, ...]:
    """Names of the dataset's classes, then of those that only the model knows."""
    if not set(of_dataset.names) & set(of_model.names):
        known, given = ", ".join(of_model.names), ", ".join(of_dataset.names)
        raise ValueError(f"{where}: the model knows none of its classes ({given}), but {known}")
    return (*of_dataset.names, *(name for name in of_model.names if name not in of_dataset.names))


def label_translation(of_model: Classes, names: Sequence[str]) -> NDArray[np.int64]:
    """Labels among names, by the indices of a model's masks: that of void, 0, has none."""
    return np.array([-1, *(names.index(name) for name in of_model.names)])
