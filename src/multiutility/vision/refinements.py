"""Which refinement of borders suits the images at hand, by their masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from multiutility.arrays import FloatArray, IndexArray
from multiutility.kinds.mask import label_histograms
from multiutility.learning.selection.choice import evenly
from multiutility.learning.selection.evidence import shown_scores
from multiutility.metrics import mask_confusion
from multiutility.vision.photo import Shrunk
from multiutility.vision.regions.refine import MIDDLE, NARROW, WIDE, Refinement
from multiutility.vision.training_set import TrainingSet

# What is compared; the first of equals is taken. Without masks, it is the first.
CANDIDATES: tuple[Refinement | None, ...] = (MIDDLE, NARROW, WIDE, None)
# More masks would hardly change what is best.
MOST_MASKS = 32


def chosen_refinement(training: TrainingSet, masked: Sequence[int]) -> Refinement | None:
    """Return what brings the best labels of superpixels closest to the masks of some images; None if nothing.

    This is judged by the mean of accuracy, recall and IoU over all masks, or some, evenly taken.
    """
    if not masked:
        return CANDIDATES[0]
    totals = np.sum([compared(training, n) for n in evenly(masked, MOST_MASKS)], axis=0)
    return CANDIDATES[int(np.argmax([shown_scores(total).mean() for total in totals]))]


def compared(training: TrainingSet, n: int) -> FloatArray:
    """Confusions [M, K, K] of a mask and its best labeling of superpixels, refined in each way."""
    mask, regions = training.small_annotation(n).mask, training.prepared[n].regions
    assert mask is not None
    n_labels = len(training.classes)
    image = Shrunk(training.photos[n].photo, training.max_side).image()
    best = best_mask(mask, regions, n_labels)
    refined = (best if how is None else how(image, best) for how in CANDIDATES)
    return np.array([mask_confusion(mask, one.astype(np.int64) - 1, n_labels) for one in refined])


def best_mask(mask: NDArray[np.uint8], regions: IndexArray, n_labels: int) -> NDArray[np.uint8]:
    """Return the mask if all pixels of a superpixel had its most frequent label.

    Superpixels that are void in the mask have the label of what is nearest to them.

    >>> mask = np.array([[1, 1, 2, 2, 0, 0]], dtype=np.uint8)
    >>> best_mask(mask, np.array([[0, 0, 0, 1, 2, 2]], dtype=np.int32), n_labels=2)
    array([[1, 1, 1, 2, 2, 2]], dtype=uint8)
    """
    counts = label_histograms(mask, regions, n_labels)
    known = counts.sum(axis=1) > 0
    found = (counts.argmax(axis=1) + 1).astype(np.uint8)[regions]
    if not known.all() and known.any():
        _, (rows, columns) = distance_transform_edt(~known[regions], return_indices=True)
        found = found[rows, columns]
    return np.asarray(found, dtype=np.uint8)
