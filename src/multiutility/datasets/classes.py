"""Classes of a dataset: the labels, with names and colors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.limits import MAX_CLASSES, class_name_problem
from multiutility.datasets.palette import Color, color_for, colors_for
from multiutility.kinds.problems import shown

Kind: TypeAlias = Literal["thing", "stuff", "either"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class LabelClass:
    """A class: ``kind`` says what is countable, ``rare`` leaves it out of mean recall.

    Things have boxes and seeds, stuff has tags; an ``either`` class is stuff next to things, else a thing.
    """

    name: str
    color: Color
    kind: Kind = "stuff"
    rare: bool = False

    def __post_init__(self) -> None:
        problem = class_name_problem(self.name)
        if problem:
            raise ValueError("; ".join(problem))
        if len(self.color) != 3 or not all(0 <= part <= 255 for part in self.color):
            raise ValueError(f"class {self.name!r} has color {self.color}: expected 3 numbers in 0..255")
        if self.kind not in KINDS:
            raise ValueError(
                f"class {self.name!r} has kind {self.kind!r}: expected one of {', '.join(KINDS)}"
            )


class Classes(Sequence[LabelClass]):
    """The classes of a dataset, at most 255; label k is the k-th of them, from 0.

    Masks hold 0 for void and label + 1, so that row k + 1 of the palette is the color of label k.

    >>> classes = Classes.from_names(["grass", "sky"])
    >>> classes.label("sky"), classes.names
    (1, ('grass', 'sky'))
    >>> classes.palette.tolist()
    [[0, 0, 0], [152, 205, 70], [86, 180, 233]]
    """

    def __init__(self, classes: Iterable[LabelClass]) -> None:
        self._classes = tuple(classes)
        self._labels = {one.name: label for label, one in enumerate(self._classes)}
        check_count(self._classes)
        if len(self._labels) < len(self._classes):
            twice = next(one.name for k, one in enumerate(self._classes) if self._labels[one.name] != k)
            raise ValueError(f"class {twice!r} is there twice: names of classes must differ")

    @classmethod
    def none(cls) -> Classes:
        """No classes yet, as of a folder of pictures that nobody has named anything in."""
        found = cls.__new__(cls)
        found._classes, found._labels = (), {}
        return found

    @classmethod
    def from_names(cls, names: Iterable[str]) -> Classes:
        """Classes of kind ``stuff`` with these names, and colors that all people can tell apart."""
        given = list(names)
        check_count(given)
        return cls(LabelClass(*pair) for pair in zip(given, colors_for(given), strict=True))

    def label(self, name: str) -> int:
        """Label of a name; the error names those nearest to it."""
        try:
            return self._labels[name]
        except KeyError:
            raise KeyError(f"unknown label {shown(name)}: {suggest(name, self.names)}") from None

    def with_other(self) -> Classes:
        """Return the classes, and ``other``: what void pixels of some images count as."""
        if self.other is not None:
            raise ValueError("there is a class named 'other' already")
        return Classes((*self._classes, LabelClass("other", unused_color("other", self._classes))))

    @property
    def names(self) -> tuple[str, ...]:
        """Names, by label."""
        return tuple(self._labels)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds, by label."""
        return tuple(one.kind for one in self._classes)

    @property
    def rare(self) -> frozenset[int]:
        """Labels that mean recall leaves out."""
        return frozenset(label for label, one in enumerate(self._classes) if one.rare)

    @property
    def other(self) -> int | None:
        """Label of the class named ``other``, if there is one."""
        return self._labels.get("other")

    @property
    def palette(self) -> NDArray[np.uint8]:
        """Colors of mask values, [K + 1, 3]; void is black."""
        return np.array([(0, 0, 0), *(one.color for one in self._classes)], dtype=np.uint8)

    def __contains__(self, name: object) -> bool:
        return name in self._labels or name in self._classes

    def __iter__(self) -> Iterator[LabelClass]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    @overload
    def __getitem__(self, label: int) -> LabelClass: ...
    @overload
    def __getitem__(self, label: slice) -> tuple[LabelClass, ...]: ...
    def __getitem__(self, label: int | slice) -> LabelClass | tuple[LabelClass, ...]:
        return self._classes[label]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Classes) and self._classes == other._classes

    def __hash__(self) -> int:
        return hash(self._classes)

    def __repr__(self) -> str:
        return f"Classes({', '.join(self.names)})"


def check_count(classes: Sequence[object]) -> None:
    """Raise unless masks have room for so many classes."""
    if not 1 <= len(classes) <= MAX_CLASSES:
        raise ValueError(f"{len(classes)} classes: expected 1 to {MAX_CLASSES}")


def standard_color(k: int) -> Color:
    """Color of mask value k as in Pascal VOC: the bits of k, spread over red, green and blue.

    >>> standard_color(0), standard_color(1), standard_color(7)
    ((0, 0, 0), (128, 0, 0), (128, 128, 128))
    """
    red, green, blue = (sum((k >> 3 * bit + part & 1) << 7 - bit for bit in range(3)) for part in range(3))
    return red, green, blue


def unused_color(name: str, classes: Iterable[LabelClass]) -> Color:
    """Return a color for a class of this name that no other class has."""
    return color_for(name, (one.color for one in classes))


def color_text(color: Color) -> str:
    """Color as tables have it.

    >>> color_text((255, 128, 0))
    '#ff8000'
    """
    red, green, blue = color
    return f"#{red:02x}{green:02x}{blue:02x}"


def parse_color(text: str) -> Color:
    """Color from a table.

    >>> parse_color("#ff8000")
    (255, 128, 0)
    """
    if not re.fullmatch("#[0-9a-fA-F]{6}", text):
        raise ValueError(f"bad color {shown(text)}")
    red, green, blue = bytes.fromhex(text[1:])
    return red, green, blue


def suggest(name: str, names: Sequence[str]) -> str:
    """Question that names what is nearest, or a list of what there is.

    >>> suggest("Gras", ["grass", "sky"])
    "did you mean 'grass'?"
    """
    # By lower case first: capital letters are the usual difference.
    lower = {other.lower(): other for other in names}
    near = [lower[close] for close in difflib.get_close_matches(name.lower(), lower, n=2)]
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    return f"expected one of {listed}" if names else "there are none"
