"""Folders that may come from anywhere: nothing in them leads to files elsewhere."""

from __future__ import annotations

import ntpath
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from multiutility.datasets.errors import DatasetError


class Enclosed:
    """A folder whose files are read only if they are in it, after all links are followed.

    Images of a dataset are linked or copied into the output of commands: a link to a file elsewhere would
    bring that file along. Every reader of folders finds its files here. The folder itself may be a link,
    since whoever runs a command names it. Real paths of folders are kept: one object is for one reading.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._real_root = os.path.realpath(root)
        self._prefix = os.path.join(self._real_root, "")
        self._real_folders: dict[str, str] = {}

    def leads_out(self, path: str | Path) -> bool:
        """Whether a path is one of a file or folder elsewhere; it need not exist."""
        return self._outside(self._real(str(path)))

    def problem(self, path: Path) -> DatasetError | None:
        """Return the error of a path in the folder that leads out, which names the link that does."""
        if not self.leads_out(path):
            return None
        inner = [one for one in path.parents if one.is_relative_to(self.root) and one != self.root]
        link = next(one for one in (*reversed(inner), path) if self.leads_out(one))
        what, fix = f"leads out of the folder {self.root}", "put the file or folder itself there, not a link"
        return DatasetError(link, None, what, fix)

    def check(self, path: Path) -> Path:
        """Return the path; raises ``DatasetError`` if it leads out."""
        problem = self.problem(path)
        if problem:
            raise problem
        return path

    def file(self, path: Path) -> Path | None:
        """Return the path if there is a file, else None."""
        return path if self.check(path).is_file() else None

    def files(self, folder: Path, endings: Sequence[str], *, deep: bool = False) -> list[Path]:
        """Files of a folder, if there is one, with one of these endings, sorted; with ``deep``, of all in it.

        Hidden files and folders are left out, and so are links to folders in ``deep`` ones: what they lead to
        is found where it is.
        """
        found: list[Path] = []
        folders = [self.check(folder)] if folder.is_dir() else []
        while folders:
            place = folders.pop()
            with os.scandir(place) as entries:
                shown = [entry for entry in entries if not entry.name.startswith(".")]
            for entry in shown:
                path, is_link = place / entry.name, entry.is_symlink()
                wanted, is_folder = path.suffix.lower() in endings, deep and entry.is_dir()
                if is_link and (wanted or is_folder):
                    self.check(path)
                found += [path] if wanted and entry.is_file() else []
                folders += [path] if is_folder and not is_link else []
        return sorted(found)

    def find(self, name: str, folders: Iterable[str | Path]) -> Path | None:
        """Real path of the file that a record calls ``name``, as seen from the first folder that has it.

        Raises ``ValueError`` for absolute names, and for those that lead out, by ``..`` or by a link.

        >>> Enclosed("photos").find("../secret.jpg", ["photos/holidays", "photos"])
        Traceback (most recent call last):
        ...
        ValueError: '../secret.jpg' leads out of the folder photos
        """
        # Windows programs write backslashes, and their drives are no folders here.
        plain = name.replace("\\", "/")
        if not name or "\0" in name or plain.startswith("/") or ntpath.splitdrive(name)[0]:
            raise ValueError(f"{name!r} is not the name of a file in the folder {self.root}")
        for folder in folders:
            path = os.path.join(folder, plain)
            if self.leads_out(path):
                raise ValueError(f"{name!r} leads out of the folder {self.root}")
            if os.path.isfile(path):
                return Path(self._real(path))
        return None

    def _outside(self, real: str) -> bool:
        return real != self._real_root and not real.startswith(self._prefix)

    def _real(self, path: str) -> str:
        """Path after all links."""
        place = self._place(path)
        return os.path.realpath(place) if os.path.islink(place) else place

    def _place(self, path: str) -> str:
        """Path after all links but the last; of files in one folder, that of the folder is found once."""
        folder, name = os.path.split(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        place = os.path.join(self._real_folders[folder], name)
        return os.path.realpath(place) if name in {"", ".", ".."} else place
