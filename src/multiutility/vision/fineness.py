"""How many superpixels images are cut into: more, if masks have shapes that fewer cannot follow."""

from __future__ import annotations

from collections.abc import Sequence
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
from multiutility.vision.photo import Shrunk
from multiutility.vision.regions.superpixels import RegionMerging, boundary_map
from multiutility.vision.training_set import AnnotatedPhoto

# Masks that are looked at. With fewer, finer superpixels help masks alone, and weak annotations then trade
# accuracy for recall: on streets, with five masks, 3 points for 9.
N_MASKS = 10
# By how much the best labelings of twice as many superpixels must be better, in mean IoU: learning takes
# two to four times as long with them.
WORTH = 0.02


def suited_preset(
    usual: Preset, photos: Sequence[AnnotatedPhoto], max_side: int, classes: Classes
) -> tuple[Preset, dict[str, Any]]:
    """Return the preset, with twice as many superpixels if masks are worth it, and why in plain values.

    No labeling of superpixels has more right pixels than that in which each has the label of most of its own.
    """
    superpixels, chosen = usual.superpixels, masked_photos(photos)
    if not isinstance(superpixels, RegionMerging) or len(chosen) < N_MASKS:
        return usual, {}
    numbers = (superpixels.n_regions, 2 * superpixels.n_regions)
    cuts = [superpixels.resized(number) for number in numbers]
    confusions = []
    for one, mask in chosen:
        image = Shrunk(one.photo, max_side).image()
        boundary, small = boundary_map(image), nearest(mask, image.shape[:2])
        confusions.append([best_confusion(small, cut.cut(boundary), len(classes)) for cut in cuts])
    bounds = [mean_iou(matrix, classes.rare) for matrix in np.sum(confusions, axis=0)]
    number = numbers[bounds[1] - bounds[0] >= WORTH]
    facts = {"number": number, "bounds": {str(n): round(b, 4) for n, b in zip(numbers, bounds, strict=True)}}
    return replace(usual, superpixels=superpixels.resized(number)), {"superpixels": facts}


def masked_photos(photos: Sequence[AnnotatedPhoto]) -> list[tuple[AnnotatedPhoto, NDArray[np.uint8]]]:
    """Return at most ``N_MASKS`` photos that have masks, with these.

    They are chosen by their names: images with other annotations do not change which are looked at.
    """
    found = list[tuple[AnnotatedPhoto, NDArray[np.uint8]]]()
    for one in sorted(photos, key=lambda one: (crc32(one.photo.name.encode()), one.photo.name)):
        mask = one.annotation().mask
        if mask is not None and mask.any():
            found.append((one, mask))
        if len(found) == N_MASKS:
            break
    return found


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
