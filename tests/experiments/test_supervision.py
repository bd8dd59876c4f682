"""Protocols, and weakening in memory, against the command that writes weakened datasets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets import DatasetFolder
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.experiments.protocols import rules_of
from multiutility.experiments.supervision import LabeledImages, Supervision, Weakening
from multiutility.vision.weaken import weaken
from toy import BOAT, CLASSES, COW, write_toy


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Toy pictures of which the first has one label only, and the second much void."""
    folder = tmp_path_factory.mktemp("supervision")
    samples = []
    for n, sample in enumerate(write_toy(folder / "toy", n_train=10, n_validation=0)):
        annotation = sample.annotation()
        assert annotation.mask is not None
        mask = annotation.mask.copy()
        if n == 0:
            mask[mask != COW + 1] = 0
        if n == 1:
            mask[:20] = 0
        samples.append(NewSample(sample.name, sample.path, type(annotation)(mask=mask)))
    write_dataset(folder / "void", CLASSES, samples, {})
    return DatasetFolder(folder / "void")


def test_paper_reads_void_as_other(dataset: DatasetFolder) -> None:
    rules = rules_of("paper", dataset.classes)
    assert rules.classes.names == (*CLASSES.names, "other")
    images = LabeledImages(dataset, rules)
    other = len(CLASSES) + 1
    for n, (sample, mask) in enumerate(zip(dataset, images.masks, strict=True)):
        before = sample.mask()
        assert before is not None
        assert np.array_equal(mask[before > 0], before[before > 0])
        assert set(mask[before == 0].tolist()) == ({other} if n < 2 else {0})


def test_msrc21_has_no_rare_classes(dataset: DatasetFolder) -> None:
    rules = rules_of("msrc21", dataset.classes)
    assert rules.classes.names == ("sky", "grass", "cow")
    for sample, mask in zip(dataset, LabeledImages(dataset, rules).masks, strict=True):
        before = sample.mask()
        assert before is not None
        assert np.array_equal(mask, np.where(before == BOAT + 1, 0, before))
    with pytest.raises(ValueError, match="protocol is 'x'"):
        rules_of("x", dataset.classes)


@pytest.mark.parametrize("kinds", ["tags", "tags+seeds", "tags+boxes", "tags+boxes+seeds", "points"])
def test_annotations_are_those_of_weaken(dataset: DatasetFolder, kinds: str) -> None:
    images = LabeledImages(dataset, rules_of("paper", dataset.classes))
    parts = {name: name in kinds for name in ("boxes", "seeds", "points")}
    wanted = weaken(dataset, 3, keep_masks=4, other=True, **parts)
    masks = images.subset(4, random_state=3)
    assert {images.names[n] for n in masks} == wanted.kept
    rest = tuple(n for n in range(len(images)) if n not in masks)
    photos = images.annotated(kinds, Supervision(masks, rest))
    assert [one.photo.name for one in photos] == [images.names[n] for n in (*masks, *rest)]
    by_name = {sample.name: sample.annotation for sample in wanted}
    for photo in photos:
        found, expected = photo.annotation(), by_name[photo.photo.name]
        assert (found.tags, found.boxes, found.seeds) == (expected.tags, expected.boxes, expected.seeds)
        assert (found.mask is None) == (expected.mask is None)
        if found.mask is not None and expected.mask is not None:
            assert np.array_equal(found.mask, expected.mask)


@pytest.mark.parametrize("tight", [False, True])
def test_loose_boxes_are_those_of_weaken_and_say_so_or_not(dataset: DatasetFolder, tight: bool) -> None:
    images = LabeledImages(dataset, rules_of("paper", dataset.classes))
    wanted = {one.name: one.annotation for one in weaken(dataset, other=True, boxes=True, loosen_boxes=0.2)}
    mix, n_boxes = "loose boxes as tight" if tight else "loose boxes", 0
    for n, name in enumerate(images.names):
        found = images.weak(n, mix)
        assert found.tags == wanted[name].tags
        assert found.boxes == tuple(replace(box, tight=tight) for box in wanted[name].boxes)
        n_boxes += len(found.boxes)
    assert n_boxes > 0


def test_weakening_chooses_among_the_images_that_are_learned_from(dataset: DatasetFolder) -> None:
    images = LabeledImages(dataset, rules_of(None, dataset.classes))
    numbers = [1, 4, 5, 8, 9]
    choice = Weakening(images, "tags", keep=2).choice(numbers)
    assert len(choice.masks) == 2
    assert sorted((*choice.masks, *choice.weak)) == numbers
    assert Weakening(images, "none", keep=3).choice(numbers).weak == ()
    assert Weakening(images, "tags", keep=9).choice(numbers).weak == ()
    with pytest.raises(ValueError, match="nothing to learn from"):
        Weakening(images, "none", keep=0)
    with pytest.raises(ValueError, match="expected one of none, tags"):
        Weakening(images, "boxes", keep=0)


def test_images_without_masks_are_left_out(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "toy", n_train=3, n_validation=0)
    (tmp_path / "toy" / "masks" / "picture01.png").unlink()
    images = LabeledImages(DatasetFolder(toy.path), rules_of(None, CLASSES))
    assert images.names == ["picture00", "picture02"]
    for name in images.names:
        (tmp_path / "toy" / "masks" / f"{name}.png").unlink()
    with pytest.raises(ValueError, match="no image has a mask"):
        LabeledImages(DatasetFolder(toy.path), rules_of(None, CLASSES))
