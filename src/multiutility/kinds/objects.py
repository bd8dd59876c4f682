"""What a mask shows: its labels, and objects. Weak annotations are made of these.

Masks are uint8 [H, W] with 0 for void and label + 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.arrays import BoolArray

Mask: TypeAlias = NDArray[np.uint8]

# Objects below this share of the image's pixels are slips of whoever drew the mask: the specks of MSRC have
# 1 to 3 pixels of 68,000, its smallest objects more than 100.
SPECK = 2e-4
# Diagonal neighbors belong together: thin legs and wires are often one pixel wide.
NEIGHBORS = np.ones((3, 3), dtype=np.bool_)


def labels_of(mask: Mask) -> tuple[int, ...]:
    """Labels that the mask has anywhere, sorted.

    >>> labels_of(np.array([[3, 0, 1, 1]], dtype=np.uint8))
    (0, 2)
    """
    return tuple((np.flatnonzero(np.bincount(mask.ravel())[1:])).tolist())


def shares_of(mask: Mask) -> dict[int, float]:
    """Share of each label that the mask has, among pixels that have a label.

    >>> shares_of(np.array([[3, 0, 1, 1, 1]], dtype=np.uint8))
    {0: 0.75, 2: 0.25}
    """
    counts = np.bincount(mask.ravel(), minlength=1)[1:]
    return {label: float(counts[label] / counts.sum()) for label in labels_of(mask)}


@dataclass(frozen=True, eq=False)
class Object:
    """An object of the image: ``rows`` and ``columns`` of its tight box, and its pixels in there."""

    label: int
    rows: slice
    columns: slice
    pixels: BoolArray


@dataclass(frozen=True, eq=False)
class Content:
    """What of an image is to be annotated weakly.

    ``named`` are labels to be named, and ``objects`` things to be drawn around or clicked on. ``segments``
    are all that there are, things or not, of an image of the ``shape`` [H, W].
    ``shares`` are those of all labels among pixels that have one.
    """

    named: tuple[int, ...]
    objects: Sequence[Object] = ()
    segments: Sequence[Object] = ()
    shape: tuple[int, int] = (0, 0)
    shares: Mapping[int, float] = field(default_factory=dict)


def objects_of(
    mask: Mask, labels: Collection[int], instances: NDArray[Any] | None = None, speck: float = SPECK
) -> list[Object]:
    """Objects of these labels: one for each id of the instance map, and one for each connected part without.

    An object of the map (0 for none) is of the label that the mask has most of there, and is left out if more
    than half of it is void; its box is that of the map. Parts of the mask that no object of their label
    touches are objects too. What has less than the share ``speck`` of the pixels is left out.

    >>> mask = np.array([[2, 2, 0, 2, 1]], dtype=np.uint8)
    >>> [thing.columns for thing in objects_of(mask, labels=[1])]
    [slice(0, 2, None), slice(3, 4, None)]
    >>> [thing.columns for thing in objects_of(mask, [1], instances=np.array([[7, 7, 7, 7, 0]]))]
    [slice(0, 4, None)]
    """
    found = [] if instances is None else mapped_objects(mask, instances)
    found = [thing for thing in found if thing.label in labels]
    for label in sorted(labels):
        taken = np.zeros(mask.shape, dtype=np.bool_)
        for thing in found:
            if thing.label == label:
                taken[thing.rows, thing.columns] |= thing.pixels
        found += [part for part in connected_objects(mask, label) if not touches(part, taken)]
    large = [thing for thing in found if thing.pixels.sum() >= speck * mask.size]
    return sorted(large, key=lambda thing: (thing.label, thing.rows.start, thing.columns.start))


def touches(thing: Object, taken: BoolArray) -> bool:
    """Whether the object has a pixel of those [H, W]."""
    return bool((thing.pixels & taken[thing.rows, thing.columns]).any())


def mapped_objects(mask: Mask, instances: NDArray[Any]) -> list[Object]:
    """Objects of the instance map."""
    # Who only reads datasets need not wait for it.
    from scipy import ndimage  # noqa: PLC0415

    if instances.shape != mask.shape:
        raise ValueError(f"instances have shape {instances.shape}: the mask has {mask.shape}")
    names, ids = np.unique(instances, return_inverse=True)
    ids = ids.reshape(mask.shape)
    counts = np.bincount(ids.ravel() * 256 + mask.ravel(), minlength=256 * len(names)).reshape(-1, 256)
    objects = []
    for n, (rows, columns) in enumerate(ndimage.find_objects(ids + 1)):
        if names[n] != 0 and 2 * counts[n, 0] <= counts[n].sum():
            label = int(counts[n, 1:].argmax())
            own = (ids[rows, columns] == n) & (mask[rows, columns] == label + 1)
            objects.append(Object(label, rows, columns, own))
    return objects


def connected_objects(mask: Mask, label: int) -> list[Object]:
    """Connected parts of the label, diagonal neighbors together."""
    from scipy import ndimage  # noqa: PLC0415

    parts, _ = ndimage.label(mask == label + 1, NEIGHBORS)
    slices = enumerate(ndimage.find_objects(parts), start=1)
    return [Object(label, rows, columns, parts[rows, columns] == n) for n, (rows, columns) in slices]
