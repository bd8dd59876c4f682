"""Images whose masks are predictions that somebody accepted: they are learned from, but never scored.

The table ``studio/accepted.csv`` of a dataset folder, which the studio writes, has the column ``image``. Rows
of images that are gone, or that have no mask, say nothing.
"""

from __future__ import annotations

from pathlib import Path

from multiutility.datasets.errors import DatasetError
from multiutility.datasets.tables import read_table

FILE = "studio/accepted.csv"
COLUMN = "image"


def accepted_images(folder: Path) -> frozenset[str]:
    """Return the images that the table of a folder names; none without one.

    Raises ``DatasetError`` if it cannot be read: then nobody knows which masks may be scored.
    """
    path = folder / FILE
    if not path.exists():
        return frozenset()
    problems: list[DatasetError] = []
    names = frozenset(row for _, (row,) in read_table(path, (COLUMN,), (), problems))
    if problems:
        raise problems[0]
    return names
