"""The segmenter: learns from mixtures, labels images of any size, and is the same after loading."""

from __future__ import annotations

import json
import struct
from collections import Counter
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sklearn.base import clone

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.identifiability import UnidentifiedLabelsWarning
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.kinds import PixelAnnotation, PixelBox
from multiutility.learning.optimizers.solution import Record
from multiutility.vision import Segmenter, features
from multiutility.vision.model_file import FORMAT, KEY, ModelFileError, checksum
from multiutility.vision.photo import FilePhoto, Shrunk
from multiutility.vision.regions.refine import NARROW, WIDE, Refinement
from multiutility.vision.store import FeatureStore
from toy import (
    BOAT,
    CLASSES,
    COW,
    GRASS,
    SKY,
    MeanColor,
    mixed_annotations,
    toy_picture,
    toy_preset,
    write_mixed,
    write_toy,
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return write_toy(tmp_path_factory.mktemp("toy") / "masks")


@pytest.fixture(scope="module")
def mixed(dataset: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return write_mixed(tmp_path_factory.mktemp("toy") / "mixed", dataset)


@pytest.fixture(scope="module")
def model(mixed: DatasetFolder) -> Segmenter:
    return Segmenter(toy_preset(), C=1, tol=0.1).fit(mixed)


@pytest.fixture(autouse=True)
def known_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")


def test_learns_from_a_mixture(model: Segmenter, dataset: DatasetFolder) -> None:
    assert model.score(dataset.split("validation")) > 0.9
    assert model.n_images_ == 12


def test_images_with_annotations_are_as_good_as_a_dataset(mixed: DatasetFolder, model: Segmenter) -> None:
    images: list[Any] = [sample.image() if n % 2 else sample.path for n, sample in enumerate(mixed)]
    annotations = [sample.annotation() for sample in mixed]
    other = Segmenter(toy_preset(), C=1, tol=0.1).fit(images, annotations, classes=CLASSES.names)
    assert np.array_equal(other.predictor_.weights, model.predictor_.weights)
    assert other.classes_.names == CLASSES.names


def test_result_does_not_depend_on_the_number_of_jobs(mixed: DatasetFolder, model: Segmenter) -> None:
    other = Segmenter(toy_preset(), C=1, tol=0.1, n_jobs=2).fit(mixed)
    assert np.array_equal(other.predictor_.weights, model.predictor_.weights)


def test_weights_of_classes_are_given_by_name(mixed: DatasetFolder, model: Segmenter) -> None:
    heavy = Segmenter(toy_preset(), C=1, tol=0.1, class_weight={"boat": 20.0}).fit(mixed)
    assert not np.allclose(heavy.predictor_.weights, model.predictor_.weights)
    with pytest.raises(ValueError, match="did you mean 'boat'"):
        Segmenter(toy_preset(), class_weight={"boats": 2.0}).fit(mixed)


def test_powers_of_class_weights_are_checked_before_anything_is_computed() -> None:
    with pytest.raises(ValueError, match=r"class_weight is 1.5: expected .* a number from 0 to 1"):
        Segmenter(toy_preset(), class_weight=1.5).fit([], [], classes=[])


@pytest.mark.parametrize("shape", [(1, 1), (2, 90), (36, 48), (150, 200)])
def test_masks_have_the_size_of_the_image(model: Segmenter, shape: tuple[int, int]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    before = image.copy()
    (mask,), (scores,) = model.predict([image]), model.predict_scores([image])
    assert mask.dtype == np.uint8
    assert mask.shape == scores.shape == shape
    assert mask.min() >= 1
    assert mask.max() <= len(CLASSES)
    assert scores.dtype == np.float32
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert np.array_equal(image, before)


def test_large_images_are_labeled_at_the_size_of_training_images(model: Segmenter) -> None:
    image, mask = toy_picture(np.random.default_rng(3))
    large = np.repeat(np.repeat(image, 5, axis=0), 5, axis=1)
    (found,) = model.predict([large])
    truth = np.repeat(np.repeat(mask, 5, axis=0), 5, axis=1)
    assert model.predictor_.max_side == 48
    assert (found == truth)[truth > 0].mean() > 0.8
    # Not the enlarged pixels of the small image, but smooth borders.
    (small,) = model.predict([image])
    assert not np.array_equal(found, np.repeat(np.repeat(small, 5, axis=0), 5, axis=1))


class CountedPhoto(FilePhoto):
    """A photo that counts how often it is read."""

    reads: ClassVar[Counter[str]] = Counter()

    def image(self) -> NDArray[np.uint8]:
        self.reads[self.name] += 1
        return super().image()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predictions_read_a_photo_once_and_are_those_of_labelings(
    model: Segmenter, dataset: DatasetFolder, n_jobs: int
) -> None:
    CountedPhoto.reads.clear()
    photos = [CountedPhoto(one.name, one.path) for one in dataset]
    told = list[tuple[int, int]]()
    found = list(model.predictor_.predict(photos, n_jobs, progress=lambda *count: told.append(count)))
    assert CountedPhoto.reads == Counter(dict.fromkeys((one.name for one in photos), 1))
    assert told == [(n, len(photos)) for n in range(1, len(photos) + 1)]
    predictor = model.predictor_
    shrunk = [Shrunk(one, predictor.max_side) for one in photos]
    prepared = FeatureStore(None).prepare(predictor.preset, shrunk)
    pairs = zip(photos, prepared, predictor.labelings(prepared), strict=True)
    for one, (photo, image, labels) in zip(found, pairs, strict=True):
        expected = predictor.prediction(photo, image, labels)
        assert np.array_equal(one.mask, expected.mask)
        assert np.array_equal(one.scores, expected.scores)
        assert one.image is not None
        assert np.array_equal(one.image, photo.image())


def test_scores_are_lower_where_predictions_are_wrong(model: Segmenter) -> None:
    rng = np.random.default_rng(5)
    right, wrong = [], []
    for _ in range(10):
        image, mask = toy_picture(rng)
        # So that some of it is wrong, but not most, of which nothing could warn.
        faded = (0.7 * image + 0.3 * 128).astype(np.uint8)
        (found,), (scores,) = model.predict([faded]), model.predict_scores([faded])
        right.append(scores[(found == mask) & (mask > 0)])
        wrong.append(scores[(found != mask) & (mask > 0)])
    assert np.concatenate(wrong).size > 100
    assert np.concatenate(wrong).mean() < 0.9 * np.concatenate(right).mean()


def expected_scores(
    truths: list[NDArray[np.uint8]],
    found: list[NDArray[np.uint8]],
    names: tuple[str, ...],
    of: tuple[str, ...],
) -> dict[str, Any]:
    """Scores by counting pixels one class at a time."""
    true = np.concatenate([mask.ravel() for mask in truths])
    given = np.concatenate([mask.ravel() for mask in found])[true > 0]
    true = true[true > 0]
    called = np.array(["", *of])[given]
    meant = np.array(["", *names])[true]
    classes = {}
    for name in names:
        hit = int(((called == name) & (meant == name)).sum())
        size, union = int((meant == name).sum()), int(((called == name) | (meant == name)).sum())
        classes[name] = {
            "recall": hit / size if size else None,
            "iou": hit / union if union else None,
            "pixels": size,
        }
    return {"accuracy": float((called == meant).mean()), "classes": classes}


def test_evaluation_matches_classes_by_name(model: Segmenter, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    # Another order, without sky, with a class that the model does not know, and grass marked rare.
    names = ("house", "cow", "grass", "boat")
    classes = Classes(LabelClass(name, (k, 9, 9), rare=name == "grass") for k, name in enumerate(names))
    translate = np.array([0, 1, 3, 2, 4], dtype=np.uint8)  # what is sky there is called a house
    samples, masks = [], []
    for n in range(3):
        image, mask = toy_picture(rng, thing=BOAT if n == 1 else COW)
        masks.append(translate[mask])
        samples.append(NewSample(f"i{n}", image, PixelAnnotation(mask=masks[-1])))
    samples.append(NewSample("unlabeled", samples[0].image))
    write_dataset(tmp_path / "other", classes, samples)
    dataset = DatasetFolder(tmp_path / "other")
    scores = model.evaluate(dataset)
    found = model.predict([dataset[f"i{n}"].path for n in range(3)])
    expected = expected_scores(masks, found, names, CLASSES.names)
    assert scores["accuracy"] == pytest.approx(expected["accuracy"])
    for name in names:
        assert scores["classes"][name] == pytest.approx(expected["classes"][name])
    assert scores["n_images"] == 3
    assert scores["classes"]["house"]["recall"] == 0
    means = [expected["classes"][name]["recall"] for name in ("house", "cow", "boat")]
    assert scores["mean_recall"] == pytest.approx(np.mean(means))
    unions = [expected["classes"][name]["iou"] for name in ("house", "cow", "boat")]
    assert scores["mean_iou"] == pytest.approx(np.mean(unions))
    json.dumps(scores, allow_nan=False)


def test_evaluation_needs_masks_and_known_classes(model: Segmenter, tmp_path: Path) -> None:
    image, mask = toy_picture(np.random.default_rng(0))
    write_dataset(tmp_path / "a", CLASSES, [NewSample("x", image)])
    with pytest.raises(ValueError, match="no image has a mask"):
        model.evaluate(DatasetFolder(tmp_path / "a"))
    strange = Classes.from_names("abcd")
    write_dataset(tmp_path / "b", strange, [NewSample("x", image, PixelAnnotation(mask=mask))])
    with pytest.raises(ValueError, match="knows none of its classes"):
        model.evaluate(DatasetFolder(tmp_path / "b"))


def test_loaded_model_predicts_the_same(model: Segmenter, tmp_path: Path, dataset: DatasetFolder) -> None:
    path = tmp_path / "m.safetensors"
    model.save(path)
    loaded = Segmenter.load(path, n_jobs=2)
    images = [sample.path for sample in dataset.split("validation")]
    for one, other in zip(model.predict(images), loaded.predict(images), strict=True):
        assert np.array_equal(one, other)
    scores = zip(model.predict_scores(images), loaded.predict_scores(images), strict=True)
    assert all(np.array_equal(before, after) for before, after in scores)
    assert loaded.classes_ == model.classes_
    assert loaded.get_params(deep=False)["C"] == 1
    assert loaded.n_jobs == 2
    loaded.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.safetensors", "m.safetensors"]


def test_truncated_files_are_refused(model: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    model.save(path)
    content = path.read_bytes()
    for length in {0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 1}:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"m\.safetensors: truncated, or not a model file"):
            Segmenter.load(path)


def rewrite(path: Path, forged: bool = True, **changes: Any) -> None:
    """Change the header of a model file, and its checksum to match if it is to be forged."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    header = {**json.loads(metadata[KEY]), **changes}
    header = {name: value for name, value in header.items() if value is not ...}
    if forged:
        header.pop("checksum")
        header["checksum"] = checksum(header, load_file(path))
    save_file(load_file(path), path, {KEY: json.dumps(header)})


@pytest.mark.parametrize("how", [None, NARROW, WIDE])
def test_models_keep_how_borders_are_refined(
    model: Segmenter, tmp_path: Path, how: Refinement | None
) -> None:
    changed, path = copy(model), tmp_path / "m.safetensors"
    changed.predictor_ = replace(model.predictor_, refine=how)
    changed.save(path)
    assert Segmenter.load(path).predictor_.refine == how


@pytest.mark.parametrize(("refine", "how"), [(True, WIDE), (False, None)])
def test_models_of_before_refine_as_they_did(
    model: Segmenter, tmp_path: Path, refine: bool, how: Refinement | None
) -> None:
    path = tmp_path / "m.safetensors"
    model.save(path)
    rewrite(path, format=2, refine=refine)
    assert Segmenter.load(path).predictor_.refine == how


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": FORMAT + 1}, "newer multiutility .*; upgrade"),
        ({"format": "x"}, "its format is 'x'"),
        ({"format": ...}, "its format is None"),
        ({"classes": ...}, "its header cannot be used"),
        ({"classes": []}, "its header cannot be used"),
        ({"preset": {"name": "x"}}, "its header cannot be used"),
        ({"max_side": "large"}, "its header cannot be used"),
        ({"max_side": 1e400}, "its header cannot be used"),
        ({"max_side": -1}, "sizes that cannot be"),
        ({"typical_margin": float("nan")}, "sizes that cannot be"),
        ({"typical_margin": 0}, "sizes that cannot be"),
        ({"refine": {"reach": -1, "window": 5, "pull": 1}}, "its header cannot be used"),
        ({"parameters": 3}, "its header cannot be used"),
        ({"parameters": {"checkpoint": "x"}}, "the parameters checkpoint, which are unknown"),
        ({"parameters": {"store": "x", "a": 1}}, "the parameters a, store, which are unknown"),
    ],
)
def test_headers_of_no_use_are_refused(
    model: Segmenter, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "m.safetensors"
    model.save(path)
    rewrite(path, **changes)
    with pytest.raises(ModelFileError, match=message):
        Segmenter.load(path)


def test_a_change_that_nobody_sees_is_told(model: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    model.save(path)
    whole = path.read_bytes()
    rewrite(path, forged=False, max_side=41)
    with pytest.raises(ModelFileError, match="damaged: it has changed"):
        Segmenter.load(path)
    path.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    with pytest.raises(ModelFileError, match="damaged: it has changed"):
        Segmenter.load(path)


def test_files_without_a_checksum_are_read(model: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    model.save(path)
    rewrite(path, forged=False, format=1, checksum=...)
    assert np.array_equal(Segmenter.load(path).predictor_.weights, model.predictor_.weights)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    with pytest.raises(ModelFileError, match="no such file"):
        Segmenter.load(path)
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="of another program"):
        Segmenter.load(path)
    path.write_text("name,color\n" * 50)
    with pytest.raises(ModelFileError, match="not a model file"):
        Segmenter.load(path)


def test_features_that_cannot_be_named_cannot_be_saved(
    model: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.safetensors"
    path.write_text("old")
    monkeypatch.delitem(features.KINDS, "MeanColor")
    with pytest.raises(ValueError, match="MeanColor"):
        model.save(path)
    assert path.read_text() == "old"


def test_features_are_taken_from_the_store(
    mixed: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    describe = MeanColor.describe

    def counted(self: MeanColor, *args: Any) -> Any:
        calls.append("describe")
        return describe(self, *args)

    def never(*_: Any) -> Any:
        raise AssertionError("fitted again")

    monkeypatch.setattr(MeanColor, "describe", counted)
    first = Segmenter(toy_preset(), C=1, tol=0.1, store=tmp_path / "store").fit(mixed)
    assert len(calls) == len(mixed)
    monkeypatch.setattr(MeanColor, "fit", never)
    reversed_ = mixed.select(reversed(mixed.names))
    again = Segmenter(toy_preset(), C=1, tol=0.1, store=tmp_path / "store").fit(mixed)
    Segmenter(toy_preset(), C=1, tol=0.1, store=tmp_path / "store").fit(reversed_)
    assert len(calls) == len(mixed)
    assert np.array_equal(first.predictor_.weights, again.predictor_.weights)
    with pytest.raises(AssertionError, match="fitted again"):
        Segmenter(toy_preset(), C=1, tol=0.1, store=tmp_path / "store", random_state=1).fit(mixed)


def test_callback_is_told_of_every_pass_beside_the_progress(mixed: DatasetFolder) -> None:
    records: list[Record] = []
    stages: list[str] = []
    model = Segmenter(
        toy_preset(), C=1, tol=0.1, callback=records.append, progress=lambda stage, *_: stages.append(stage)
    ).fit(mixed)
    assert [record.iteration for record in records] == model.objective_["iteration"].tolist()
    assert stages.count("learning") == len(records)


def test_progress_is_told(mixed: DatasetFolder) -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    note = lambda stage, done, total: told.setdefault(stage, []).append((done, total))  # noqa: E731
    Segmenter(toy_preset(), C=1, tol=0.1, progress=note).fit(mixed)
    assert told["fitting features"][-1] == (12, 12)
    assert told["features"][-1] == (12, 12)
    percents = [done for done, _ in told["learning"]]
    assert percents == sorted(percents)
    assert 0 < percents[-1] <= 100


def test_follows_the_conventions_of_scikit_learn(model: Segmenter) -> None:
    other = clone(model)
    assert other.get_params(deep=False) == model.get_params(deep=False)
    with pytest.raises(Exception, match="not fitted"):
        other.predict([])
    assert "C=1," in repr(model)


def test_arguments_are_checked(mixed: DatasetFolder) -> None:
    image = np.zeros((9, 9, 3), dtype=np.uint8)
    annotation = PixelAnnotation(tags=(0,))
    with pytest.raises(ValueError, match="2 images, but 1 annotations"):
        Segmenter(toy_preset()).fit([image, image], [annotation], classes=["a"])
    with pytest.raises(ValueError, match="give both"):
        Segmenter(toy_preset()).fit([image], [annotation])
    with pytest.raises(ValueError, match="nothing to learn from"):
        Segmenter(toy_preset()).fit([image], [PixelAnnotation()], classes=["a"])
    with pytest.raises(ValueError, match="give nothing else"):
        Segmenter(toy_preset()).fit(mixed, classes=["a"])
    outside = PixelAnnotation(boxes=(PixelBox(0, 20, 20, 30, 30),))
    with pytest.raises(ValueError, match=r"images\[0\].*no pixel"):
        Segmenter(toy_preset()).fit([image], [outside], classes=["a", "b"])
    with pytest.raises(ValueError, match=r"annotations\[0\] names label 1: expected labels in 0..0"):
        Segmenter(toy_preset()).fit([image], [PixelAnnotation(tags=(0, 1))], classes=["a"])
    with pytest.raises(ValueError, match="features are 'dep': expected one of"):
        Segmenter("dep").fit(mixed)


def test_boxes_that_cannot_be_filled_are_named() -> None:
    rng = np.random.default_rng(1)
    image, _ = toy_picture(rng)
    # Two boxes of different labels on the same few pixels: both need the one superpixel that is there.
    clash = PixelAnnotation(tags=(SKY,), boxes=(PixelBox(COW, 4, 4, 6, 6), PixelBox(BOAT, 4, 4, 6, 6)))
    fine = PixelAnnotation(tags=(SKY, GRASS))
    with pytest.warns(UnmetCoverWarning, match=r"images\[1\]: boxes of (cow|boat|boat, cow) cannot all"):
        Segmenter(toy_preset(), C=0.1, tol=0.3).fit([image, image[:, ::-1]], [fine, clash], classes=CLASSES)


def test_labels_that_cannot_be_told_apart_are_named_before_anything_is_computed(mixed: DatasetFolder) -> None:
    nothing = Segmenter("dep")
    advice = (
        "sky and grass come together in 10 of 12 images that have them, and too little says where they are"
    )
    with (
        pytest.warns(UnidentifiedLabelsWarning, match=advice) as told,
        pytest.raises(ValueError, match="features are 'dep'"),
    ):
        nothing.fit(mixed)
    assert [Path(one.filename) for one in told] == [Path(__file__)]
    annotations = [sample.annotation() for sample in mixed]
    with (
        pytest.warns(UnidentifiedLabelsWarning, match=advice) as told,
        pytest.raises(ValueError, match="features are 'dep'"),
    ):
        nothing.fit([sample.path for sample in mixed], annotations, classes=CLASSES)
    assert [Path(one.filename) for one in told] == [Path(__file__)]


def test_masks_without_void_superpixels_need_no_imputation(dataset: DatasetFolder) -> None:
    masks = [mask for sample in dataset.split("train") if (mask := sample.mask()) is not None]
    assert mixed_annotations(masks)[2].mask is None
    model = Segmenter(toy_preset(), C=1, tol=0.1).fit(dataset.split("train"))
    assert model.score(dataset.split("validation")) > 0.9
    assert model.n_iter_ == 0
