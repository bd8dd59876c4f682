"""Weak annotations out of masks: against brute force over pixels, and subsets against their law."""

from __future__ import annotations

import os
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multiutility.datasets import (
    Classes,
    DatasetFolder,
    LabelClass,
    NewSample,
    PixelAnnotation,
    PixelBox,
    PixelSeed,
    write_dataset,
)
from multiutility.kinds.boxes import box_of
from multiutility.kinds.objects import labels_of, objects_of
from multiutility.kinds.seeds import pole, seed_of
from multiutility.vision.weaken import (
    apply_other,
    has_other,
    sample_subset,
    things_of,
    weak_annotation,
    weaken,
)

CLASSES = Classes(
    [
        LabelClass("grass", (0, 128, 0)),
        LabelClass("tree", (128, 128, 0), "either"),
        LabelClass("cow", (0, 0, 128), "thing"),
        LabelClass("bird", (128, 0, 0), "thing"),
    ]
)
GRASS, TREE, COW, BIRD = range(4)
DATA = os.environ.get("MULTIUTILITY_DATA")


def mask_of(rows: list[str]) -> Any:
    """Mask from text: a dot is void, letters are classes."""
    return np.array([[".gtcb".index(letter) for letter in row] for row in rows], dtype=np.uint8)


MEADOW = mask_of(
    [
        "gggggggggg",
        "gcccggg.cc",
        "gcccggggcc",
        "gggttt.ggg",
    ]
)


def test_images_with_other() -> None:
    mask = np.ones((10, 10), dtype=np.uint8)
    mask[0] = 2
    assert not has_other(mask)
    mask[1:3] = 0
    mask[3, :9] = 0
    assert not has_other(mask)
    mask[3, 9] = 0  # 30 of 100.
    assert has_other(mask)
    assert has_other(mask_of(["ggg."]))
    assert not has_other(mask_of(["gggt."]))
    assert has_other(mask_of(["...."]))


def test_void_becomes_other_where_it_is() -> None:
    classes = CLASSES.with_other()
    mask = mask_of(["ggg."])
    mask.flags.writeable = False
    assert apply_other(mask, classes).tolist() == [[1, 1, 1, 5]]
    mixed = mask_of(["gggt."])
    result = apply_other(mixed, classes)
    assert result.tolist() == mixed.tolist()
    assert not np.shares_memory(result, mixed)
    # One label, and nothing void: no pixel is other, and so there is no such tag.
    assert labels_of(apply_other(mask_of(["gg"]), classes)) == (GRASS,)
    with pytest.raises(ValueError, match="no class named 'other'"):
        apply_other(mask, CLASSES)


def test_what_is_a_thing_depends_on_the_image() -> None:
    assert things_of(mask_of(["gtcb."]), CLASSES) == (COW, BIRD)
    assert things_of(mask_of(["gt..."]), CLASSES) == (TREE,)
    assert things_of(mask_of(["g...."]), CLASSES) == ()


def test_boxes_and_tags_of_a_meadow() -> None:
    weak = weak_annotation(MEADOW, CLASSES, boxes=True)
    assert weak.boxes == (PixelBox(COW, 1, 1, 4, 3), PixelBox(COW, 8, 1, 10, 3))
    assert weak.tags == (GRASS, TREE)
    assert weak.seeds == ()
    assert weak.mask is None


def test_kinds_can_be_chosen() -> None:
    assert weak_annotation(MEADOW, CLASSES).tags == (GRASS, TREE, COW)
    assert weak_annotation(MEADOW, CLASSES).boxes == ()
    seeded = weak_annotation(MEADOW, CLASSES, seeds=True)
    assert (len(seeded.seeds), seeded.boxes, seeded.tags) == (2, (), (GRASS, TREE))
    both = weak_annotation(MEADOW, CLASSES, tags=False, boxes=True, seeds=True)
    assert (len(both.seeds), len(both.boxes), both.tags) == (2, 2, ())
    trees = weak_annotation(mask_of(["ggt", "ggt"]), CLASSES, boxes=True)
    assert (trees.boxes, trees.tags) == ((PixelBox(TREE, 2, 0, 3, 2),), (GRASS,))


