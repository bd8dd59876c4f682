"""Which files a command may write: new ones, and its own that nobody has changed since.

``Outputs.check`` decides for every command. In the block of ``writing``, all files that ``files.replacing``
and ``files.filling`` put into the places of a command go through it, and are noted by their hashes in a
manifest there, ``.multiutility.jsonl``: so the next run knows them.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

MANIFEST = ".multiutility.jsonl"
FIRST = b'{"by": '
# What file managers leave in folders that are looked at: nobody's work.
JUNK = frozenset({".ds_store", "desktop.ini", "thumbs.db"})

# A place is known by its real path, and by device and inode, as it may have several names.
Key: TypeAlias = str | tuple[int, int]


class Sources:
    """What a command reads.

    ``parts`` are files and folders of which nothing is written, not even something new; into the ``listed``
    folders themselves nothing is put, but there may be new folders in them. Files that are in the ``trees``
    are not written over.
    """

    def __init__(
        self, parts: Collection[Path] = (), listed: Iterable[Path] = (), trees: Collection[Path] = ()
    ) -> None:
        self._places = *parts, *trees
        self._parts = {key for part in parts for key in keys_of(part)}
        self._listed = {key for folder in listed for key in keys_of(folder)}
        self._trees = {key for tree in trees for key in keys_of(tree)}
        self._above: dict[str, list[set[Key]]] = {}

    def check_place(self, folder: Path) -> None:
        """Raise if nothing may be put into a folder."""
        if self._listed & keys_of(folder):
            raise ValueError(f"{folder}: images are read from there; give another folder for results")
        if self._is_part(folder):
            raise ValueError(f"{folder}: is read by this command; give another place for results")

    def check(self, path: Path, root: Path) -> None:
        """Raise if this file is read; ``root`` is the folder that all is written to."""
        if path.parent != root:
            self.check_place(path.parent)
        inside = not self._below(root.parent, self._trees) and self._below(path, self._trees)
        if inside or self._is_part(path):
            raise ValueError(read_error(path))

    def check_links(self, path: Path, found: os.stat_result) -> None:
        """Raise if a file is a hard link of one that is read."""
        if found.st_nlink > 1 and (found.st_dev, found.st_ino) in self._inodes:
            raise ValueError(read_error(path))

    def _is_part(self, path: Path) -> bool:
        return self._below(path, self._parts)

    def _below(self, path: Path, among: set[Key]) -> bool:
        """Whether the path, or a folder that it is in, is among those."""
        if not among:
            return False
        if keys_of(path) & among:
            return True
        parent = os.path.dirname(os.path.realpath(path))
        if parent not in self._above:  # asked for the many files of a few folders
            self._above[parent] = [keys_of(one) for one in (Path(parent), *Path(parent).parents)]
        return any(keys & among for keys in self._above[parent])

    @cached_property
    def _inodes(self) -> set[tuple[int, int]]:
        files = (file for place in self._places for file in files_below(place))
        return {(found.st_dev, found.st_ino) for found in map(os.lstat, files)}


class Outputs:
    """The files that a command writes below a folder.

    Parameters
    ----------
    command : str
        Its files are its own: those of another command are not.
    root : path
        Folder that they are in, where the manifest is, too.
    names : names or None
        What in the folder is meant; None for all but hidden files.
    sources : Sources
        What the command reads.
    overwrite : bool
        Whether files of others may be replaced, too; never those that are read.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> outputs = Outputs("train", folder)
    >>> outputs.check(folder / "model.safetensors")
    >>> _ = (folder / "model.safetensors").write_bytes(b"mine")
    >>> outputs.check(folder / "model.safetensors")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...model.safetensors: is there already, and not of 'multiutility train'; move it away, ...
    """

    def __init__(
        self,
        command: str,
        root: str | Path,
        names: Iterable[str] | None = None,
        sources: Sources | None = None,
        overwrite: bool = False,
    ) -> None:
        self.command = command
        self.root = Path(root)
        self.names = None if names is None else frozenset(names)
        self.sources = sources or Sources()
        self.overwrite = overwrite
        self.swept: set[Path] = set()  # folders without leftovers, see ``files.replacing``
        self.sources.check_place(self.root)
        check_manifest(self.root / MANIFEST)
        # Commands by hashes of what they wrote, by names.
        self._made = read_manifest(self.root / MANIFEST)

    def covers(self, path: Path) -> bool:
        """Whether it is one of these files."""
        absolute, root = path.absolute(), self.root.absolute()
        if root not in absolute.parents:
            return False
        parts = absolute.relative_to(root).parts
        meant = self.names is None or parts[0] in self.names
        return meant and not any(part.startswith(".") for part in parts)

    def check(self, path: Path, overwrite: bool | None = None) -> None:
        """Raise unless the command may write this file: the one place where that is decided.

        It may if there is none, or if it is its own by the manifest, or if files are to be written over; a
        file that it reads it never may.
        """
        self.sources.check(path, self.root)
        try:
            found = path.lstat()
        except FileNotFoundError:
            return
        if stat.S_ISDIR(found.st_mode):
            raise ValueError(f"{path}: is a folder, where a file is to be written; move it away")
        regular = stat.S_ISREG(found.st_mode)
        if regular and self._is_own(path):
            return
        self.sources.check_links(path, found)
        if self.overwrite if overwrite is None else overwrite:
            return
        makers = self._made.get(self._name(path), {}) if regular else {}
        raise ValueError(
            f"{path}: {self._whose(makers, path)}; move it away, or give another place{OVERWRITE}"
        )

    def check_all(self, paths: Iterable[Path]) -> None:
        """Raise unless all of these may be written; of folders, all that is in them."""
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                self.check_all(file for file in files_below(path) if file.name.lower() not in JUNK)
            else:
                self.check(path)

    def check_replaced(self, paths: Iterable[Path], folder: Path, new: Path) -> None:
        """Raise unless all that is in ``paths`` of a folder may go for what is in ``new``.

        Files of others are written over only by others of their names, even if that is asked for.
        """
        for file in (file for path in paths for file in files_below(path)):
            if file.name.lower() not in JUNK:
                taken = os.path.lexists(new / file.relative_to(folder))
                self.check(file, overwrite=None if taken else False)

    def note(self, path: Path, content: Path) -> None:
        """Note that the file will be what is now in ``content``; before it is there, in case of a kill."""
        self.note_all([(path, content)], self.root)

    def note_all(self, files: Iterable[tuple[Path, Path]], folder: Path) -> None:
        """Note files and their contents in the manifest of a folder that is, or will be, the root."""
        known = self._made
        lines = []
        for path, content in files:
            name, digest = self._name(path), file_digest(content)
            if known.setdefault(name, {}).get(digest) != self.command:
                known[name][digest] = self.command
                lines.append(json.dumps({"by": self.command, "file": name, "sha256": digest}) + "\n")
        append(folder / MANIFEST, "".join(lines).encode())

    def _is_own(self, path: Path) -> bool:
        name, digest = self._name(path), file_digest(path)
        if self._made.get(name, {}).get(digest) != self.command:
            # Another process of the same command may have written it meanwhile.
            self._made = read_manifest(self.root / MANIFEST)
        return self._made.get(name, {}).get(digest) == self.command

    def _name(self, path: Path) -> str:
        return path.absolute().relative_to(self.root.absolute()).as_posix()

    def _whose(self, makers: dict[str, str], path: Path) -> str:
        own = f"'multiutility {self.command}'"
        by = makers.get(file_digest(path)) if makers else None
        if by is not None:
            return f"is there already, written by 'multiutility {by}' and not by {own}"
        if self.command in makers.values():
            return f"has been changed since {own} wrote it"
        return f"is there already, and not of {own}"


OVERWRITE = ", or add --overwrite to lose it"

_CURRENT: ContextVar[Outputs | None] = ContextVar("outputs", default=None)


@contextmanager
def writing(outputs: Outputs) -> Iterator[Outputs]:
    """Let these outputs decide about all files of theirs that are written in the block."""
    token = _CURRENT.set(outputs)
    try:
        yield outputs
    finally:
        _CURRENT.reset(token)


def outputs_for(path: Path) -> Outputs | None:
    """Return what decides about a file, or all below a folder; None outside of commands."""
    outputs = _CURRENT.get()
    covered = outputs is not None and (outputs.covers(path) or path.absolute() == outputs.root.absolute())
    return outputs if covered else None


def read_error(path: Path) -> str:
    """Return what is said of outputs that are inputs."""
    return f"{path}: is read by this command, which never writes over it; give another place for results"


def keys_of(path: str | Path) -> set[Key]:
    """All that a place is known by; what is not there, by its real path only."""
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except OSError:
        return {real}
    return {real, (found.st_dev, found.st_ino)}


def files_below(path: Path) -> Iterator[Path]:
    """All files of a folder, and links, which are not followed; a file itself."""
    if not path.is_dir() or path.is_symlink():
        if os.path.lexists(path):
            yield path
        return
    for folder, folders, names in os.walk(path):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (Path(folder) / name for name in sorted([*names, *links]))


def file_digest(path: Path) -> str:
    """Hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_manifest(path: Path) -> None:
    """Raise if what is in the place of a manifest is something else, to which no lines may be added."""
    if not os.path.lexists(path):
        return
    begin = b""
    if path.is_file() and not path.is_symlink():
        with path.open("rb") as file:
            begin = file.read(len(FIRST))
        # The first line may have been cut off.
        if FIRST.startswith(begin):
            return
    raise ValueError(f"{path}: is no list of files that commands have written; move it away")


def read_manifest(path: Path) -> dict[str, dict[str, str]]:
    """Commands by hashes by names; lines that are damaged tell nothing, and their files are not ours then."""
    made: dict[str, dict[str, str]] = {}
    if not path.is_file():
        return made
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        fields = entry if isinstance(entry, dict) else {}
        name, digest, command = (fields.get(key) for key in ("file", "sha256", "by"))
        if isinstance(name, str) and isinstance(digest, str) and isinstance(command, str):
            made.setdefault(name, {})[digest] = command
    return made


def append(path: Path, lines: bytes) -> None:
    """Add lines to a file, at once, so that several processes may; never through a link."""
    if not lines:
        return
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags, 0o666), "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            # The last line may have been cut off by a kill: what follows must not be joined to it.
            cut = size > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
            file.write(b"\n" * cut + lines)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
