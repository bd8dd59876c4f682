"""Versions of index images, and what is in them; files are read only if they have changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.images import read_mask
from multiutility.kinds import IndexImages
from multiutility.studio.stamps import Stamp, stamp

Pixels: TypeAlias = NDArray[np.uint8]

NOTHING = "none"


@dataclass(frozen=True)
class PixelState:
    """Version of an index image, the labels in it, and how many annotations it is."""

    version: str = NOTHING
    labels: frozenset[int] = frozenset()
    count: int = 0


class PixelStates:
    """States of files, kept for as long as these stay as they are."""

    def __init__(self) -> None:
        self._states: dict[Path, tuple[Stamp, PixelState]] = {}

    def known(self, path: Path | None) -> PixelState | None:
        """Return the state of a file, or of none, if that takes no reading; else None."""
        now = None if path is None else stamp(path)
        if path is None or now is None:
            return PixelState()
        kept = self._states.get(path)
        return None if kept is None or kept[0] != now else kept[1]

    def read(self, path: Path | None, images: IndexImages) -> PixelState:
        """Return the state of a file of this kind, or of none."""
        known = self.known(path)
        # Before it is read: what is written meanwhile is read the next time.
        now = None if path is None else stamp(path)
        if known is not None or path is None or now is None:
            return known or PixelState()
        pixels = read_mask(path)
        labels = frozenset(int(value) - 1 for value in np.unique(pixels) if value)
        state = PixelState(content_hash(pixels), labels, images.count(pixels))
        self._states[path] = now, state
        return state


def content_hash(pixels: Pixels) -> str:
    """Version of an index image."""
    return hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest()[:20]