def test_points_are_in_every_segment_and_name_all_labels() -> None:
    weak = weak_annotation(MEADOW, CLASSES, points=True)
    assert (weak.tags, weak.boxes, weak.mask) == ((GRASS, TREE, COW), (), None)
    # Grass is one part, by its corners; the trees are stuff behind two cows.
    assert [seed.label for seed in weak.seeds] == [GRASS, TREE, COW, COW]
    assert all(MEADOW[seed.y, seed.x] == seed.label + 1 for seed in weak.seeds)
    assert [(s.x, s.y) for s in weak.seeds[2:]] == [(2, 1), (8, 1)]
    boxed = weak_annotation(MEADOW, CLASSES, boxes=True, points=True)
    assert (boxed.tags, boxed.seeds) == (weak.tags, weak.seeds)
    assert boxed.boxes == weak_annotation(MEADOW, CLASSES, boxes=True).boxes


def test_points_are_not_in_specks_and_things_are_those_of_the_map() -> None:
    mask = np.full((100, 100), GRASS + 1, dtype=np.uint8)
    mask[:, 40] = 0  # Two parts of grass.
    mask[5, 5] = TREE + 1  # 1 pixel of 10,000 is less than 2e-4.
    mask[50:60, 50:70] = COW + 1
    ids = np.zeros((100, 100), dtype=np.int32)
    ids[50:60, 50:60], ids[50:60, 60:70] = 1, 2
    # The map may have ids of stuff, which is still one part here.
    ids[:10, 60:70] = 3
    weak = weak_annotation(mask, CLASSES, ids, points=True)
    assert weak.tags == (GRASS, TREE, COW)
    assert [seed.label for seed in weak.seeds] == [GRASS, GRASS, COW, COW]
    assert [seed.x < 60 for seed in weak.seeds[2:]] == [True, False]
    assert {seed.x < 40 for seed in weak.seeds[:2]} == {True, False}


def test_objects_are_those_of_the_instance_map() -> None:
    mask = mask_of(["cccccc", "cccccc", "gggggg"])
    assert [box_of(thing) for thing in objects_of(mask, [COW])] == [PixelBox(COW, 0, 0, 6, 2)]
    ids = np.array([[3, 3, 3, 9, 9, 9], [3, 3, 3, 9, 9, 9], [0, 0, 3, 9, 0, 0]])
    boxes = [box_of(thing) for thing in objects_of(mask, [COW], ids)]
    # From the map, which reaches into the grass.
    assert boxes == [PixelBox(COW, 0, 0, 3, 3), PixelBox(COW, 3, 0, 6, 3)]
    # The class is that of most pixels; seeds are on pixels that have it.
    for thing in objects_of(mask, [COW], ids):
        assert mask[seed_of(thing).y, seed_of(thing).x] == COW + 1
    assert box_of(objects_of(mask, [GRASS], np.where(ids == 3, 3, 0))[0]) == PixelBox(GRASS, 0, 2, 6, 3)


def test_one_object_may_have_several_parts() -> None:
    mask = mask_of(["ccgcc", "gggcc"])
    ids = np.where(mask == COW + 1, 1, 0)
    assert [box_of(thing) for thing in objects_of(mask, [COW], ids)] == [PixelBox(COW, 0, 0, 5, 2)]
    assert seed_of(objects_of(mask, [COW], ids)[0]).x >= 3


def test_objects_that_are_mostly_void_are_left_out() -> None:
    mask = mask_of(["..cc", "..gg"])
    half, most = np.array([[0, 1, 1, 0]] * 2), np.array([[1, 1, 1, 0]] * 2)
    assert box_of(objects_of(mask, [COW, GRASS], half)[0]) == PixelBox(GRASS, 1, 0, 3, 2)
    # What is in there is found by its connected parts then.
    assert [box_of(thing) for thing in objects_of(mask, [COW], most)] == [PixelBox(COW, 2, 0, 4, 1)]


def test_parts_that_no_object_has_are_objects() -> None:
    mask = mask_of(["cc.cc.bb"])
    ids = np.array([[1, 1, 0, 0, 0, 0, 0, 0]])
    boxes = [box_of(thing) for thing in objects_of(mask, [COW, BIRD], ids)]
    assert boxes == [PixelBox(COW, 0, 0, 2, 1), PixelBox(COW, 3, 0, 5, 1), PixelBox(BIRD, 6, 0, 8, 1)]


def test_diagonal_neighbors_are_connected() -> None:
    assert len(objects_of(mask_of(["c..", ".c.", "..c"]), [COW])) == 1
    assert len(objects_of(mask_of(["c..", "...", "..c"]), [COW])) == 2


