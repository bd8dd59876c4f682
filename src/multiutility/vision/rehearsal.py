"""Rehearsals: the weak annotations that images with masks would have had.

How much of a box is full, or how far a point reaches, differs from dataset to dataset. Images with masks
tell, if they are annotated once more as the others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from multiutility.kinds import KINDS, WEAKENED, PixelAnnotation
from multiutility.kinds.boxes import EXPECTED_LOOSENED, loosen
from multiutility.kinds.objects import Content, labels_of, objects_of, shares_of
from multiutility.kinds.tags import drop_tags, is_open

# Even the worst of annotators name some.
MOST_DROPPED = 0.9


@dataclass(frozen=True)
class Style:
    """A way to annotate: the labels that each kind of annotation was used for, by name of the kind.

    Boxes of labels that are ``loose`` need not be tight. If tags are ``opened``, each goes unnamed with the
    probability ``dropped``.
    """

    labels: Mapping[str, frozenset[int]]
    loose: frozenset[int] = field(default=frozenset(), repr=False)
    opened: bool = field(default=False, repr=False)
    dropped: float = field(default=0.0, repr=False)


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
    dropped = drop_rate(annotations)
    return [Style(found[one], frozenset(loose[one]), one[-1], dropped) for one in sorted(found)]


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
        content = Content(present, own, own, own, annotation.mask.shape, shares_of(annotation.mask))
        values[kind.name] = WEAKENED[kind.name](content)
    made, shape = PixelAnnotation(**values), annotation.mask.shape
    boxes = [loosen(box, EXPECTED_LOOSENED, shape) if box.label in style.loose else box for box in made.boxes]
    tags = drop_tags(made.tags, style.dropped, name) if style.opened else made.tags
    again = replace(made, boxes=tuple(boxes), tags=tags)
    return None if again.empty else again
