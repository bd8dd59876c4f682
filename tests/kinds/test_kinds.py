"""The list of kinds: what every kind promises to those who loop over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiutility.kinds import (
    BY_DETAIL,
    INACCURATE,
    INDEX_IMAGES,
    KINDS,
    TABLES,
    WEAKENED,
    PixelAnnotation,
    PixelArea,
    PixelBox,
    PixelSeed,
)

LABELS, WHOLE = st.integers(0, 5), st.integers(-3, 40)
SIDES = st.floats(-1e6, 1e6, allow_nan=False) | WHOLE
ENTRIES: dict[str, st.SearchStrategy[Any]] = {
    "tags": LABELS,
    "boxes": st.builds(
        lambda k, x, y, tight: PixelBox(k, x, y, x + 7, y + 9.5, tight), LABELS, SIDES, SIDES, st.booleans()
    ),
    "seeds": st.builds(PixelSeed, LABELS, WHOLE, WHOLE),
    "areas": st.builds(PixelArea, LABELS, st.floats(0, 1), st.floats(0, 1)),
}
MARKS = {
    "tags": (2, 0),
    "boxes": (PixelBox(1, 0, 0, 3, 2),),
    "seeds": (PixelSeed(4, 1, 1),),
    "areas": (PixelArea(3, 0.5),),
}


def test_kinds_are_the_fields_of_an_annotation_in_their_order() -> None:
    names = [kind.name for kind in KINDS]
    assert names == [one.name for one in fields(PixelAnnotation) if one.name != "instances"]
    assert names == ["mask", "tags", "boxes", "seeds", "scribbles", "areas"]
    assert [kind.name for kind in BY_DETAIL] == ["mask", "boxes", "scribbles", "seeds", "areas", "tags"]


def test_a_kind_has_either_a_table_or_index_images_of_its_own() -> None:
    assert {*TABLES, *INDEX_IMAGES} == {kind.name for kind in KINDS}
    assert not set(TABLES) & set(INDEX_IMAGES)
    places = [one.file for one in TABLES.values()] + [one.folder for one in INDEX_IMAGES.values()]
    assert len(set(places)) == len(KINDS)


def test_all_but_masks_are_made_of_masks_by_options_of_their_own() -> None:
    assert [kind.name for kind in KINDS if not kind.weaken] == ["mask"]
    # The usual way, which rehearsals take, has the name of the kind.
    assert all(kind.weaken[0].name == kind.name for kind in KINDS if kind.weaken)
    assert sum(len(kind.weaken) for kind in KINDS) == len(WEAKENED)
    assert not set(WEAKENED) & set(INACCURATE)


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
def test_a_row_reads_as_the_entry_that_it_was_made_of(name: str, data: st.DataObject) -> None:
    table, entry, wrong = TABLES[name], data.draw(ENTRIES[name]), list[tuple[str, str]]()
    texts = table.fields(entry)
    assert len(texts) == len(table.columns) + len(table.optional)
    assert len(table.header) == len(table.columns) + 2
    assert table.parse(table.label(entry), texts, wrong) == entry
    assert wrong == []


@pytest.mark.parametrize(("name", "value"), MARKS.items())
def test_labels_and_emptiness(name: str, value: Sequence[Any]) -> None:
    fields: dict[str, Any] = {name: value}
    annotation = PixelAnnotation(**fields)
    assert not annotation.empty
    assert annotation.labels == {getattr(one, "label", one) for one in value}
    assert [kind.name for kind in KINDS if kind.there(annotation.value(kind))] == [name]


def test_nothing_is_empty_and_a_void_mask_is_not() -> None:
    assert PixelAnnotation().empty
    assert PixelAnnotation(boxes=()).empty
    void = PixelAnnotation(mask=np.zeros((2, 3), dtype=np.uint8))
    assert not void.empty
    assert void.labels == frozenset()