def test_specks_are_left_out() -> None:
    mask = np.full((100, 100), GRASS + 1, dtype=np.uint8)
    mask[50, 50:59] = COW + 1
    mask[10, 10:20] = BIRD + 1
    weak = weak_annotation(mask, CLASSES, boxes=True, speck=0.001)
    assert weak.boxes == (PixelBox(BIRD, 10, 10, 20, 11),)
    # The label is there still.
    assert weak.tags == (GRASS, COW)
    assert len(weak_annotation(mask, CLASSES, boxes=True).boxes) == 2


def test_instance_maps_must_fit() -> None:
    with pytest.raises(ValueError, match=r"instances have shape \(1, 2\): the mask has \(1, 3\)"):
        objects_of(mask_of(["ccc"]), [COW], np.array([[1, 1]]))


def clearance(pixels: Any, row: int, column: int) -> float:
    """Distance to the nearest pixel outside, those beyond the border included."""
    height, width = pixels.shape
    outside = [
        (y, x)
        for y in range(-1, height + 1)
        for x in range(-1, width + 1)
        if not (0 <= y < height and 0 <= x < width and pixels[y, x])
    ]
    return min(float(np.hypot(y - row, x - column)) for y, x in outside)


@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(np.any))
def test_poles_are_farthest_from_the_outside(pixels: Any) -> None:
    row, column = pole(pixels)
    assert pixels[row, column]
    best = max(clearance(pixels, y, x) for y, x in np.argwhere(pixels).tolist())
    assert clearance(pixels, row, column) == pytest.approx(best)


def test_poles_of_bars_are_in_the_middle() -> None:
    assert pole(np.ones((3, 41), dtype=np.bool_)) == (1, 20)
    ring = np.ones((11, 11), dtype=np.bool_)
    ring[3:8, 3:8] = False
    row, column = pole(ring)
    assert ring[row, column]


@given(arrays(np.uint8, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.integers(0, 4)))
def test_annotations_are_true_of_the_mask(mask: Any) -> None:
    weak = weak_annotation(mask, CLASSES, boxes=True, seeds=True)
    present = {int(value) - 1 for value in mask.ravel() if value}
    boxed = {box.label for box in weak.boxes}
    assert set(weak.tags) | boxed == present
    assert not set(weak.tags) & boxed
    for box, seed in zip(weak.boxes, weak.seeds, strict=True):
        inside = mask[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] == box.label + 1
        assert inside[[0, -1]].any(axis=1).all()
        assert inside[:, [0, -1]].any(axis=0).all()
        assert mask[seed.y, seed.x] == seed.label + 1
        assert box.left <= seed.x < box.right
        assert box.top <= seed.y < box.bottom
    for label in boxed:
        covered = np.zeros(mask.shape, dtype=np.bool_)
        for box in weak.boxes:
            if box.label == label:
                covered[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] = True
        assert covered[mask == label + 1].all()


def chi_square(labels: Any, subset: Any) -> float:
    expected = labels.sum(axis=0) * len(subset) / len(labels)
    return float(((labels[list(subset)].sum(axis=0) - expected) ** 2 / expected).sum())


def test_subsets_follow_their_law() -> None:
    labels = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [1, 1], [1, 0]], dtype=np.bool_)
    subsets = list(combinations(range(6), 2))
    law = np.exp([-chi_square(labels, subset) / 0.5 for subset in subsets])
    law /= law.sum()
    rng = np.random.default_rng(0)
    n = 3000
    drawn = Counter(tuple(sample_subset(labels, 2, rng, n_steps=40, temperature=0.5)) for _ in range(n))
    counts = np.array([drawn[subset] for subset in subsets])
    assert counts.sum() == n
    # 14 degrees of freedom: above 36 with probability 0.001.
    assert ((counts - n * law) ** 2 / (n * law)).sum() < 36


def test_subsets_match_label_counts() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random((200, 15)) < rng.uniform(0.03, 0.5, 15)
    sampled = [chi_square(labels, sample_subset(labels, 20, seed)) for seed in range(5)]
    random = [chi_square(labels, rng.choice(200, 20, replace=False)) for _ in range(50)]
    assert np.mean(sampled) < 0.2 * np.mean(random)
    assert len({tuple(sample_subset(labels, 20, seed)) for seed in range(5)}) == 5
    assert sample_subset(labels, 20, 3) == sample_subset(labels, 20, 3)


def test_sizes_of_subsets() -> None:
    labels = np.zeros((4, 3), dtype=np.bool_)  # Nothing labeled: nothing to match.
    assert sample_subset(labels, 0, 0) == []
    assert sample_subset(labels, 4, 0) == [0, 1, 2, 3]
    assert len(set(sample_subset(labels, 3, 0))) == 3
    for size in (-1, 5):
        with pytest.raises(ValueError, match=f"{size} of 4 images with masks"):
            sample_subset(labels, size, 0)


