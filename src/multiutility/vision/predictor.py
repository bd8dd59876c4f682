"""A learned model at work: photographs in, masks and confidences out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray, IndexArray
from multiutility.datasets.classes import Classes
from multiutility.energy import Energy
from multiutility.inference.expansion import Expansion
from multiutility.learning.prediction import labelings, local_scores
from multiutility.models import Potts
from multiutility.problem import LabelingProblem
from multiutility.vision.features.preset import FittedPreset, Prepared
from multiutility.vision.photo import ImageArray, Opened, Photo, Shape, Shrunk, enlarged
from multiutility.vision.regions.refine import MIDDLE, Refinement
from multiutility.vision.store import FeatureStore, in_threads

# Told how much of how much is done.
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a photograph shows: ``mask`` uint8 [H, W] with label + 1, ``scores`` float32 [H, W] in 0..1.

    ``image`` [H, W, 3] is the photograph itself, if it was read for this.
    """

    mask: NDArray[np.uint8]
    scores: NDArray[np.float32]
    image: ImageArray | None = None


@dataclass(frozen=True, eq=False)
class Predictor:
    """Classes, features and weights: all that it takes to label photographs.

    ``weights`` [K D + e] are those of ``Potts``. Photographs with a longer side above ``max_side`` are
    labeled at that size, and their masks enlarged. ``typical_margin`` is the margin of a score of 1/2.
    ``refine`` moves borders between superpixels of different labels to where the colors change, unless None.
    ``about`` is what the model tells of itself, in plain values: ``method``, what learning has ``chosen``,
    and its ``estimate`` of scores on new images; see ``vision.about``.
    """

    classes: Classes
    preset: FittedPreset
    weights: FloatArray
    max_side: int
    typical_margin: float
    refine: Refinement | None = MIDDLE
    about: Mapping[str, Any] = field(default_factory=dict)

    def predict(
        self,
        photos: Sequence[Photo],
        n_jobs: int = 1,
        store: FeatureStore | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Prediction]:
        """Yield the predictions one by one, in order; only a few photographs are in memory at once."""
        kept, note = FeatureStore(None) if store is None else store, progress or ignore
        # A network that is missing is told of at once, and once.
        self.preset.sources()
        work = partial(self.predicted, kept.preparation(self.preset))
        for done, prediction in enumerate(in_threads(work, photos, n_jobs), 1):
            note(done, len(photos))
            yield prediction

    def predicted(self, prepare: Callable[[Photo], Prepared], photo: Photo) -> Prediction:
        """Predict one photograph, which is read, and multiplied by the weights, once."""
        opened = Opened(photo)
        shrunk = Opened(Shrunk(opened, self.max_side))
        prepared = prepare(shrunk)
        energy = self.energy(prepared)
        labels = Expansion().minimize(energy).labels
        found = self.shown(shrunk, photo.size(), prepared, energy, labels)
        return replace(found, image=opened.pixels if "pixels" in vars(opened) else None)

    def energy(self, prepared: Prepared) -> Energy:
        """Energy of the labelings of an image."""
        return Potts(len(self.classes)).energy(prepared.problem, self.weights)

    def labelings(self, prepared: Sequence[Prepared], n_jobs: int = 1) -> list[IndexArray]:
        """Labelings [V] of highest score."""
        problems = [one.problem for one in prepared]
        return labelings(Potts(len(self.classes)), problems, self.weights, Expansion(n_jobs=n_jobs))

    def prediction(self, photo: Photo, prepared: Prepared, labels: IndexArray) -> Prediction:
        """Return mask and scores of a labeling, at the photograph's own size."""
        shrunk = Shrunk(photo, self.max_side)
        return self.shown(shrunk, photo.size(), prepared, self.energy(prepared), labels)

    def shown(
        self, shrunk: Photo, size: Shape, prepared: Prepared, energy: Energy, labels: IndexArray
    ) -> Prediction:
        """Return mask and scores of a labeling of a photograph, at a size of height and width."""
        mask = (labels + 1).astype(np.uint8)[prepared.regions]
        if self.refine is not None:
            mask = self.refine(shrunk.image(), mask)
        scores, (height, width) = self.scores(prepared.problem, energy, labels)[prepared.regions], size
        if mask.shape != (height, width):
            mask = enlarged(mask, (height, width))
            scores = np.asarray(
                cv2.resize(scores, (width, height), interpolation=cv2.INTER_LINEAR), np.float32
            )
        return Prediction(mask, scores)

    def scores(self, problem: LabelingProblem, energy: Energy, labels: IndexArray) -> NDArray[np.float32]:
        """Confidence in the label of each node, [V] in 0..1: margins, squashed by ``m / (m + typical)``."""
        found = margins_of(local_scores(energy, labels), labels)[0]
        if self.preset.preset.weighted:
            found = per_size(found, problem)
        return np.asarray(1 - self.typical_margin / (found + self.typical_margin), dtype=np.float32)


def ignore(_done: int, _total: int) -> None:
    """Tell nobody."""


def margins(problem: LabelingProblem, weights: FloatArray, labels: IndexArray, n_labels: int) -> FloatArray:
    """How much each node's label scores above its next best one while its neighbors stay as they are, [V].

    For ``s_ik = x_i . w_k + sum_j [y_j = k] x_ij . w_p`` over the neighbors j of node i, this is
    ``s_i,y_i - max_{k != y_i} s_ik``, and never negative for the labeling of highest score.
    """
    return margins_of(local_scores(Potts(n_labels).energy(problem, weights), labels), labels)[0]


def margins_of(scores: FloatArray, labels: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Margins of labels [V] over the next best ones, given the scores [V, K] of all, and the next best.

    >>> margins_of(np.array([[3.0, 1.0, 2.0]]), np.array([0]))
    (array([1.]), array([2]))
    """
    nodes = np.arange(len(scores))
    others = scores.copy()
    others[nodes, labels] = -np.inf
    rivals = others.argmax(axis=1)
    # With a single label there is no rival, and no doubt.
    return np.maximum(scores[nodes, labels] - others[nodes, rivals], 0.0), rivals


def per_size(values: FloatArray, problem: LabelingProblem) -> FloatArray:
    """Return values of nodes [V] that grow with their size, as those of nodes of mean size."""
    return np.asarray(values * (problem.node_sizes.mean() / problem.node_sizes))
