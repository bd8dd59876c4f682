"""Images with masks that are not learned from, so that scores are of images that the model has not seen."""

from __future__ import annotations

import hashlib

from multiutility.datasets.folder import DatasetFolder, training_part
from multiutility.kinds.mask import MASK
from multiutility.studio.options import Options

# One image of so many with a mask is not learned from, but scored.
HELD_OUT = 5


def held_out(dataset: DatasetFolder, accepted: frozenset[str] = frozenset()) -> list[str]:
    """Return the images with masks that are kept to be scored: one of five, at least one, and never all.

    They look as if chosen at random, but are the same for the same images, and for the most part when there
    are more. Masks that are accepted predictions are never scored, and so always learned from.
    """
    with_masks = (sample.name for sample in dataset if MASK.name in sample.kinds)
    masked = [name for name in with_masks if name not in accepted]
    count = min(len(masked) - 1, max(1, round(len(masked) / HELD_OUT)))
    return sorted(sorted(masked, key=digest)[: max(0, count)])


def digest(name: str) -> bytes:
    """Return what looks random, but is the same for a name always."""
    return hashlib.sha256(name.encode()).digest()


def training_images(
    dataset: DatasetFolder, options: Options, accepted: frozenset[str] = frozenset()
) -> DatasetFolder:
    """Return the images that are learned from."""
    part = training_part(dataset)
    kept = set(held_out(part, accepted)) if options.hold_out else set()
    return part.select(name for name in part.names if name not in kept)
