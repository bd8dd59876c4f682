"""Images whose masks are predictions that somebody accepted: they are learned from, but never scored.

The table ``studio/accepted.csv`` of the dataset folder has the column ``image``. Rows of images that are
gone, or that have no mask, say nothing.
"""

from __future__ import annotations

import threading
from pathlib import Path

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.tables import read_table, write_table
from multiutility.studio.places import set_aside
from multiutility.studio.stamps import Stamp, stamp

COLUMN = "image"


class Accepted:
    """The table, read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._names: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Return the images that it names; a table that cannot be read is set aside."""
        with self._lock:
            return self._read()

    def set(self, name: str, accepted: bool) -> None:
        """Name an image, or do so no longer; the file is written at once, and only if something changes."""
        with self._lock:
            now = self._read()
            new = now | {name} if accepted else now - {name}
            if new != now:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_table(self._path, (COLUMN,), [(one,) for one in sorted(new)])

    def _read(self) -> frozenset[str]:
        now = stamp(self._path)
        if now is None:
            self._names = frozenset()
        elif now != self._stamp:
            problems: list[DatasetError] = []
            rows = [row for _, (row,) in read_table(self._path, (COLUMN,), (), problems)]
            if problems:
                set_aside(self._path, problems[0])
                now, rows = None, []
            self._names = frozenset(rows)
        self._stamp = now
        return self._names
