"""Tags: the names of all that is in an image."""

from __future__ import annotations

from collections.abc import Sequence

from multiutility.annotations.tagged import Tagged
from multiutility.kinds.drawing import Sketch
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import Kind, Page, Seconds, Table, Words
from multiutility.kinds.objects import Content
from multiutility.kinds.problems import Problem


def make_tag(label: int, _numbers: Sequence[float], _wrong: list[Problem]) -> int:
    """A tag is its label."""
    return label


def tag_values(_label: int) -> tuple[float, ...]:
    """A tag has nothing but its label."""
    return ()


def resize_tag(label: int, _down: float, _across: float) -> int:
    """A tag is the same at any size."""
    return label


def name(content: Content) -> tuple[int, ...]:
    """A tag for each label that is to be named."""
    return content.named


def draw_tags(sketch: Sketch, labels: tuple[int, ...]) -> None:
    """Tags have no place: they are listed."""
    sketch.listed += labels


def tags_term(labels: tuple[int, ...], grid: Grid) -> Tagged:
    """Tags are the same of superpixels."""
    return Tagged(labels, grid.strict)


TAGS = Kind(
    "tags",
    Words("tag", "tags", "Tags", "Only the names of what is in the picture.", "tagged"),
    Page("tags", "With tags", "with tags", "with tags"),
    Seconds(each=2.0, image=20.0),  # Bearman, Russakovsky, Ferrari and Fei-Fei (2016)
    level=0,
    mended=0.0,
    draw=draw_tags,
    weaken=name,
    says=Tagged.says,
    term=tags_term,
    table=Table("tags.csv", (), make_tag, tag_values, int, resize_tag, unique=True),
)
