"""Classes: labels, colors, palettes."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from multiutility.datasets import Classes, LabelClass
from multiutility.datasets.classes import Kind, color_text, parse_color, standard_color, suggest


@pytest.fixture
def classes() -> Classes:
    return Classes(
        [
            LabelClass("grass", (0, 128, 0)),
            LabelClass("cow", (0, 0, 128), "thing"),
            LabelClass("horse", (128, 0, 128), "thing", rare=True),
            LabelClass("tree", (128, 128, 0), "either"),
        ]
    )


def test_labels_follow_the_rows(classes: Classes) -> None:
    assert [classes.label(name) for name in classes.names] == [0, 1, 2, 3]
    assert classes.names == ("grass", "cow", "horse", "tree")
    assert classes.kinds == ("stuff", "thing", "thing", "either")
    assert classes.rare == {2}
    assert classes[1].name == "cow"
    assert [one.name for one in classes[2:]] == ["horse", "tree"]
    known: list[object] = [one for one in ("cow", classes[1], "sheep", None) if one in classes]
    assert known == ["cow", classes[1]]


def test_palette_has_void_first(classes: Classes) -> None:
    expected = [[0, 0, 0], [0, 128, 0], [0, 0, 128], [128, 0, 128], [128, 128, 0]]
    assert classes.palette.tolist() == expected
    assert classes.palette.dtype == np.uint8


def test_unknown_label_names_the_nearest(classes: Classes) -> None:
    with pytest.raises(KeyError, match="unknown label 'Gras': did you mean 'grass'"):
        classes.label("Gras")


def test_other_is_appended_once(classes: Classes) -> None:
    assert classes.other is None
    more = classes.with_other()
    assert more.names == (*classes.names, "other")
    assert more.other == 4
    assert more.kinds[4] == "stuff"
    assert more[4].color not in [one.color for one in classes]
    with pytest.raises(ValueError, match="already"):
        more.with_other()


def test_classes_are_equal_by_value(classes: Classes) -> None:
    same = Classes(tuple(classes))
    assert same == classes
    assert hash(same) == hash(classes)
    assert classes.with_other() != classes


def test_standard_colors_are_those_of_pascal_voc_and_differ() -> None:
    # From the development kit of VOC 2012: aeroplane, bicycle, sofa (18), tvmonitor (20), and the border.
    known = {1: (128, 0, 0), 2: (0, 128, 0), 18: (0, 192, 0), 20: (0, 64, 128), 255: (224, 224, 192)}
    assert {k: standard_color(k) for k in known} == known
    assert len({standard_color(k) for k in range(256)}) == 256


def test_as_many_classes_as_masks_have_room_for() -> None:
    assert len(Classes.from_names(map(str, range(255)))) == 255
    with pytest.raises(ValueError, match="256 classes"):
        Classes.from_names(map(str, range(256)))
    with pytest.raises(ValueError, match="0 classes"):
        Classes([])


def test_names_must_differ() -> None:
    with pytest.raises(ValueError, match="'sky' is there twice"):
        Classes.from_names(["sky", "sea", "sky"])


@pytest.mark.parametrize("name", ["", " sky", "sky ", "sk\ny", "\ud800"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="class name"):
        LabelClass(name, (0, 0, 0))


def test_bad_colors_and_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="color"):
        LabelClass("sky", (0, 0, 256))
    with pytest.raises(ValueError, match="kind 'stuf'"):
        LabelClass("sky", (0, 0, 0), cast(Kind, "stuf"))


def test_colors_as_text() -> None:
    assert parse_color("#FF8001") == (255, 128, 1)
    assert color_text((255, 128, 1)) == "#ff8001"
    for text in ("ff8001", "#ff800", "#ff80011", "#gg0000", "red", "", "#ff8001\n"):
        with pytest.raises(ValueError, match="bad color"):
            parse_color(text)


def test_suggestions_without_anything_near() -> None:
    assert suggest("zebra", ["sky", "sea"]) == "expected one of 'sky', 'sea'"
    assert suggest("zebra", [f"{k:020d}" for k in range(99)]).endswith("...")
    assert suggest("zebra", []) == "there are none"
