"""What is wrong with a dataset: where, what, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """A problem of a dataset: file in its folder, row of a table (1 is the header), what, and the fix.

    >>> print(Finding("tags.csv", 7, "unknown label 'gras'", "did you mean 'grass'?"))
    tags.csv, row 7: unknown label 'gras'; did you mean 'grass'?
    """

    file: str
    row: int | None
    what: str
    fix: str

    def __str__(self) -> str:
        where = self.file if self.row is None else f"{self.file}, row {self.row}"
        return f"{where}: {self.what}; {self.fix}"


class DatasetError(ValueError):
    """A file that cannot be used; names the file, the row of a table (1 is the header), what, and the fix.

    >>> print(DatasetError("photos/tags.csv", 7, "unknown label 'gras'", "did you mean 'grass'?"))
    photos/tags.csv, row 7: unknown label 'gras'; did you mean 'grass'?
    """

    def __init__(self, path: str | Path, row: int | None, what: str, fix: str) -> None:
        super().__init__(path, row, what, fix)  # all of them, so that the error can be sent between processes
        self.path = Path(path)
        self.row = row
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return str(Finding(printable(str(self.path)), self.row, self.what, self.fix))

    def within(self, folder: Path) -> Finding:
        """Return the finding, with the file as seen from the folder."""
        file = self.path.relative_to(folder).as_posix()
        return Finding(printable(file), self.row, self.what, self.fix)


def printable(text: str) -> str:
    """Text that can be printed: names of files need not be in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
