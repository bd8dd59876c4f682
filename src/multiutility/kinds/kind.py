"""What every kind of annotation has, in pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations import Annotation
from multiutility.annotations.term import Mark, Says, Term
from multiutility.arrays import BoolArray, IndexArray
from multiutility.kinds.drawing import Sketch
from multiutility.kinds.grid import Grid
from multiutility.kinds.objects import Content, labels_of
from multiutility.kinds.problems import Problem, number

T = TypeVar("T")
# Pixels: bool [H, W], or rows and columns.
Places: TypeAlias = BoolArray | tuple[slice, slice]


def affirmed(_entry: Any) -> bool:
    """Says that its label is there."""
    return True


def no_flaw(_entry: Any) -> Problem | None:
    """Can be in some image."""
    return None


def no_strength(_value: Any, _grid: Grid, _m: int, _mark: Mark) -> tuple[float, ...]:
    """As sure as any other."""
    return ()


def no_places(_value: Any, _regions: IndexArray) -> Iterable[tuple[Places, int]]:
    """Nowhere in particular."""
    return ()


def one_image(_indices: NDArray[np.uint8]) -> int:
    """All of an image is one."""
    return 1


def no_labels(_value: Any) -> Sequence[int]:
    """None."""
    return ()


def not_all(_value: Any) -> bool:
    """Others may be there."""
    return False


def no_clash(_entries: Sequence[Any]) -> tuple[int, Problem] | None:
    """Fit together."""
    return None


def as_they_are(entries: Sequence[T]) -> Sequence[T]:
    """Stand side by side."""
    return entries


def silent(entries: Sequence[T], _labels: Sequence[int]) -> Sequence[T]:
    """Say nothing of labels that they do not name, anyway."""
    return entries


def no_problem(_entry: Any, _height: int, _width: int) -> Problem | None:
    """Fits any image."""
    return None


def nearest(pixels: NDArray[np.uint8], size: Sequence[int]) -> NDArray[np.uint8]:
    """Return the values [H, W] at another size, each from the pixel at its center.

    >>> nearest(np.array([[1, 2, 3, 4]], dtype=np.uint8), (1, 2))
    array([[2, 4]], dtype=uint8)
    """
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(np.intp)
        for old, new in zip(pixels.shape, size, strict=True)
    )
    return np.asarray(pixels[rows[:, np.newaxis], columns], dtype=np.uint8)


@dataclass(frozen=True)
class Table(Generic[T]):
    """A CSV file with one entry a row: image, label, and a number in each of the ``columns``.

    ``make`` is the entry of a label and numbers, and adds what is wrong with these to a list. ``values`` are
    the numbers of an entry, ``label`` its label, and ``resize`` gives it in an image that is scaled by
    factors, down and across. Of entries that have a place, ``flaw`` tells why one fits no image, ``problem``
    why it does not fit an image [H, W], and ``doubt`` what is likely to be a mistake, though it can be used.
    Of ``unique`` entries, those that come again are left out. An entry says that its label is ``there``, or
    that it is not. ``optional`` columns come after the others, with the number that a blank field stands for:
    where no entry has another one, the column may be missing. ``read`` is the number of a field, by its text
    and column; it adds what is wrong to a list. ``clash`` tells which of all entries of an image does not go
    with the others, by its place, and why. If they are ``single``, an image has one of a label at most.
    Entries of an image that get one label, as two labels turn out to be one, are ``joined``. Entries that say
    something of labels that they do not name are ``opened`` if there is a label that nobody thought of: what
    these say of it must not be that it is not there, but of other ``labels`` the same is said as before.
    """

    file: str
    columns: tuple[str, ...]
    make: Callable[[int, Sequence[float], list[Problem]], T]
    values: Callable[[T], tuple[float, ...]]
    label: Callable[[T], int]
    resize: Callable[[T, float, float], T]
    flaw: Callable[[T], Problem | None] = no_flaw
    problem: Callable[[T, int, int], Problem | None] = no_problem
    doubt: Callable[[T, int, int], Problem | None] = no_problem
    unique: bool = False
    there: Callable[[T], bool] = affirmed
    optional: Mapping[str, float] = field(default_factory=dict)
    read: Callable[[str, str, list[Problem]], float] = number
    clash: Callable[[Sequence[T]], tuple[int, Problem] | None] = no_clash
    single: bool = False
    joined: Callable[[Sequence[T]], Sequence[T]] = as_they_are
    opened: Callable[[Sequence[T], Sequence[int]], Sequence[T]] = silent

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns that must be there."""
        return ("image", "label", *self.columns)

    def written(self, entries: Iterable[T]) -> tuple[str, ...]:
        """Return the optional columns that some entry needs."""
        needed = {name for entry in entries for name, text in self._options(entry).items() if text}
        return tuple(name for name in self.optional if name in needed)

    def parse(self, label: int, texts: Sequence[str], wrong: list[Problem]) -> T:
        """Return the entry of a row, and add what is wrong with it to a list."""
        n_wrong = len(wrong)
        names = (*self.columns, *self.optional)
        numbers = [
            self.read(text, name, wrong) if text or name in self.columns else self.optional[name]
            for text, name in zip(texts, names, strict=True)
        ]
        entry = self.make(label, numbers, wrong)
        flaw = self.flaw(entry) if len(wrong) == n_wrong else None
        wrong += [flaw] if flaw else []
        return entry

    def fields(self, entry: T, optional: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the fields of a row after image and label, with these of the optional ones, or all.

        ``parse`` is the inverse; optional fields are blank where that says the same.
        """
        needed = map(number_text, self.values(entry)[: len(self.columns)])
        options = self._options(entry)
        return (*needed, *(options[name] for name in (options if optional is None else optional)))

    def says_all(self, entries: Sequence[T]) -> bool:
        """Whether entries of an image say that a label is absent only because they do not name it."""
        return list(self.opened(entries, ())) != list(entries)

    def relabeled(self, entry: T, label: int) -> T:
        """Return an entry that says the same of another label."""
        return self.make(label, [float(value) for value in self.values(entry)], [])

    def _options(self, entry: T) -> dict[str, str]:
        numbers = self.values(entry)[len(self.columns) :]
        pairs = zip(self.optional.items(), numbers, strict=True)
        return {name: "" if value == blank else number_text(value) for (name, blank), value in pairs}

    def value(self, entries: Sequence[T]) -> tuple[T, ...]:
        """Return the entries of an image as its annotation has them."""
        return tuple(dict.fromkeys(entries)) if self.unique else tuple(entries)


def number_text(value: float) -> str:
    """Shortest text that reads as the same number.

    >>> number_text(12.0), number_text(0.1)
    ('12', '0.1')
    """
    return str(int(value)) if float(value).is_integer() else repr(float(value))


@dataclass(frozen=True)
class IndexImages:
    """A folder of index images, one for each image [H, W]: 0 says nothing.

    ``problem`` tells what is wrong with the indices, given the number of classes; ``count`` how many
    annotations an image is; ``resize`` gives it at another size [H, W].
    """

    folder: str
    problem: Callable[[NDArray[Any], int], Problem | None]
    count: Callable[[NDArray[np.uint8]], int] = one_image
    resize: Callable[[NDArray[np.uint8], Sequence[int]], NDArray[np.uint8]] = nearest


@dataclass(frozen=True)
class Words:
    """What people call a kind.

    ``one`` is an annotation of it, ``plural`` are several, ``title`` heads a list of images that have it, and
    ``about`` is what these show; so many of them are ``such`` images.
    """

    one: str
    plural: str
    title: str
    about: str
    such: str


@dataclass(frozen=True)
class Page:
    """What the studio's page says of images that have a kind.

    There is a ``badge`` on each, ``choose`` shows no others, and when they are counted, one image is ``one``,
    as in "1 mask", and several are ``many``.
    """

    badge: str
    choose: str
    one: str
    many: str


@dataclass(frozen=True)
class Seconds:
    """How long it takes a person.

    ``each`` is for one annotation, the mask of a whole image or one tag, box or point, as suggestions and
    budgets count. Published figures are apart: ``image`` for naming what is there, or for a mask, and
    ``mark`` for each box or point on top.
    """

    each: float
    image: float
    mark: float = 0.0


@dataclass(frozen=True)
class FromMask:
    """A way to make annotations of a mask, which ``weaken`` has an option for: its ``name``, and ``help``.

    ``make`` gives the value of what the mask shows. If it marks segments ``everywhere``, be they things or
    not, all that is there is named, too. If it comes with ``tags``, these are made whenever it is asked for.
    """

    name: str
    make: Callable[[Content], Any]
    help: str
    everywhere: bool = False
    tags: bool = False


@dataclass(frozen=True)
class Inaccuracy:
    """How far annotations that are made of masks are off, which ``weaken`` has an option for.

    The option has a ``name``, a number from 0 to ``most`` in a ``unit``, and ``help``; ``check`` raises for
    other numbers. ``apply`` gives the value of an image that is off by such a number, given the image's shape
    [H, W], its name, and a random state. Who asks for it asks for the annotations, too, if it ``makes`` them.
    """

    name: str
    unit: str
    most: float
    help: str
    check: Callable[[float], None]
    apply: Callable[[Any, float, Sequence[int], str, int], Any]
    makes: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of annotation: its name, which is the field of ``PixelAnnotation``, and where it is kept.

    It has a table, with a tuple of entries for each image, or index images, with an array or None. ``level``
    says how much it tells of where things are: 0 nothing, 1 something, 2 all. ``mended`` is the part of a
    model's expected error, in what an annotation speaks of, that it takes away. ``draw`` shows a value on its
    image. ``fill`` is what one would paint who knows no better: places in superpixels [H, W], with a label.
    ``weaken`` are ways to make the value of an image whose mask is known, the usual one first; masks have
    none. What is made can be off by an ``inaccuracy``.

    ``term`` is what a value says of superpixels, which stands beside what other kinds say; labels that are
    named are then what it ``says``, unless ``sorts`` tells of a value what it says of which labels; others
    are ``absent`` by its value, and a value may be ``complete``, so that no others are there. A term may have
    marks, of superpixels that have a label for certain: where those of several labels are in one, that of the
    greatest ``strength`` is right (given the value, the grid, the index of the mark, and the mark). A kind
    that has no term has a ``whole`` annotation, which nothing stands beside; it is None where a value says
    nothing.
    """

    name: str
    words: Words
    page: Page
    seconds: Seconds
    level: int
    mended: float
    draw: Callable[[Sketch, Any], None]
    fill: Callable[[Any, IndexArray], Iterable[tuple[Places, int]]] = no_places
    weaken: tuple[FromMask, ...] = ()
    inaccuracy: Inaccuracy | None = None
    says: Says | None = None
    sorts: Callable[[Any], Mapping[Says, Sequence[int]]] | None = None
    absent: Callable[[Any], Sequence[int]] = no_labels
    complete: Callable[[Any], bool] = not_all
    term: Callable[[Any, Grid], Term] | None = None
    strength: Callable[[Any, Grid, int, Mark], tuple[float, ...]] = no_strength
    whole: Callable[[Any, Grid], Annotation | None] | None = None
    table: Table[Any] | None = None
    images: IndexImages | None = None

    @property
    def placed(self) -> bool:
        """Whether it says where something is."""
        return self.level > 0

    def there(self, value: Any) -> bool:
        """Whether a value of this kind says anything."""
        return value is not None if self.table is None else bool(value)

    def labels(self, value: Any) -> tuple[int, ...]:
        """Return the labels that a value says are there: by each entry of a table, or in an index image."""
        if self.table is None:
            return () if value is None else labels_of(value)
        return tuple(self.table.label(entry) for entry in value if self.table.there(entry))

    def said(self, value: Any) -> Mapping[Says, Sequence[int]]:
        """Return what a value says of which labels."""
        if self.sorts is not None:
            return self.sorts(value)
        return {} if self.says is None else {self.says: self.labels(value)}

    def count(self, value: Any) -> int:
        """Return how many annotations a value is: entries of a table, or objects of an index image."""
        if self.table is None:
            return 0 if self.images is None or value is None else self.images.count(value)
        return len(value)

    def resized(self, value: Any, size: Sequence[int], new_size: Sequence[int]) -> Any:
        """Return a value of an image [H, W] for the same image at another size."""
        if self.table is None:
            return None if self.images is None or value is None else self.images.resize(value, new_size)
        down, across = new_size[0] / size[0], new_size[1] / size[1]
        return tuple(self.table.resize(entry, down, across) for entry in value)
