"""How many superpixels suit the masks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.experiments.study import Setup, Study
from multiutility.experiments.supervision import Supervision
from multiutility.kinds import PixelAnnotation
from multiutility.vision import features
from multiutility.vision.features import presets
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.preset import Preset
from multiutility.vision.fineness import N_MASKS, best_confusion, suited_preset
from multiutility.vision.photo import ArrayPhoto
from multiutility.vision.regions.superpixels import RegionMerging
from multiutility.vision.segmenter import Segmenter
from multiutility.vision.training_set import AnnotatedPhoto
from toy import CLASSES, COW, GRASS, MeanColor

Mask = NDArray[np.uint8]
PRESET = Preset("fine", RegionMerging(20, min_size=6), (MeanColor(),), (Boundary(),), weighted=True)


@pytest.fixture(autouse=True)
def few_superpixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(presets.PRESETS, "deep", lambda: PRESET)
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")


def dots(pitch: int) -> Mask:
    """Grass with cows of 8 x 8 pixels, one in each square of the pitch."""
    rows, columns = np.indices((120, 160)) % pitch
    return np.where((rows < 8) & (columns < 8), COW + 1, GRASS + 1).astype(np.uint8)


def picture(mask: Mask) -> Mask:
    noise = np.random.default_rng(0).normal(0, 4, (*mask.shape, 3))
    return np.clip(CLASSES.palette[mask] + noise, 0, 255).astype(np.uint8)


def photo(name: str, mask: Mask, annotation: PixelAnnotation | None = None) -> AnnotatedPhoto:
    given = PixelAnnotation(mask=mask) if annotation is None else annotation
    return AnnotatedPhoto(ArrayPhoto(name, picture(mask)), partial(lambda one: one, given))


def test_no_labeling_of_regions_has_more_right_pixels() -> None:
    rng = np.random.default_rng(0)
    mask = rng.integers(0, 4, (4, 6)).astype(np.uint8)
    regions = np.repeat(np.arange(3, dtype=np.int32), 8).reshape(4, 6)
    right = [
        sum(((mask == label + 1) & (regions == n)).sum() for n, label in enumerate(labels))
        for labels in product(range(3), repeat=3)
    ]
    found = best_confusion(mask, regions, 3)
    assert np.trace(found) == max(right)
    assert found.sum(axis=1).tolist() == [(mask == label + 1).sum() for label in range(3)]


def test_masks_of_small_things_need_more_superpixels() -> None:
    small, large = ([photo(f"{n}", dots(pitch)) for n in range(N_MASKS)] for pitch in (30, 60))
    many, facts = suited_preset(PRESET, small, 640, CLASSES)
    assert many.superpixels == RegionMerging(40, min_size=6)
    few, other = suited_preset(PRESET, large, 640, CLASSES)
    assert few == PRESET
    assert suited_preset(PRESET, small[1:], 640, CLASSES) == (PRESET, {})
    assert facts["superpixels"]["number"] == 40
    assert other["superpixels"]["number"] == 20
    assert facts["superpixels"]["bounds"]["40"] > facts["superpixels"]["bounds"]["20"] + 0.02


def test_other_annotations_have_no_say() -> None:
    masks = [photo(f"{n}", dots(30 if n % 3 == 0 else 60)) for n in range(N_MASKS + 5)]
    tagged = PixelAnnotation(tags=(GRASS, COW))
    others = [photo(f"tagged {n}", dots(30), tagged) for n in range(20)]
    alone = suited_preset(PRESET, masks, 640, CLASSES)
    assert suited_preset(PRESET, [*others, *masks[::-1]], 640, CLASSES) == alone
    assert suited_preset(PRESET, others, 640, CLASSES) == (PRESET, {})


@pytest.mark.parametrize(
    ("parameters", "number"), [({}, 40), ({"n_superpixels": 30}, 30), ({"method": "paper"}, 20)]
)
def test_models_have_what_was_chosen_or_given(parameters: dict[str, object], number: int) -> None:
    masks = [dots(pitch) for pitch in (28, 30) * (N_MASKS // 2)]
    annotations = [PixelAnnotation(mask=mask) for mask in masks]
    model = Segmenter(**parameters, max_iter=1, tol=0.5)  # type: ignore[arg-type]
    model.fit([picture(mask) for mask in masks], annotations, classes=CLASSES)
    assert model.predictor_.preset.preset.superpixels == RegionMerging(number, min_size=6)
    assert ("superpixels" in model.chosen_) == (not parameters)


def test_experiments_choose_as_training_does(tmp_path: Path) -> None:
    names = [f"{n:02d}" for n in range(2 * N_MASKS + 2)]
    masks = [dots(30 if n < N_MASKS else 60) for n in range(len(names))]
    pairs = zip(names, masks, strict=True)
    samples = [NewSample(name, picture(mask), PixelAnnotation(mask=mask)) for name, mask in pairs]
    write_dataset(tmp_path, CLASSES, samples, {"train": names[:-2], "validation": names[-2:]})
    setup = Setup(tmp_path, "train", "validation", protocol="msrc21")
    study = Study.open(setup)
    first, rest = tuple(range(N_MASKS)), tuple(range(N_MASKS, 2 * N_MASKS))
    small, large = Supervision(first, rest), Supervision(rest, first)
    assert study.suited("tags", large)[0] is study
    finer, chosen = study.suited("tags", small)
    assert finer.training.preset.preset.superpixels == RegionMerging(40, min_size=6)
    assert finer.images.names == study.images.names
    weakly = study.outcome("ours", "tags", small, {"max_iter": 1, "tol": 0.5})
    assert weakly.about_model["chosen"]["superpixels"] == chosen["superpixels"]
    train = DatasetFolder(tmp_path).split("train")
    photos = [sample for sample in train if sample.name in names[:N_MASKS]]
    model = Segmenter(max_iter=1, tol=0.5).fit(
        [sample.path for sample in photos], [sample.annotation() for sample in photos], classes=CLASSES
    )
    assert model.chosen_["superpixels"] == chosen["superpixels"]
    fixed = Study.open(Setup(tmp_path, "train", "validation", changes={"method": "paper"}))
    assert fixed.suited("tags", small)[0] is fixed


def test_small_things_are_found_in_more_regions_than_were_learned_from(tmp_path: Path) -> None:
    # With few regions, cows share theirs with grass; what is learned of colors holds for smaller ones.
    finer = replace(PRESET, finer=6)
    masks = [dots(pitch) for pitch in (26, 30, 34)]
    annotations = [PixelAnnotation(mask=mask) for mask in masks]
    new = dots(28)
    scores = []
    for preset in (PRESET, finer):
        model = Segmenter(preset, refine=False, tol=0.5)
        model.fit([picture(mask) for mask in masks], annotations, classes=CLASSES)
        (found,) = model.predict([picture(new)])
        scores.append(
            ((found == COW + 1) & (new == COW + 1)).sum() / ((found == COW + 1) | (new == COW + 1)).sum()
        )
    assert scores[1] > scores[0] + 0.05
    assert model.predictor_.preset.preset.superpixels == RegionMerging(120, min_size=6)
    model.save(tmp_path / "m.safetensors")
    loaded = Segmenter.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict([picture(new)])[0], found)
    # Trained again, it learns from as many as before.
    assert loaded.features == finer


def test_experiments_judge_as_predictions_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(presets.PRESETS, "deep", lambda: replace(PRESET, finer=6))
    names = [f"{n}" for n in range(6)]
    pairs = zip(names, (dots(pitch) for pitch in (40, 44, 48, 42, 46, 50)), strict=True)
    samples = [NewSample(name, picture(mask), PixelAnnotation(mask=mask)) for name, mask in pairs]
    write_dataset(tmp_path, CLASSES, samples, {"train": names[:3], "validation": names[3:]})
    study = Study.open(Setup(tmp_path, "train", "validation", protocol="msrc21"))
    outcome = study.outcome("ours", "none", study.choice("none", "all", 0), {"tol": 0.5})
    dataset = DatasetFolder(tmp_path)
    train = list(dataset.split("train"))
    model = Segmenter(tol=0.5).fit(
        [one.path for one in train], [one.annotation() for one in train], classes=study.classes
    )
    assert outcome.test.mean_iou == pytest.approx(model.evaluate(dataset.split("validation"))["mean_iou"])
