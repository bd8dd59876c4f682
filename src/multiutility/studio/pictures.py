"""Pictures for the page: thumbnails, photographs at the size of a screen, and regions to paint."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.display import jpeg
from multiutility.datasets.files import replacing
from multiutility.studio.stamps import stamp
from multiutility.vision.photo import FilePhoto, Shrunk
from multiutility.vision.regions.superpixels import RegionMerging

VERSION = 2  # of the files
CHECKSUM = 8
THUMBNAIL, SCREEN = 256, 1600
# Longer side at which photographs are cut into regions: finer ones could not be seen, nor hit.
REGION_SIDE = 800
# About how many regions there are at each step between coarse and fine.
REGION_COUNTS = (40, 100, 250, 600, 1500)


class Pictures:
    """Makes pictures when they are asked for, and keeps them in a folder that may be deleted at any time."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        # No more at once than there are cores: others would only wait, and use memory.
        self._turns = threading.BoundedSemaphore(os.cpu_count() or 1)

    def thumbnail(self, path: Path) -> bytes:
        """JPEG of an image with sides of at most 256 pixels."""
        return self._kept(path, "thumbnail", lambda: jpeg(path, THUMBNAIL, 82))

    def screen(self, path: Path) -> bytes:
        """JPEG of an image with sides of at most 1600 pixels."""
        return self._kept(path, "screen", lambda: jpeg(path, SCREEN, 92))

    def regions(self, path: Path, level: int) -> tuple[bytes, tuple[int, int]]:
        """Regions to paint, as numbers of 16 bits [H, W] (little-endian), and H and W."""
        height, width = Shrunk(FilePhoto(path.name, path), REGION_SIDE).size()
        content = self._kept(path, f"regions-{level}", lambda: regions_of(path, level).tobytes())
        return content, (height, width)

    def _kept(self, path: Path, kind: str, make: Callable[[], bytes]) -> bytes:
        depends_on = (VERSION, str(path.resolve()), stamp(path), kind)
        key = hashlib.sha256(repr(depends_on).encode()).hexdigest()[:32]
        file = self._cache / kind / key
        if file.exists():
            content = file.read_bytes()
            if content[:CHECKSUM] == checksum(content[CHECKSUM:]):
                return content[CHECKSUM:]
        with self._turns:
            content = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as target:
            target.write(checksum(content) + content)
        return content


def checksum(content: bytes) -> bytes:
    """Return what a file begins with, so that a damaged one is not shown, but made anew."""
    return hashlib.sha256(content).digest()[:CHECKSUM]


def regions_of(path: Path, level: int) -> NDArray[np.uint16]:
    """Cut an image into regions, coarse at level 0."""
    image = Shrunk(FilePhoto(path.name, path), REGION_SIDE).image()
    return RegionMerging(REGION_COUNTS[level], min_size=20)(image).astype("<u2")
