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
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.mask import label_histograms
from multiutility.metrics import mean_iou
from multiutility.vision.features.preset import Preset
from multiutility.vision.photo import Shrunk, resized
from multiutility.vision.regions.superpixels import RegionMerging, boundary_map
from multiutility.vision.training_set import AnnotatedPhoto

# Images that are looked at, at most: with masks, and with points or scribbles.
MASKED, MARKED = 10, 30
# By how much the best labelings of twice as many superpixels must be better, in mean IoU: learning takes
# twice as long with them.
WORTH = 0.02


def suited_preset(
    usual: Preset, photos: Sequence[AnnotatedPhoto], max_side: int, classes: Classes
) -> tuple[Preset, dict[str, Any]]:
    """Return the preset, with twice as many superpixels if masks are worth it, and why in plain values.

    No labeling of superpixels can be better than the one that gives each the label of most of its pixels.
    Without masks, pixels that points and scribbles mark take their place.
    """
    superpixels = usual.superpixels
    if not isinstance(superpixels, RegionMerging):
        return usual, {}
    numbers = (superpixels.n_regions, 2 * superpixels.n_regions)
    cuts = [superpixels.resized(number) for number in numbers]
    chosen, by = telling_photos(photos)
    if not chosen:
        return usual, {}
    confusions = []
    for one in chosen:
        image = Shrunk(one.photo, max_side).image()
        known = known_pixels(resized(one.annotation(), one.photo.size(), image.shape[:2]), image.shape[:2])
        boundary = boundary_map(image)
        confusions.append([best_confusion(known, cut.cut(boundary), len(classes)) for cut in cuts])
    bounds = [mean_iou(matrix, classes.rare) for matrix in np.sum(confusions, axis=0)]
    number = numbers[bounds[1] - bounds[0] >= WORTH]
    rounded = {str(n): round(bound, 4) for n, bound in zip(numbers, bounds, strict=True)}
    facts = {"number": number, "by": by, "bounds": rounded}
    return replace(usual, superpixels=superpixels.resized(number)), {"superpixels": facts}


def telling_photos(photos: Sequence[AnnotatedPhoto]) -> tuple[list[AnnotatedPhoto], str]:
    """Return at most ``MASKED`` photos with masks or else ``MARKED`` with points or scribbles, and which.

    They are chosen by their names: images without masks do not change which of the others are looked at.
    """
    masked, marked = list[AnnotatedPhoto](), list[AnnotatedPhoto]()
    for one in sorted(photos, key=lambda one: (crc32(one.photo.name.encode()), one.photo.name)):
        annotation = one.annotation()
        if annotation.mask is not None and annotation.mask.any():
            masked.append(one)
        elif annotation.seeds or annotation.scribbles is not None:
            marked.append(one)
        if len(masked) == MASKED:
            break
    return (masked, "masks") if masked else (marked[:MARKED], "marks")


def known_pixels(annotation: PixelAnnotation, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Labels + 1 of the pixels [H, W] whose label is known, and 0 elsewhere."""
    if annotation.mask is not None:
        return annotation.mask
    known = np.zeros(shape, dtype=np.uint8) if annotation.scribbles is None else annotation.scribbles.copy()
    for seed in annotation.seeds:
        known[seed.y, seed.x] = seed.label + 1
    return known


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
