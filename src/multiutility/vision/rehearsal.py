"""Rehearsals: the weak annotations that images with masks would have had.

How much of a box is full, or how far a point reaches, differs from dataset to dataset. Images with masks
tell, if they are annotated once more as the others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from multiutility.annotations.lines import MARGIN
from multiutility.arrays import FloatArray
from multiutility.kinds import KINDS, PixelAnnotation
from multiutility.kinds.boxes import PixelBox, box_of, loosen
from multiutility.kinds.objects import Content, labels_of, objects_of, shares_of
from multiutility.kinds.tags import drop_tags, is_open

# Even the worst of annotators name some.
MOST_DROPPED = 0.9
# How far boxes may be from their objects at most: those that are twice as large say next to nothing.
MOST_MARGIN = 0.45


@dataclass(frozen=True)
class Style:
    """A way to annotate: the labels that each kind of annotation was used for, by name of the kind.

    Boxes of labels that are ``loose`` need not be tight. If tags are ``opened``, each goes unnamed with the
    probability ``dropped``. Loose boxes are up to ``margin`` of their size from the object, on each side.
    """

    labels: Mapping[str, frozenset[int]]
    loose: frozenset[int] = field(default=frozenset(), repr=False)
    opened: bool = field(default=False, repr=False)
    dropped: float = field(default=0.0, repr=False)
    margin: float = field(default=MARGIN, repr=False)


def styles_of(annotations: Sequence[PixelAnnotation]) -> list[Style]:
    """Return the ways in which images are weakly annotated, each with the labels it was used for.

    >>> from multiutility.kinds import PixelBox
    >>> tags, box = PixelAnnotation(tags=(0,)), PixelBox(1, 0, 0, 2, 2)
    >>> for style in styles_of([tags, PixelAnnotation(tags=(0,), boxes=(box,)), tags]):
    ...     print(style)
    Style(labels={'tags': frozenset({0})})
    Style(labels={'tags': frozenset({0}), 'boxes': frozenset({1})})
    """
    found: dict[tuple[bool, ...], dict[str, frozenset[int]]] = {}
    loose: dict[tuple[bool, ...], set[int]] = {}
    for one in annotations:
        if one.mask is not None or one.empty:
            continue
        there = (*(kind.there(one.value(kind)) for kind in KINDS), is_open(one.tags))
        known = found.setdefault(there, {})
        loose.setdefault(there, set()).update(box.label for box in one.boxes if not box.tight)
        for kind in KINDS:
            if kind.there(one.value(kind)):
                known[kind.name] = known.get(kind.name, frozenset()).union(kind.labels(one.value(kind)))
    dropped, margin = drop_rate(annotations), margin_of(annotations)
    return [Style(found[one], frozenset(loose[one]), one[-1], dropped, margin) for one in sorted(found)]


def margin_of(annotations: Sequence[PixelAnnotation]) -> float:
    """Return how far sides of loose boxes are from their objects at most, as a share of the box.

    Objects of masks, and those of tight boxes, are as large as those in loose boxes: so these are larger by
    as much as they are loose. With the mean d of the logarithm of the ratio, a side is d / 2 of the box away
    in the mean, roughly, and twice that at most: ``1 - exp(-d)``. What is assumed without any evidence,
    ``MARGIN``, counts as much as evidence that leaves as much doubt as all of it.

    >>> boxes = [PixelBox(0, 0, 0, size, size) for size in range(20, 60)]
    >>> from multiutility.kinds.boxes import resize_box
    >>> larger = [replace(resize_box(box, 1.2, 1.2), tight=False) for box in boxes]
    >>> both, alone = (PixelAnnotation(boxes=tuple(some)) for some in ([*boxes, *larger], larger))
    >>> round(margin_of([both]), 2), margin_of([alone])
    (0.17, 0.25)
    """
    loose: dict[int, list[float]] = {}
    for box in (box for one in annotations if one.mask is None for box in one.boxes if not box.tight):
        loose.setdefault(box.label, []).append(log_size(box))
    tight: dict[int, list[float]] = {}
    for box in (box for one in annotations for box in tight_boxes(one, list(loose))):
        tight.setdefault(box.label, []).append(log_size(box))
    if not tight:
        return MARGIN
    pairs = [(np.array(loose[k]), np.array(tight[k])) for k in sorted(tight)]
    assumed = -np.log1p(-MARGIN)
    ratio = weighed([(assumed, assumed**2), *ratios(pairs)])
    return float(np.clip(-np.expm1(-ratio), 0.0, MOST_MARGIN))


def ratios(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> list[tuple[float, float]]:
    """Differences of the means of pairs of samples, with their variances; samples are spread alike."""
    degrees = sum(len(one) - 1 for pair in pairs for one in pair)
    if degrees < 1:
        return []
    spread = sum(float(((one - one.mean()) ** 2).sum()) for pair in pairs for one in pair) / degrees
    found = [(float(a.mean() - b.mean()), spread * (1 / len(a) + 1 / len(b))) for a, b in pairs]
    return [(mean, max(variance, 1e-12)) for mean, variance in found]


def weighed(estimates: Sequence[tuple[float, float]]) -> float:
    """Mean of estimates, each with a variance by whose inverse it counts."""
    means, variances = np.array(estimates).T
    return float(np.average(means, weights=1 / variances))


def tight_boxes(annotation: PixelAnnotation, labels: Sequence[int]) -> list[PixelBox]:
    """Return tight boxes of objects of some labels: those of the mask, or else those that are there."""
    if annotation.mask is None:
        return [box for box in annotation.boxes if box.tight and box.label in labels]
    present = [label for label in labels_of(annotation.mask) if label in labels]
    return [box_of(one) for one in objects_of(annotation.mask, present, annotation.instances)]


def log_size(box: PixelBox) -> float:
    """Logarithm of the geometric mean of the sides."""
    return 0.5 * float(np.log((box.right - box.left) * (box.bottom - box.top)))


def drop_rate(annotations: Iterable[PixelAnnotation]) -> float:
    """Return how often open tags leave a label out: masks have more labels in the mean, by as many.

    >>> import numpy as np
    >>> mask = PixelAnnotation(mask=np.array([[1, 2]], dtype=np.uint8))
    >>> from multiutility.kinds.tags import OpenTag
    >>> tags = PixelAnnotation(tags=(OpenTag(0),))
    >>> drop_rate([mask, tags]), drop_rate([tags])
    (0.5, 0.0)
    """
    in_masks, named = [], []
    for one in annotations:
        if one.mask is not None:
            in_masks.append(len(labels_of(one.mask)))
        elif is_open(one.tags):
            named.append(len(one.labels))
    if not in_masks or not named or sum(named) == 0:
        return 0.0
    return min(max(1 - float(np.mean(named) / np.mean(in_masks)), 0.0), MOST_DROPPED)


def rehearsal(annotation: PixelAnnotation, style: Style, name: str = "") -> PixelAnnotation | None:
    """Annotate an image with a mask in a style; None if there is nothing to say.

    Which tags are dropped in an open style depends on the name of the image.

    >>> import numpy as np
    >>> mask = np.array([[1, 1, 2, 2]], dtype=np.uint8)
    >>> style = Style({"tags": frozenset({0}), "boxes": frozenset({1})})
    >>> again = rehearsal(PixelAnnotation(mask=mask), style)
    >>> again.tags, again.boxes
    ((0, 1), (PixelBox(label=1, left=2, top=0, right=4, bottom=1),))
    """
    if annotation.mask is None:
        return None
    present = labels_of(annotation.mask)
    styled = [kind for kind in KINDS if kind.name in style.labels]
    placed = frozenset().union(*(style.labels[kind.name] for kind in styled if kind.placed))
    objects = objects_of(annotation.mask, [k for k in present if k in placed], annotation.instances)
    values = {}
    for kind in styled:
        own = [one for one in objects if one.label in style.labels[kind.name]]
        content = Content(present, own, own, annotation.mask.shape, shares_of(annotation.mask))
        values[kind.name] = kind.weaken[0].make(content)
    made, shape = PixelAnnotation(**values), annotation.mask.shape
    larger = style.margin / (1 - style.margin)
    boxes = [loosen(box, larger, shape) if box.label in style.loose else box for box in made.boxes]
    tags = drop_tags(made.tags, style.dropped, name) if style.opened else made.tags
    again = replace(made, boxes=tuple(boxes), tags=tags)
    return None if again.empty else again
