"""Predictions beside annotations: scores, confusions, and what to label next."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray
from multiutility.datasets.bags import unidentified_labels
from multiutility.datasets.classes import Classes
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.folder import DatasetFolder, Sample, training_part
from multiutility.kinds import KINDS
from multiutility.kinds.mask import MASK
from multiutility.kinds.tags import TAGS
from multiutility.metrics import accuracy, mask_confusion
from multiutility.studio.accepted import Accepted
from multiutility.studio.annotations import Annotations
from multiutility.studio.places import Places
from multiutility.studio.predictions import Predictions, TrainedModel
from multiutility.vision.about import about_lines, judged_text
from multiutility.vision.evaluation import Evaluation, joint_names, label_translation
from multiutility.vision.report import known_values
from multiutility.vision.suggestions import Belief, Known, Patch, Suggestion, suggestions

# Seconds that an answer may take; the page asks again for the rest.
PATIENCE = 1.0
SHOWN = 60
MISTAKES = 24


class Review:
    """What can be said about the current model."""

    def __init__(self, annotations: Annotations, places: Places, accepted: Accepted) -> None:
        self._annotations = annotations
        self._places = places
        self._accepted = accepted
        self._predictions = Predictions(places)
        # By image, model, version of the mask, and classes: the size of the matrices is theirs.
        self._confusions: dict[tuple[str, str, str, Classes], FloatArray] = {}
        self._helper = threading.Thread()
        self._unreadable: set[str] = set()

    def model(self) -> dict[str, Any] | None:
        """Return what the current model was made of, and what it tells of itself, if there is one."""
        model = self._predictions.model()
        if model is None:
            return None
        facts = self._places.read_facts()
        made = {key: facts.get(key) for key in ("n_images", "seconds", "features")}
        told = about_lines(model.predictor.about)
        return {"key": model.key, "classes": list(model.predictor.classes.names), **made, "told": told}

    def key(self) -> str | None:
        """Return what changes when the model does; None if there is none."""
        model = self._predictions.model()
        return None if model is None else model.key

    def trouble(self) -> str | None:
        """Return why the model cannot be used, if there is one that cannot."""
        return self._predictions.trouble

    def prediction(self, name: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the mask, with values of the dataset's classes, and the scores in 0..255, both [H, W]."""
        sample, model = self._annotations.sample(name), self._current()
        mask, scores = self._predictions.read(model, sample)
        return known_values(self._annotations.dataset().classes, model.predictor.classes)[mask], scores

    def scores(self) -> dict[str, Any]:
        """Compare with all masks, apart for images that the model has learned from and that it has not.

        ``waiting`` images with masks are not in yet: they are not predicted, or there was no time. Masks that
        are ``accepted`` predictions would only say that the model agrees with itself: they are counted.
        """
        model, dataset, end = self._current(), self._annotations.dataset(), time.monotonic() + PATIENCE
        learned = set(self._places.read_facts().get("learned", ()))
        parts: dict[str, dict[str, FloatArray]] = {"new": {}, "learned": {}}
        accepted, waiting, left_out = self._accepted.names(), 0, 0
        for sample in dataset:
            if "mask" in sample.kinds and sample.name in accepted:
                left_out += 1
            elif "mask" in sample.kinds:
                matrix = self._confusion(model, dataset, sample, compute=time.monotonic() < end)
                if matrix is None:
                    waiting += 1
                elif matrix.any():
                    parts["learned" if sample.name in learned else "new"][sample.name] = matrix
        names = joint_names(dataset.classes, model.predictor.classes, str(dataset.path))
        # What a model expects is for new images only.
        about = {"new": model.predictor.about, "learned": {}}
        found = {part: scored(dataset.classes, names, one, about[part]) for part, one in parts.items() if one}
        return {"waiting": waiting, "accepted": left_out, **found}

    def suggestions(self) -> dict[str, Any]:
        """Return what to label next: by the model's doubts, or without a model, images with nothing yet."""
        dataset, model = self._annotations.dataset(), self._predictions.model()
        if model is None:
            bare = [sample.name for sample in dataset if not sample.kinds]
            step = max(1, len(bare) // SHOWN)
            return {
                "model": False,
                "waiting": 0,
                "suggestions": [start_with(n) for n in bare[::step][:SHOWN]],
                "unidentified": self.advice(),
            }
        translate = label_table(dataset.classes, model.predictor.classes)
        beliefs = self._predictions.beliefs(model, dataset.names)
        here = {name: translated(beliefs[name], translate) for name in dataset.names if name in beliefs}
        known = {sample.name: known_of(sample) for sample in dataset}
        best = suggestions(here, known, dataset.classes.kinds, count=SHOWN)
        shown = [told(one, dataset.classes) for one in best]
        waiting = sum(name not in here and name not in self._unreadable for name in dataset.names)
        return {"model": True, "waiting": waiting, "suggestions": shown, "unidentified": self.advice()}

    def advice(self) -> list[str]:
        """Return which labels the annotations cannot tell apart, and what to add; with a model or without.

        Nothing, if too many masks are still to be read: they may tell; those that were are kept for the next
        time.
        """
        part, end = training_part(self._annotations.dataset()), time.monotonic() + PATIENCE

        def labels_of(sample: Sample) -> frozenset[int]:
            known = self._annotations.known_pixels(sample, MASK.name)
            if known is None and time.monotonic() > end:
                raise TimeoutError  # caught below
            try:
                state = known or self._annotations.pixel_state(sample.name, MASK.name)
            except DatasetError:
                return frozenset()  # who opens the image is told
            return frozenset(label for label in state.labels if label < len(part.classes))

        if not part.classes:
            return []
        try:
            return [group.advice(part.classes.names) for group in unidentified_labels(part, labels_of)]
        except TimeoutError:
            return []

    def catch_up(self) -> None:
        """Begin to predict images that the model has not looked at, such as new ones; nobody waits for it."""
        model = self._predictions.model()
        if model is None or self._helper.is_alive():
            return
        missing = [one for one in self._annotations.dataset() if self._is_missing(model, one)]
        if missing:
            self._helper = threading.Thread(target=self._predict, args=(model, missing), daemon=True)
            self._helper.start()

    def _is_missing(self, model: TrainedModel, sample: Sample) -> bool:
        return sample.name not in self._unreadable and not self._predictions.is_there(model, sample)

    def _predict(self, model: TrainedModel, samples: list[Sample]) -> None:
        for sample in samples:
            if self._predictions.model() is not model:
                return
            try:
                self._predictions.read(model, sample)
            except DatasetError:
                self._unreadable.add(sample.name)  # who opens the image is told

    def confidence(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return the mean confidence in images that have been predicted, 0..1."""
        model = self._predictions.model()
        if model is None:
            return {}
        beliefs = self._predictions.beliefs(model, names)
        return {name: round(1 - sum(p.area * p.doubt for p in b.patches), 4) for name, b in beliefs.items()}

    def _current(self) -> TrainedModel:
        model = self._predictions.model()
        if model is None:
            raise LookupError("there is no model yet: train one")
        return model

    def _confusion(
        self, model: TrainedModel, dataset: DatasetFolder, sample: Sample, compute: bool
    ) -> FloatArray | None:
        """Return the confusion of an image, or None if it is not predicted, or may not be computed now."""
        if not self._predictions.is_there(model, sample):
            return None
        version = self._annotations.pixel_state(sample.name, MASK.name).version
        key = (sample.name, model.key, version, dataset.classes)
        if key not in self._confusions and compute:
            truth, predicted = sample.mask(), self._predictions.read(model, sample)[0]
            assert truth is not None  # only samples with masks are compared
            names = joint_names(dataset.classes, model.predictor.classes, str(dataset.path))
            translate = label_translation(model.predictor.classes, names)
            self._confusions[key] = mask_confusion(truth, translate[predicted], len(names))
        return self._confusions.get(key)


def scored(
    classes: Classes, names: tuple[str, ...], matrices: dict[str, FloatArray], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return scores and the confusion matrix of some images, as JSON; ``about`` has what was expected."""
    accuracies = {name: accuracy(matrix) for name, matrix in matrices.items()}
    total = np.sum(list(matrices.values()), axis=0)
    evaluation = Evaluation(classes, names, total, accuracies, about)
    told = judged_text(evaluation.expected)
    shown = {"names": names, "matrix": total.tolist(), "images": accuracies, "told": told}
    return {**evaluation.to_dict(), **shown, "where": mistakes(matrices, total)}


def mistakes(matrices: Mapping[str, FloatArray], total: FloatArray) -> dict[int, dict[int, list[Any]]]:
    """Return where each class (row) was called another (column): images, and which share of their pixels.

    Those with the largest shares come first, and no more than are looked at.
    """
    found: dict[int, dict[int, list[Any]]] = {}
    for row, column in np.argwhere(total - np.diag(np.diag(total))).tolist():
        shares = [(name, float(one[row, column] / one.sum())) for name, one in matrices.items()]
        worst = sorted((pair for pair in shares if pair[1] > 0), key=lambda pair: -pair[1])
        found.setdefault(row, {})[column] = worst[:MISTAKES]
    return found


def known_of(sample: Sample) -> Known:
    """Return what is annotated of an image, for suggestions."""
    weak = sample.weak()
    labels = {kind.name: kind.labels(weak.value(kind)) for kind in KINDS if kind is not MASK}
    said = TAGS.said(weak.tags)
    return Known(
        mask=MASK.name in sample.kinds, opened="open" in said, absent=TAGS.absent(weak.tags), **labels
    )


def label_table(of_dataset: Classes, of_model: Classes) -> dict[int, int]:
    """Return the dataset's labels for those of the model that it has."""
    both = [name for name in of_model.names if name in of_dataset.names]
    return {of_model.label(name): of_dataset.label(name) for name in both}


def translated(belief: Belief, table: dict[int, int]) -> Belief:
    """Return a belief in the dataset's labels, without patches of labels that it does not have."""
    known = (p for p in belief.patches if p.label in table and p.rival in table)
    patches = tuple(Patch(table[p.label], table[p.rival], p.area, p.doubt) for p in known)
    return Belief(patches, belief.place)


def told(one: Suggestion, classes: Classes) -> dict[str, Any]:
    """Return a suggestion as JSON."""
    return {
        "name": one.name,
        "action": one.action,
        "label": None if one.label is None else classes[one.label].name,
        "gain": one.gain,
        "seconds": one.seconds,
        "worth": one.worth,
        "novelty": one.novelty,
        "confused": [classes[label].name for label in one.confused],
    }


def start_with(name: str) -> dict[str, Any]:
    """Return the suggestion for an image that no model has seen."""
    return {"name": name, "action": "tags", "label": None, "gain": None, "seconds": None, "confused": []}