@pytest.fixture
def dataset(tmp_path: Path) -> DatasetFolder:
    rng = np.random.default_rng(0)
    samples = []
    for n in range(12):
        mask = MEADOW.copy()
        mask[0] = n % 4 + 1
        if n % 3 == 0:
            mask[2:] = 0
        ids = np.where(mask == COW + 1, 1, 0) if n % 2 else None
        image = rng.integers(256, size=(*mask.shape, 3)).astype(np.uint8)
        samples.append(NewSample(f"meadow_{n}", image, PixelAnnotation(mask=mask, instances=ids)))
    tagged = PixelAnnotation(tags=(GRASS,), seeds=(PixelSeed(COW, 1, 1),))
    samples.append(NewSample("tagged", np.zeros((4, 10, 3), dtype=np.uint8), tagged))
    write_dataset(tmp_path / "full", CLASSES, samples, {"train": [sample.name for sample in samples]})
    return DatasetFolder(tmp_path / "full").split("train")


def test_weakened_datasets_can_be_read(dataset: DatasetFolder, tmp_path: Path) -> None:
    weakened = weaken(dataset, 0, 3, boxes=True, other=True)
    assert len(weakened) == len(dataset) == 13
    assert len(weakened.kept) == 3
    write_dataset(tmp_path / "weak", weakened.classes, weakened, {"train": dataset.names})
    weak = DatasetFolder(tmp_path / "weak").split("train")
    assert weak.names == dataset.names
    assert weak.classes == CLASSES.with_other()
    for sample in weak:
        truth = dataset[sample.name].mask()
        assert sample.image().tolist() == dataset[sample.name].image().tolist()
        if truth is None:
            assert sample.kinds == {"tags", "seeds"}
        elif sample.name in weakened.kept:
            mask = sample.mask()
            assert mask is not None
            assert mask.tolist() == apply_other(truth, weak.classes).tolist()
            assert sample.kinds == {"mask"}
        else:
            ids = dataset[sample.name].instances()
            expected = weak_annotation(apply_other(truth, weak.classes), weak.classes, ids, boxes=True)
            found = sample.annotation()
            assert (found.tags, found.boxes) == (expected.tags, expected.boxes)
            assert sample.instances() is None
            assert (weak.classes.other in found.tags) == has_other(truth)


def test_weakening_depends_on_the_random_state_alone(dataset: DatasetFolder) -> None:
    assert weaken(dataset, 1, 4).kept == weaken(dataset, 1, 4, boxes=True).kept
    assert len({weaken(dataset, seed, 4).kept for seed in range(6)}) > 1
    assert weaken(dataset).kept == frozenset()
    named = weaken(dataset, keep_masks=["meadow_3", "meadow_5"])
    assert named.kept == {"meadow_3", "meadow_5"}
    assert [sample.name for sample in named] == [sample.name for sample in named]


def test_masks_to_keep_must_be_there(dataset: DatasetFolder) -> None:
    with pytest.raises(ValueError, match=r"cannot keep the masks of 'nothing', 'tagged': not among the 12"):
        weaken(dataset, keep_masks=["meadow_1", "tagged", "nothing"])
    with pytest.raises(ValueError, match="13 of 12 images with masks"):
        weaken(dataset, keep_masks=13)


@pytest.mark.skipif(DATA is None, reason="MULTIUTILITY_DATA does not name a folder with datasets")
def test_msrc_has_what_the_paper_counts() -> None:
    train = DatasetFolder(Path(str(DATA)) / "msrc").split("train")
    masks = [mask for sample in train if (mask := sample.mask()) is not None]
    assert sum(map(has_other, masks)) == 110
    classes = train.classes.with_other()
    other = sum(np.count_nonzero(apply_other(mask, classes) == len(classes)) for mask in masks)
    assert 100 * other / sum(mask.size for mask in masks) == pytest.approx(21, abs=0.5)
    weakened = weaken(train.select(train.names[:60]), boxes=True, seeds=True, other=True)
    things = {k for k, kind in enumerate(classes.kinds) if kind != "stuff"}
    for sample in weakened:
        mask = train[sample.name].mask()
        assert mask is not None
        assert {box.label for box in sample.annotation.boxes} <= things
        assert all(mask[seed.y, seed.x] == seed.label + 1 for seed in sample.annotation.seeds)
