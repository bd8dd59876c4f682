"""Rehearsals: the weak annotations that images with masks would have had.

How much of a box is full, or how far a point reaches, differs from dataset to dataset. Images with masks
tell, if they are annotated once more as the others are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from multiutility.kinds import PixelAnnotation
from multiutility.vision.weaken import objects_of, tags_of


@dataclass(frozen=True)
class Style:
    """A way to annotate: whether there are tags, and the labels that get boxes and seeds."""

    tagged: bool
    boxed: frozenset[int] = frozenset()
    seeded: frozenset[int] = frozenset()


def styles_of(annotations: Iterable[PixelAnnotation]) -> list[Style]:
    """Return the ways in which images are weakly annotated, each with the labels it was used for.

    >>> from multiutility.kinds import PixelBox
    >>> tags, box = PixelAnnotation(tags=(0,)), PixelBox(1, 0, 0, 2, 2)
    >>> for style in styles_of([tags, PixelAnnotation(tags=(0,), boxes=(box,)), tags]):
    ...     print(style)
    Style(tagged=True, boxed=frozenset(), seeded=frozenset())
    Style(tagged=True, boxed=frozenset({1}), seeded=frozenset())
    """
    found: dict[tuple[bool, bool, bool], Style] = {}
    for one in annotations:
        if one.mask is not None or one.empty:
            continue
        kinds = bool(one.tags), bool(one.boxes), bool(one.seeds)
        known = found.get(kinds, Style(kinds[0]))
        boxed = known.boxed | {box.label for box in one.boxes}
        seeded = known.seeded | {seed.label for seed in one.seeds}
        found[kinds] = Style(kinds[0], boxed, seeded)
    return [found[kinds] for kinds in sorted(found, reverse=False)]


def rehearsal(annotation: PixelAnnotation, style: Style) -> PixelAnnotation | None:
    """Annotate an image with a mask in a style; None if there is nothing to say.

    >>> import numpy as np
    >>> mask = np.array([[1, 1, 2, 2]], dtype=np.uint8)
    >>> again = rehearsal(PixelAnnotation(mask=mask), Style(True, boxed=frozenset({1})))
    >>> again.tags, again.boxes
    ((0, 1), (PixelBox(label=1, left=2, top=0, right=4, bottom=1),))
    """
    if annotation.mask is None:
        return None
    present = tags_of(annotation.mask)
    placed = [label for label in present if label in style.boxed | style.seeded]
    objects = objects_of(annotation.mask, placed, annotation.instances)
    again = PixelAnnotation(
        tags=present if style.tagged else (),
        boxes=tuple(one.box for one in objects if one.label in style.boxed),
        seeds=tuple(one.seed for one in objects if one.label in style.seeded),
    )
    return None if again.empty else again
