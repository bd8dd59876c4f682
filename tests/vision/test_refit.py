"""Segmenters that go on from their last fit: only what is new is computed, and all else stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets.folder import DatasetFolder
from multiutility.kinds import PixelAnnotation
from multiutility.vision import Segmenter, features
from multiutility.vision.features.preset import FittedPreset, Preset
from multiutility.vision.photo import FilePhoto
from multiutility.vision.training_set import AnnotatedPhoto
from toy import CLASSES, COW, GRASS, SKY, toy_picture, toy_preset, write_mixed, write_toy


@pytest.fixture(autouse=True)
def known_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    folder = tmp_path_factory.mktemp("toy")
    return write_mixed(folder / "mixed", write_toy(folder / "masks"))


def fitted(mixed: DatasetFolder) -> Segmenter:
    return Segmenter(toy_preset(), C=1, tol=0.1, warm_start=True).fit(mixed)


def test_only_new_images_are_prepared(mixed: DatasetFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = fitted(mixed), []
    before = model.n_images_
    prepare = FittedPreset.prepare

    def counted(self: FittedPreset, image: np.ndarray) -> object:
        seen.append(image.shape)
        return prepare(self, image)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("features must not be fitted anew")

    monkeypatch.setattr(FittedPreset, "prepare", counted)
    monkeypatch.setattr(Preset, "fit", never)
    image, mask = toy_picture(np.random.default_rng(99), COW, (30, 44))
    model.refit([image], [PixelAnnotation(mask=mask)])
    assert seen == [(30, 44, 3)]
    assert model.n_images_ == before + 1
    model.refit([image], [PixelAnnotation(tags=(SKY, GRASS, COW))])
    assert len(seen) == 1
    model.refit([image], [PixelAnnotation()])
    assert model.n_images_ == before


def test_files_are_known_by_their_names(mixed: DatasetFolder) -> None:
    model, sample = fitted(mixed), next(one for one in mixed if one.kinds)
    model.refit_photos([AnnotatedPhoto(FilePhoto(sample.name, sample.path), PixelAnnotation)])
    assert model.n_images_ == fitted(mixed).n_images_ - 1


def test_classes_may_be_added_but_not_renamed(mixed: DatasetFolder, tmp_path: Path) -> None:
    model = fitted(mixed)
    image = np.full((36, 48, 3), (250, 10, 240), dtype=np.uint8)
    added = [*CLASSES.names, "poppy"]
    model.refit([image], [PixelAnnotation(mask=np.full((36, 48), 5, np.uint8))], classes=added)
    assert model.classes_.names[-1] == "poppy"
    assert (model.predict([image])[0] == 5).mean() > 0.9
    model.save(tmp_path / "model")
    assert Segmenter.load(tmp_path / "model").classes_.names[-1] == "poppy"
    with pytest.raises(ValueError, match="fit anew after renaming, removing or reordering any"):
        model.refit([image], [PixelAnnotation()], classes=["heaven", *added[1:]])


def test_there_must_be_a_fit_that_was_kept(mixed: DatasetFolder) -> None:
    model = Segmenter(toy_preset(), C=1, tol=0.1).fit(mixed)
    with pytest.raises(ValueError, match="call fit, with warm_start=True"):
        model.refit([], [])
