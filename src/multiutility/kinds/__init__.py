"""Kinds of annotation as a person gives them, in pixels: one file a kind, and ``KINDS``, the list of them."""

from multiutility.extras import require

require("vision", __name__)

from multiutility.kinds.annotation import (
    BY_DETAIL,
    INACCURATE,
    INDEX_IMAGES,
    KINDS,
    TABLES,
    WEAKENED,
    PixelAnnotation,
)
from multiutility.kinds.areas import PixelArea
from multiutility.kinds.boxes import PixelBox
from multiutility.kinds.kind import IndexImages, Kind, Table
from multiutility.kinds.seeds import PixelSeed

__all__ = [
    "BY_DETAIL",
    "INACCURATE",
    "INDEX_IMAGES",
    "KINDS",
    "TABLES",
    "WEAKENED",
    "IndexImages",
    "Kind",
    "PixelAnnotation",
    "PixelArea",
    "PixelBox",
    "PixelSeed",
    "Table",
]
