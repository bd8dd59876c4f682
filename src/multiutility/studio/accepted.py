"""The table of images whose masks are predictions that were accepted, as the studio reads and writes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from multiutility.datasets.accepted import COLUMN, accepted_images
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.tables import write_table
from multiutility.studio.places import Places, set_aside
from multiutility.studio.stamps import Stamp, stamp


class Accepted:
    """The table, read again when it has changed."""

    def __init__(self, places: Places) -> None:
        self._folder = places.folder
        self._path = places.accepted
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

    @contextmanager
    def noting(self, name: str, said: str | None, any_left: bool) -> Iterator[None]:
        """Note, while a mask is written, whether it is accepted: "1", "0", or as before if nothing is said.

        If this ends in between, a mask is not scored that might be, and never the other way round.
        """
        if said == "1" and any_left:
            self.set(name, True)
        yield
        if said == "0" or (said == "1" and not any_left):
            self.set(name, False)

    def _read(self) -> frozenset[str]:
        now = stamp(self._path)
        if now is None:
            self._names = frozenset()
        elif now != self._stamp:
            try:
                self._names = accepted_images(self._folder)
            except DatasetError as error:
                set_aside(self._path, error)
                now, self._names = None, frozenset()
        self._stamp = now
        return self._names
