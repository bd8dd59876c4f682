"""Which refinement of borders suits the images at hand, by their masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multiutility.arrays import FloatArray, IndexArray
from multiutility.learning.selection.choice import evenly
from multiutility.learning.selection.evidence import shown_scores
from multiutility.metrics import mask_confusion
from multiutility.vision.photo import Shrunk
from multiutility.vision.predictor import Predictor
from multiutility.vision.regions.refine import MIDDLE, NARROW, WIDE, Refinement
from multiutility.vision.training_set import TrainingSet

# What is compared; the first of equals is taken. Without masks, it is the first.
CANDIDATES: tuple[Refinement | None, ...] = (MIDDLE, NARROW, WIDE, None)
# More masks would hardly change what is best.
MOST_MASKS = 32


def chosen_refinement(
    model: Predictor, training: TrainingSet, masked: Sequence[int], n_jobs: int = 1
) -> Refinement | None:
    """Return what brings a model's labelings of some images closest to their masks; None if nothing does.

    This is judged by the mean of accuracy, recall and IoU over all masks, or some, evenly taken. The model
    has learned from them: it is wrong about little there, but in the same way. The best labelings of
    superpixels, which have no such errors, would be in favor of borders that stay where they are.
    """
    if not masked:
        return CANDIDATES[0]
    chosen = evenly(masked, MOST_MASKS)
    labelings = model.labelings([training.prepared[n] for n in chosen], n_jobs)
    pairs = zip(chosen, labelings, strict=True)
    totals = np.sum([compared(training, n, labels) for n, labels in pairs], axis=0)
    return CANDIDATES[int(np.argmax([shown_scores(total).mean() for total in totals]))]


def compared(training: TrainingSet, n: int, labels: IndexArray) -> FloatArray:
    """Confusions [M, K, K] of an image's mask and a labeling of its superpixels, refined in each way."""
    mask = training.small_annotation(n).mask
    assert mask is not None  # the image has one
    image = Shrunk(training.photos[n].photo, training.max_side).image()
    found = (labels + 1).astype(np.uint8)[training.prepared[n].regions]
    refined = (found if how is None else how(image, found) for how in CANDIDATES)
    return np.array(
        [mask_confusion(mask, one.astype(np.int64) - 1, len(training.classes)) for one in refined]
    )
