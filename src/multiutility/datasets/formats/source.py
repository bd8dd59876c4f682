"""Files of other programs, read with care: they may come from anywhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NoReturn, TypeGuard
from xml.etree import ElementTree
from xml.parsers import expat

from numpy.typing import NDArray

from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import FORMATS
from multiutility.datasets.limits import class_name_problem, file_name_problem
from multiutility.datasets.tables import read_bytes, read_lines
from multiutility.kinds.problems import Problem, shown, size_problem

# The largest published COCO file, instances_train2017.json, has 450 MB.
MAX_JSON_BYTES = 1 << 30
MAX_XML_BYTES = 1 << 24
# An empty list is three bytes of a file, and sixty of memory; that file has half as many.
MAX_JSON_VALUES = 100_000_000
FEWER = "export fewer images at a time"


def need_folder(source: str | Path, format_: str) -> Enclosed:
    """Return a folder that exists."""
    folder = Path(source)
    if not folder.is_dir():
        raise DatasetError(
            folder, None, "there is no such folder", f"give the folder with the {format_} files"
        )
    return Enclosed(folder)


def image_files(source: Enclosed, folder: Path, *, deep: bool = False) -> list[Path]:
    """Images of a folder in the source, sorted; with ``deep``, of all in it."""
    return source.files(folder, tuple(FORMATS), deep=deep)


def by_stem(files: Iterable[Path]) -> dict[str, Path]:
    """Files by their names without extension, which must differ."""
    found: dict[str, Path] = {}
    for path in files:
        check_stem(path, path.stem)
        if path.stem in found:
            what = f"has the same name as {found[path.stem]}"
            raise DatasetError(path, None, what, "rename or remove one of them")
        found[path.stem] = path
    return found


def check_stem(path: Path, name: str) -> None:
    """Raise unless the image of a file can have this name."""
    problem = file_name_problem(name)
    if problem:
        raise DatasetError(path, None, problem[0], f"rename the file: {problem[1]}")


def read_splits(files: Iterable[Path], images: Mapping[str, Path]) -> dict[str, list[str]]:
    """Images of lists, by the name of the list; lines may have folders, of any system, and extensions."""
    splits = {}
    for file in files:
        names = []
        for row, line in read_lines(file):
            last = PureWindowsPath(line).name
            name = last if last in images else PurePosixPath(last).stem
            if name not in images:
                what = f"there is no image {shown(line)}"
                raise DatasetError(file, row, what, "add it, or remove the line")
            names.append(name)
        splits[file.stem] = list(dict.fromkeys(names))
    return splits


def unique_names(paths: Sequence[Path]) -> list[str]:
    """Names for images: their stems; where these are alike, with as many folders and endings as it takes.

    >>> unique_names([Path("x/1.jpg"), Path("x/2.jpg"), Path("y/1.jpg"), Path("y/1.png")])
    ['x-1.jpg', '2', 'y-1.jpg', 'y-1.png']
    """
    names = [path.stem for path in paths]
    alike = _repeated(names)
    if alike:
        lengthen(names, paths, alike)
    for path, name in zip(paths, names, strict=True):
        check_stem(path, name)
    return names


def lengthen(names: list[str], paths: Sequence[Path], alike: set[str]) -> None:
    """Give names that are alike the folders that differ, and their endings."""
    depth = max(len(path.parts) for path in paths)
    shared = 0
    while shared < depth - 1 and len({path.parts[: shared + 1] for path in paths}) == 1:
        shared += 1
    for k, path in enumerate(paths):
        if names[k] in alike:
            names[k] = "-".join(path.parts[shared:]).strip("-") or path.name
    twice = _repeated(names)
    if twice:
        path = next(path for path, name in zip(paths, names, strict=True) if name in twice)
        raise DatasetError(path, None, "another image gets the same name", "rename one of them")


def _repeated(names: Sequence[str]) -> set[str]:
    # File names of some systems ignore case, and so must the dataset's.
    count = Counter(name.lower() for name in names)
    return {name for name in names if count[name.lower()] > 1}


def need_size(path: Path, indices: NDArray[Any], size: tuple[int, int]) -> None:
    """Raise unless a picture of labels has the height and width of its image."""
    problem = size_problem(indices, *size)
    if problem:
        raise DatasetError(path, None, *problem)


def read_json(path: Path, limit: int = MAX_JSON_BYTES) -> Any:
    """Read a JSON file; numbers that JSON does not have, NaN and infinities, are refused."""
    data = read_bytes(path, limit, FEWER)
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_JSON_VALUES:
        what = f"has more than {MAX_JSON_VALUES // 1_000_000} million values"
        raise DatasetError(path, None, what, FEWER)
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise DatasetError(path, None, "is nested too deeply", "export it anew") from None
    except ValueError as error:  # of JSON, of the encoding, and of numbers with too many digits
        raise DatasetError(path, None, f"is not JSON: {error}", "export it anew, as UTF-8") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def read_xml(path: Path) -> ElementTree.Element:
    """Read an XML file; one with a document type is refused, since that is where entities expand."""
    data = read_bytes(path, MAX_XML_BYTES, FEWER)
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise DatasetError(path, None, f"is not plain XML: {error}", "export it anew") from None


def _refuse_doctype(*_declaration: object) -> NoReturn:
    raise ValueError("it has a document type (<!DOCTYPE ...>)")


@dataclass(frozen=True)
class JsonObject:
    """A JSON object of a file: what it lacks, or has in another form, is an error that names it.

    >>> record = JsonObject(Path("a.json"), "images[3]", {"id": 7, "width": "wide"})
    >>> record.integer("id")
    7
    >>> record.integer("width")
    Traceback (most recent call last):
    ...
    multiutility.datasets.errors.DatasetError: a.json: images[3]: "width" is 'wide'; expected a whole number
    """

    file: Path
    where: str
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, value: object, file: Path, where: str) -> JsonObject:
        """Record of a value that must be an object."""
        if not isinstance(value, dict):
            what = f"is {shown(value)}, not a JSON object"
            raise DatasetError(file, None, f"{where}: {what}" if where else what, "export it anew")
        return cls(file, where, value)

    def error(self, what: str, fix: str) -> DatasetError:
        """Error of this record, to be raised."""
        return DatasetError(self.file, None, f"{self.where}: {what}" if self.where else what, fix)

    def check(self, problem: Problem | None) -> None:
        """Raise if there is a problem with this record."""
        if problem:
            raise self.error(*problem)

    def has(self, key: str) -> bool:
        """Whether there is a value, other than null."""
        return self.fields.get(key) is not None

    def text(self, key: str) -> str:
        """Return text."""
        value = self.fields.get(key)
        return value if isinstance(value, str) else self._refuse(key, "text")

    def class_name(self, key: str) -> str:
        """Return the name of a class."""
        return self.checked_class(self.text(key))

    def class_names(self, key: str) -> list[str]:
        """Return a list of names of classes."""
        return [self.checked_class(name) for name in self.texts(key)]

    def checked_class(self, text: str) -> str:
        """Return the name of a class without spaces around it; raises an error if no class can have it."""
        name = text.strip()
        self.check(class_name_problem(name))
        return name

    def integer(self, key: str) -> int:
        """Return a whole number; 3.0 counts as one."""
        value = self.fields.get(key)
        return (
            int(value) if _is_number(value) and value == int(value) else self._refuse(key, "a whole number")
        )

    def number(self, key: str) -> float:
        """Return a number."""
        value = self.fields.get(key)
        return float(value) if _is_number(value) else self._refuse(key, "a number")

    def numbers(self, key: str, count: int | None = None) -> list[float]:
        """Return a list of numbers, ``count`` of them if given."""
        values = self.fields.get(key)
        if not isinstance(values, list) or not all(map(_is_number, values)):
            self._refuse(key, "a list of numbers")
        if count is not None and len(values) != count:
            self._refuse(key, f"{count} numbers")
        return [float(value) for value in values]

    def points(self, key: str) -> list[tuple[float, float]]:
        """Return a list of pairs of numbers."""
        values = self.fields.get(key)
        if not isinstance(values, list):
            self._refuse(key, "a list of points [x, y]")
        for value in values:
            if not isinstance(value, list) or len(value) != 2 or not all(map(_is_number, value)):
                self._refuse(key, "a list of points [x, y]")
        return [(float(x), float(y)) for x, y in values]

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        values = self.fields.get(key)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            self._refuse(key, "a list of texts")
        return list(values)

    def record(self, key: str) -> JsonObject:
        """Return an object in this one."""
        return JsonObject.of(self.fields.get(key), self.file, f'{self.where}, "{key}"')

    def records(self, key: str) -> Iterator[JsonObject]:
        """Objects of a list; none if it is missing."""
        values = self.fields.get(key, [])
        if not isinstance(values, list):
            self._refuse(key, "a list")
        prefix = f"{self.where}, " if self.where else ""
        return (JsonObject.of(value, self.file, f"{prefix}{key}[{k}]") for k, value in enumerate(values))

    def _refuse(self, key: str, wanted: str) -> NoReturn:
        state = f"is {shown(self.fields[key])}" if key in self.fields else "is missing"
        raise self.error(f'"{key}" {state}', f"expected {wanted}")


def _is_number(value: object) -> TypeGuard[float]:
    # The bound refuses infinities, which JSON writes as 1e999, and numbers that floats do not hold.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e15
