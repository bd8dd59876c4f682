"""Labels of a dataset that its annotations cannot tell apart; photos are not opened, and few masks are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.identifiability import LEAST, Bag, Group, unidentified
from multiutility.kinds import KINDS, PixelAnnotation
from multiutility.kinds.areas import told_by_share
from multiutility.kinds.objects import labels_of


def unidentified_labels(
    dataset: DatasetFolder, mask_labels: Callable[[Sample], frozenset[int]] | None = None
) -> list[Group]:
    """Return the groups of labels that the annotations of a dataset, or of a part of it, cannot tell apart.

    See ``multiutility.identifiability.unidentified`` for what that is. Masks are only read while they can
    still change the answer; ``mask_labels`` gets the labels of one, by default from its file.

    >>> import tempfile
    >>> import numpy as np
    >>> from multiutility.datasets import Classes, NewSample, write_dataset
    >>> image, tags = np.zeros((6, 8, 3), dtype=np.uint8), PixelAnnotation(tags=(0, 1))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     samples = [NewSample(name, image, tags) for name in ("monday", "tuesday", "friday")]
    ...     write_dataset(f"{place}/streets", Classes.from_names(["sky", "road"]), samples)
    ...     streets = DatasetFolder(f"{place}/streets")
    ...     for group in unidentified_labels(streets):
    ...         print(group.advice(streets.classes.names))
    sky and road come together in all 3 images that have them, and nothing says where they are: \
click one point of each in two images
    """
    labels_of = mask_labels or labels_of_file
    n_labels, other = len(dataset.classes), dataset.classes.other
    bags = [weak_bag(sample, n_labels, other) for sample in dataset if sample.mask_path is None]
    groups = unidentified(bags, n_labels)
    masked = [sample for sample in dataset if sample.mask_path is not None]
    n_placed: Counter[int] = Counter()
    for sample in masked:
        # All labels of masks have places. They make labels known, and never confuse them.
        if all(sum(n_placed[label] < LEAST for label in group.labels) < 2 for group in groups):
            return []
        labels = labels_of(sample)
        n_placed.update(labels)
        bags.append(Bag(placed=labels) if labels else weak_bag(sample, n_labels, other))
    return unidentified(bags, n_labels)


def unidentified_annotations(
    annotations: Iterable[PixelAnnotation], n_labels: int, other: int | None = None
) -> list[Group]:
    """Return the groups of labels that annotations of images cannot tell apart.

    ``other`` is the label of what has no label of its own, if there is one.

    >>> cow = PixelAnnotation(tags=(0, 1))
    >>> unidentified_annotations([cow] * 4, n_labels=2)
    [Group(labels=(0, 1), n_together=4, n_apart=0, n_placed=0, n_wanted=2)]
    """
    return unidentified((bag_of(one, n_labels, other) for one in annotations), n_labels, "annotations")


def bag_of(annotation: PixelAnnotation, n_labels: int, other: int | None) -> Bag:
    """Return the labels that an annotation names; a mask wins over all else, unless all of it is void."""
    if annotation.mask is not None and annotation.mask.any():
        return Bag(placed=frozenset(labels_of(annotation.mask)))
    if annotation.empty:
        return Bag()
    present = frozenset(annotation.partition(n_labels, other).present)
    placed = frozenset(k for kind in KINDS if kind.placed for k in kind.labels(annotation.value(kind)))
    # A share that no other label can have tells a label as a place does.
    if present <= {area.label for area in annotation.areas} | placed:
        placed |= told_by_share(annotation.areas)
    return Bag(present - placed, placed)


def weak_bag(sample: Sample, n_labels: int, other: int | None) -> Bag:
    """Return the labels that are named for an image besides its mask."""
    return bag_of(sample.weak(), n_labels, other)


def labels_of_file(sample: Sample) -> frozenset[int]:
    """Return the labels of the mask of an image; none without one."""
    mask = sample.mask()
    return frozenset() if mask is None else frozenset(labels_of(mask))
