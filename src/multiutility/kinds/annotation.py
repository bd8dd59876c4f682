"""All that is annotated of one image, and the list of kinds of annotation."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations.partition import Partition
from multiutility.annotations.term import Says
from multiutility.kinds.areas import AREAS, PixelArea
from multiutility.kinds.boxes import BOXES, PixelBox
from multiutility.kinds.kind import FromMask, Inaccuracy, IndexImages, Kind, Table
from multiutility.kinds.mask import MASK
from multiutility.kinds.scribbles import SCRIBBLES
from multiutility.kinds.seeds import SEEDS, PixelSeed
from multiutility.kinds.tags import TAGS, Tag


@dataclass(frozen=True, eq=False)
class PixelAnnotation:
    """All that is annotated of one image, in any mix; labels count from 0.

    ``mask`` uint8 [H, W] holds 0 for void and label + 1. ``instances`` [H, W] holds 0 for none and an id for
    each object; it annotates nothing by itself.
    """

    # A new kind is one line here; the order is that in which kinds are named.
    mask: NDArray[np.uint8] | None = field(default=None, metadata={"kind": MASK})
    tags: tuple[Tag, ...] = field(default=(), metadata={"kind": TAGS})
    boxes: tuple[PixelBox, ...] = field(default=(), metadata={"kind": BOXES})
    seeds: tuple[PixelSeed, ...] = field(default=(), metadata={"kind": SEEDS})
    scribbles: NDArray[np.uint8] | None = field(default=None, metadata={"kind": SCRIBBLES})
    areas: tuple[PixelArea, ...] = field(default=(), metadata={"kind": AREAS})
    instances: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name in INDEX_IMAGES:
            value = getattr(self, name)
            if value is not None and (value.ndim != 2 or value.dtype != np.uint8):
                raise ValueError(f"{name} is {value.dtype} {value.shape}: expected uint8 [H, W]")
        if self.instances is not None and (self.instances.ndim != 2 or self.instances.dtype.kind not in "iu"):
            raise ValueError(
                f"instances is {self.instances.dtype} {self.instances.shape}: expected integers [H, W]"
            )

    def value(self, kind: Kind) -> Any:
        """Return what there is of a kind."""
        return getattr(self, kind.name)

    @property
    def labels(self) -> frozenset[int]:
        """All labels that are said to be there."""
        return frozenset(label for kind in KINDS for label in kind.labels(self.value(kind)))

    def partition(self, n_labels: int, other: int | None = None) -> Partition:
        """Return what is known about each label, where no mask tells; see ``Joint`` for ``other``.

        >>> PixelAnnotation(tags=(0,), seeds=(PixelSeed(2, x=0, y=0),)).partition(n_labels=3)
        Partition(boxed=(), seeded=(2,), tagged=(0,), absent=(1,), unknown=())
        """
        named: dict[Says, list[int]] = {one: [] for one in get_args(Says)}
        said = [kind.said(self.value(kind)) for kind in KINDS]
        for says, labels in (pair for one in said for pair in one.items()):
            named[says] += labels
        tags, boxes, seeds, there, opened = named.values()
        absent = [label for kind in KINDS for label in kind.absent(self.value(kind))]
        complete = True if any(kind.complete(self.value(kind)) for kind in KINDS) else None
        known = (there, opened if any("open" in one for one in said) else None, absent)
        return Partition.of(tags, boxes, seeds, n_labels, other, complete, *known)

    @property
    def placed(self) -> bool:
        """Whether anything says where something is."""
        return any(kind.placed and kind.there(self.value(kind)) for kind in KINDS)

    @property
    def empty(self) -> bool:
        """Whether nothing is annotated."""
        return not any(kind.there(self.value(kind)) for kind in KINDS)


KINDS: tuple[Kind, ...] = tuple(
    one.metadata["kind"] for one in fields(PixelAnnotation) if "kind" in one.metadata
)
# From the one that says most to the one that says least of where things are.
BY_DETAIL: tuple[Kind, ...] = tuple(sorted(KINDS, key=lambda kind: -kind.mended))
# By name, those that are kept in tables, and those that are kept in index images.
TABLES: dict[str, Table[Any]] = {kind.name: kind.table for kind in KINDS if kind.table is not None}
INDEX_IMAGES: dict[str, IndexImages] = {kind.name: kind.images for kind in KINDS if kind.images is not None}
# Ways to make annotations of masks, and how far these may be off, by the names that users ask for them by.
WEAKENED: dict[str, FromMask] = {way.name: way for kind in KINDS for way in kind.weaken}
INACCURATE: dict[str, Inaccuracy] = {
    kind.inaccuracy.name: kind.inaccuracy for kind in KINDS if kind.inaccuracy is not None
}
