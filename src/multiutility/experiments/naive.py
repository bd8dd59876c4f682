"""What one would try first: fill in weak annotations as if they were masks, and fit a plain regression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray, IndexArray
from multiutility.datasets.pixels import PixelAnnotation, centers


def filled(annotation: PixelAnnotation, regions: IndexArray, n_labels: int) -> FloatArray:
    """Return how many pixels of each region [V] would have which label, [V, K].

    Boxes are filled, the smaller over the larger; the regions of seeds are filled. All other pixels are
    shared out evenly among the tags and the labels of seeds (without any, among the labels of boxes).

    >>> regions = np.array([[0, 0, 1, 1]], dtype=np.int32)
    >>> filled(PixelAnnotation(tags=(0, 2)), regions, n_labels=3)
    array([[1., 0., 1.],
           [1., 0., 1.]])
    >>> filled(PixelAnnotation(mask=np.array([[0, 1, 3, 3]], dtype=np.uint8)), regions, n_labels=3)
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    if annotation.mask is not None:
        return histogram(annotation.mask.astype(np.int64) - 1, regions, n_labels)
    labels = np.full(regions.shape, -1, dtype=np.int64)
    for box in sorted(annotation.boxes, key=lambda box: -box.n_pixels(*regions.shape)):
        rows = centers(box.top, box.bottom, regions.shape[0])
        columns = centers(box.left, box.right, regions.shape[1])
        labels[rows.start : rows.stop, columns.start : columns.stop] = box.label
    for seed in annotation.seeds:
        labels[regions == regions[seed.y, seed.x]] = seed.label
    rest = {*annotation.tags, *(seed.label for seed in annotation.seeds)} or {
        b.label for b in annotation.boxes
    }
    counts = histogram(labels, regions, n_labels)
    open_ = np.bincount(regions.ravel(), labels.ravel() < 0, len(counts))
    counts[:, sorted(rest)] += open_[:, np.newaxis] / len(rest)
    return counts


def histogram(labels: NDArray[np.int64], regions: IndexArray, n_labels: int) -> FloatArray:
    """Pixels of each region and label, [V, K]; those below 0 are left out."""
    known = labels >= 0
    cells = regions[known].astype(np.int64) * n_labels + labels[known]
    n_regions = int(regions.max()) + 1
    counts = np.bincount(cells, minlength=n_regions * n_labels).astype(np.float64)
    return counts.reshape(n_regions, n_labels)


def ridge_weights(
    features: Sequence[NDArray[np.float32]], targets: Sequence[FloatArray], penalty: float
) -> FloatArray:
    """Weights [K, D] of the regression of labels on features, with pixels shared out among labels [V, K].

    ``min mean_i |W x_i - (t_i - t)|^2 + penalty |W|^2 mean_i |x_i|^2`` over all pixels, with the part
    ``t_ik`` of each label in the pixel's region, and ``t`` their mean: what is common is common everywhere,
    and no reason to say so.
    """
    x, counts = np.concatenate(features).astype(np.float64), np.concatenate(targets)
    sizes = counts.sum(axis=1, keepdims=True)
    shares = sizes / sizes.sum()
    aims = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    aims -= (shares * aims).sum(axis=0)
    gram = x.T @ (shares * x)
    gram += penalty * gram.trace() * np.eye(len(gram))
    return np.asarray(np.linalg.solve(gram, x.T @ (shares * aims)).T)
