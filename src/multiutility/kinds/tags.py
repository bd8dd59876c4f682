"""Tags: the names of all that is in an image, or of some of it if they are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from multiutility.annotations.opentagged import OpenTagged
from multiutility.annotations.tagged import Tagged
from multiutility.annotations.term import Says, Term
from multiutility.kinds.drawing import Sketch
from multiutility.kinds.grid import Grid
from multiutility.kinds.kind import FromMask, Inaccuracy, Kind, Page, Seconds, Table, Words
from multiutility.kinds.objects import Content
from multiutility.kinds.problems import Problem

# What a blank field of the column ``present`` reads as; nobody can write it, as numbers are finite.
BLANK = float("inf")


@dataclass(frozen=True, slots=True, order=True)
class OpenTag:
    """A label that is there, or is not: the tags of the image are open, and others may be there, too.

    >>> tags = OpenTag(0), OpenTag(3, present=False)
    >>> [tag.label for tag in tags if tag.present]
    [0]
    """

    label: int
    present: bool = True


# An image has tags of one sort: labels, which are then all that are there; or open tags.
Tag: TypeAlias = int | OpenTag


def is_open(tags: Sequence[Tag]) -> bool:
    """Whether labels may be there that are not named."""
    return any(isinstance(tag, OpenTag) for tag in tags)


def label_of(tag: Tag) -> int:
    """Label of a tag."""
    return tag.label if isinstance(tag, OpenTag) else tag


def is_there(tag: Tag) -> bool:
    """Whether a tag says that its label is there."""
    return tag.present if isinstance(tag, OpenTag) else True


def make_tag(label: int, numbers: Sequence[float], wrong: list[Problem]) -> Tag:
    """Tag of a label, open if there is a 1 or 0 for whether it is present."""
    (present,) = numbers or (BLANK,)
    if present == BLANK:
        return label
    if present not in (0, 1):
        fix = "write 1 if the label is there, 0 if it is not, or leave all fields of the image blank"
        wrong.append((f"present is {present:g}: neither 1 nor 0", fix))
    return OpenTag(label, bool(present))


def tag_values(tag: Tag) -> tuple[float, ...]:
    """1 or 0 for whether an open tag is present."""
    return (float(tag.present) if isinstance(tag, OpenTag) else BLANK,)


def resize_tag(tag: Tag, _down: float, _across: float) -> Tag:
    """A tag is the same at any size."""
    return tag


def tags_clash(tags: Sequence[Tag]) -> tuple[int, Problem] | None:
    """Return which tag does not go with the others of its image, by its place, and why.

    >>> tags_clash([0, OpenTag(1)])[1][0]
    'present is blank for some tags of the image, and filled for others'
    """
    if len({isinstance(tag, OpenTag) for tag in tags}) > 1:
        fix = "fill in 1 or 0 for all of them, or leave all blank, which says that no other label is there"
        return len(tags) - 1, ("present is blank for some tags of the image, and filled for others", fix)
    if len({label_of(tag) for tag in tags}) < len(set(tags)):
        return len(tags) - 1, ("a label of the image is both 1 and 0 in present", "remove one of the rows")
    return None


def join_tags(tags: Sequence[Tag]) -> Sequence[Tag]:
    """Return the tag of a label that had several, under other names: one that is there says that it is.

    >>> join_tags([OpenTag(2, present=False), OpenTag(2)]), join_tags([1, 1])
    ([OpenTag(label=2, present=True)], [1])
    """
    return sorted(set(tags), key=is_there, reverse=True)[:1]


def open_tags(tags: Sequence[Tag], labels: Sequence[int]) -> Sequence[Tag]:
    """Return open tags: of these labels, those that are not named are not there, and of others who knows.

    >>> open_tags([2], [0, 2])
    [OpenTag(label=2, present=True), OpenTag(label=0, present=False)]
    """
    if is_open(tags) or not tags:
        return tags
    named = [label_of(tag) for tag in tags]
    absent = [label for label in labels if label not in named]
    return [*map(OpenTag, named), *(OpenTag(label, present=False) for label in absent)]


def sort_tags(tags: Sequence[Tag]) -> Mapping[Says, Sequence[int]]:
    """Return what tags say: complete ones name all that is there, open ones some of it."""
    return {"open" if is_open(tags) else "tagged": [label_of(tag) for tag in tags if is_there(tag)]}


def absent_labels(tags: Sequence[Tag]) -> list[int]:
    """Labels that open tags say are not there."""
    return [label_of(tag) for tag in tags if not is_there(tag)]


def name(content: Content) -> tuple[Tag, ...]:
    """A tag for each label that is to be named."""
    return content.named


def drop_tags(tags: Sequence[Tag], share: float, name: str, random_state: int = 0) -> tuple[OpenTag, ...]:
    """Open tags that are left if each is dropped with a probability, but for one that stays.

    What is dropped depends on the name of the image and the random state only.

    >>> drop_tags((0, 3, 4), 0.3, "cows")
    (OpenTag(label=0, present=True), OpenTag(label=4, present=True))
    """
    check_probability(share)
    chances = np.random.default_rng([random_state, *name.encode()]).random(len(tags))
    kept = chances >= min(share, chances.max(initial=0.0))
    return tuple(OpenTag(label_of(tag)) for tag, keep in zip(tags, kept.tolist(), strict=True) if keep)


def forget(
    tags: Sequence[Tag], share: float, _shape: Sequence[int], name: str, random_state: int
) -> tuple[OpenTag, ...]:
    """Open tags of an image, some of them dropped."""
    return drop_tags(tags, share, name, random_state)


def check_probability(share: float) -> None:
    """Raise unless tags can be dropped with this probability."""
    if not 0 <= share < 1:
        raise ValueError(f"tags are dropped with probability {share:g}: expected at least 0, and less than 1")


def draw_tags(sketch: Sketch, tags: Sequence[Tag]) -> None:
    """Tags have no place: they are listed, and those that are not there say so."""
    sketch.listed += tuple(label_of(tag) for tag in tags if is_there(tag))
    for tag in tags:
        if not is_there(tag):
            sketch.list_name(label_of(tag), "(not there)")


def tags_term(tags: Sequence[Tag], grid: Grid) -> Term:
    """Tags are the same of superpixels."""
    said = sort_tags(tags)
    if is_open(tags):
        return OpenTagged(said["open"], absent_labels(tags), grid.strict)
    return Tagged(said["tagged"], grid.strict)


TAGS = Kind(
    "tags",
    Words("tag", "tags", "Tags", "Only the names of what is in the picture.", "tagged"),
    Page("tags", "With tags", "with tags", "with tags"),
    Seconds(each=2.0, image=20.0),  # Bearman, Russakovsky, Ferrari and Fei-Fei (2016)
    level=0,
    mended=0.0,
    draw=draw_tags,
    weaken=(FromMask("tags", name, "Make tags."),),
    inaccuracy=Inaccuracy(
        "drop_tags",
        "PROBABILITY",
        0.99,
        "Leave out each tag but one with this probability, such as 0.3, and make tags open.",
        check_probability,
        forget,
        makes=False,  # it is for those that are made anyway
    ),
    says=Tagged.says,
    sorts=sort_tags,
    absent=absent_labels,
    term=tags_term,
    table=Table(
        "tags.csv",
        (),
        make_tag,
        tag_values,
        label_of,
        resize_tag,
        unique=True,
        there=is_there,
        clash=tags_clash,
        optional={"present": BLANK},
        joined=join_tags,
        opened=open_tags,
    ),
)
