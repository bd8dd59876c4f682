"""How many superpixels images are cut into: more, if masks have shapes that fewer cannot follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import FloatArray, IndexArray
from multiutility.datasets.classes import Classes
from multiutility.kinds.kind import nearest
from multiutility.kinds.mask import label_histograms
from multiutility.metrics import mean_iou
from multiutility.vision.features.preset import Preset
from multiutility.vision.photo import ImageArray, Shrunk
from multiutility.vision.regions.superpixels import RegionMerging, boundary_map
from multiutility.vision.training_set import AnnotatedPhoto

# Masks that are looked at, at most.
MOST = 10
# By how much the best labelings of twice as many superpixels must be better, in mean IoU: learning takes
# twice as long with them.
WORTH = 0.02


def suited_preset(
    usual: Preset, photos: Sequence[AnnotatedPhoto], max_side: int, classes: Classes
) -> tuple[Preset, dict[str, Any]]:
    """Return the preset, with twice as many superpixels if masks are worth it, and why in plain values.

    No labeling of superpixels can be better than the one that gives each the label of most of its pixels.
    """
    superpixels = usual.superpixels
    if not isinstance(superpixels, RegionMerging):
        return usual, {}
    numbers = (superpixels.n_regions, 2 * superpixels.n_regions)
    cuts = [superpixels.resized(number) for number in numbers]
    confusions = []
    for image, mask in some_masks(photos, max_side):
        boundary = boundary_map(image)
        confusions.append([best_confusion(mask, cut.cut(boundary), len(classes)) for cut in cuts])
    if not confusions:
        return usual, {}
    bounds = [mean_iou(matrix, classes.rare) for matrix in np.sum(confusions, axis=0)]
    number = numbers[bounds[1] - bounds[0] >= WORTH]
    facts = {"number": number, "bounds": {str(n): round(b, 4) for n, b in zip(numbers, bounds, strict=True)}}
    return replace(usual, superpixels=superpixels.resized(number)), {"superpixels": facts}


def some_masks(
    photos: Sequence[AnnotatedPhoto], max_side: int
) -> Iterator[tuple[ImageArray, NDArray[np.uint8]]]:
    """Yield at most ``MOST`` images that have masks with these, at the size of learning.

    Which ones depends on names of images with masks only: images with other annotations change nothing.
    """
    left = MOST
    for one in sorted(photos, key=lambda one: (crc32(one.photo.name.encode()), one.photo.name)):
        mask = one.annotation().mask
        if mask is None or not mask.any():
            continue
        image = Shrunk(one.photo, max_side).image()
        yield image, nearest(mask, image.shape[:2])
        left -= 1
        if not left:
            return


def best_confusion(mask: NDArray[np.uint8], regions: IndexArray, n_labels: int) -> FloatArray:
    """Confusion [K, K] of a mask and the best labels of regions, those of most of their pixels.

    >>> mask = np.array([[1, 1, 2], [2, 2, 0]], dtype=np.uint8)
    >>> best_confusion(mask, np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int32), 2)
    array([[2., 0.],
           [1., 2.]])
    """
    sizes = label_histograms(mask, regions, n_labels)
    matrix = np.zeros((n_labels, n_labels))
    np.add.at(matrix.T, sizes.argmax(axis=1), sizes)
    return matrix
