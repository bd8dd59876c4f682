"""Tuning: folds, scores and the record of trials."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets import DatasetFolder
from multiutility.experiments.protocols import rules_of
from multiutility.experiments.supervision import LabeledImages, Weakening
from multiutility.tuning.page import tuning_page
from multiutility.tuning.search import Bench, Trial, Tuner, Tuning
from multiutility.vision import Segmenter
from multiutility.vision.photo import FilePhoto
from multiutility.vision.training_set import AnnotatedPhoto, TrainingSet, annotated_photos
from toy import toy_preset, write_mixed, write_toy

GRID = {"C": (1e-4, 1.0), "class_weight": (), "alpha": (0.1, 1.0), "beta": ()}


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return Segmenter(toy_preset(), C=1, alpha=1, tol=0.2, max_iter=1)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, segmenter: Segmenter) -> TrainingSet:
    folder = tmp_path_factory.mktemp("tune")
    dataset = write_mixed(folder / "mixed", write_toy(folder / "toy", n_train=8, n_validation=1))
    return segmenter.prepare(annotated_photos(dataset), dataset.classes)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_only_masks_are_held_out(mixed: TrainingSet) -> None:
    bench = Bench(mixed, n_folds=5, metric="accuracy", random_state=0)
    assert bench.n_folds == 2
    assert bench.strong == [0, 1]
    assert sorted(n for fold in bench.folds for n in fold) == [0, 1]
    assert bench.tunable == {"C", "class_weight", "alpha", "beta"}


def test_score_is_that_of_a_model_that_has_not_seen_the_fold(
    mixed: TrainingSet, segmenter: Segmenter
) -> None:
    bench = Bench(mixed, n_folds=2, metric="accuracy", random_state=0)
    (held_out,) = bench.folds[0]
    others = [one for n, one in enumerate(mixed.photos) if n != held_out]
    # Trials are scored on superpixels, without the refinement of their borders.
    model = Segmenter(mixed.preset.preset, C=1, alpha=1, tol=0.2, max_iter=1, refine=False)
    part = TrainingSet(
        mixed.classes,
        mixed.preset,
        mixed.max_side,
        others,
        [one for n, one in enumerate(mixed.prepared) if n != held_out],
    )
    photo = mixed.photos[held_out]
    (found,) = model.fit_prepared(part).predict([photo.photo.image()])
    mask = photo.annotation().mask
    assert mask is not None
    assert bench.score(segmenter, 0) == pytest.approx((found == mask)[mask > 0].mean())


def test_without_masks_annotations_judge(tmp_path: Path, segmenter: Segmenter) -> None:
    mixed = write_mixed(tmp_path / "mixed", write_toy(tmp_path / "toy", n_train=8, n_validation=1))
    weak = mixed.select(sample.name for sample in mixed if "mask" not in sample.kinds)
    training = segmenter.prepare(annotated_photos(weak), weak.classes)
    bench = Bench(training, n_folds=2, metric="accuracy", random_state=0)
    assert sorted(n for fold in bench.folds for n in fold) == list(range(6))
    assert bench.tunable == {"C", "beta"}
    held_out = bench.folds[1]
    rest = weak.select(name for n, name in enumerate(weak.names) if n not in held_out)
    # Features are fitted on all images, as they are before tuning.
    photos = [AnnotatedPhoto(FilePhoto(one.name, one.path), one.annotation) for one in rest]
    prepared = [training.preset.prepare(one.photo.image()) for one in photos]
    model = Segmenter(toy_preset(), C=1, tol=0.2, max_iter=1, refine=False)
    model.fit_prepared(TrainingSet(weak.classes, training.preset, training.max_side, photos, prepared))
    losses, sizes = [], []
    for n in held_out:
        (mask,) = model.predict([weak[weak.names[n]].path])
        problem, annotation = training.problems()[n], training.annotations(beta=1.0)[n]
        assert annotation is not None
        labels = np.zeros(problem.n_nodes, dtype=np.int32)
        labels[training.prepared[n].regions] = mask.astype(np.int32) - 1
        losses.append(annotation.loss(problem, labels))
        sizes.append(annotation.label_sizes(problem).sum())
    assert bench.score(segmenter, 1) == pytest.approx(1 - sum(losses) / sum(sizes))


def test_finds_the_better_setting_and_goes_on_after_an_interruption(
    mixed: TrainingSet, segmenter: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int, int]] = []
    log = tmp_path / "log.json"
    tuner = Tuner(segmenter, GRID, 2, "mean_recall", log, lambda *step: told.append(step))
    score, calls = Bench.score, []

    def interrupted(self: Bench, tried: Segmenter, fold: int) -> float:
        calls.append(fold)
        if len(calls) == 3:
            raise KeyboardInterrupt
        # The toy is so easy that all settings are equally good.
        return score(self, tried, fold) + tried.C - float(tried.alpha or 0)

    monkeypatch.setattr(Bench, "score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuner.tune(mixed)
    assert len(json.loads(log.read_text())["trials"]) == 2
    found = tuner.tune(mixed)
    assert len(calls) == 3 + 4  # of 6 trials, 2 were there
    assert (found.best["C"], found.best["alpha"]) == (1.0, 0.1)
    assert told[-1][1] == told[-1][2]
    again = tuner.tune(mixed)
    assert again == found
    assert len(calls) == 7
    other = Tuner(segmenter, GRID, 2, "accuracy", log)
    with pytest.raises(ValueError, match="of other images, features or options"):
        other.tune(mixed)
    log.write_text("[]")
    with pytest.raises(ValueError, match="not a record of tuning"):
        tuner.tune(mixed)


def test_tries_class_weights_unless_they_are_given_by_name(
    mixed: TrainingSet, segmenter: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def likes_half(_: Bench, tried: Segmenter, __: int) -> float:
        if tried.class_weight == "auto":
            return -1.0
        assert isinstance(tried.class_weight, float)
        return -abs(tried.class_weight - 0.5)

    grid = {"C": (), "class_weight": (0, 0.5, 1), "alpha": (), "beta": ()}
    monkeypatch.setattr(Bench, "score", likes_half)
    assert Tuner(segmenter, grid, 2).tune(mixed).best["class_weight"] == 0.5
    tried = {**grid, "beta": (1.0, 3.0)}
    assert len(Tuner(segmenter, tried, 2).tune(mixed).trials) == 2 * 4  # it starts with what is chosen
    paper = Segmenter(segmenter.features, method="paper")
    assert len(Tuner(paper, tried, 2).tune(mixed).trials) == 2 * 4  # it starts without class weights
    named = Segmenter(segmenter.features, class_weight={"boat": 2.0})
    monkeypatch.setattr(Bench, "score", lambda _, tried, __: tried.C + tried.class_weight["boat"])
    log, searched = tmp_path / "log.json", {**grid, "C": (1.0, 2.0)}
    assert "class_weight" not in Tuner(named, searched, 2, log=log).tune(mixed).best
    other = Segmenter(segmenter.features, class_weight={"boat": 3.0})
    with pytest.raises(ValueError, match="of other images, features or options"):
        Tuner(other, searched, 2, log=log).tune(mixed)


def test_what_is_not_searched_for_stays_chosen(
    mixed: TrainingSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def likes_much(_: Bench, tried: Segmenter, __: int) -> float:
        assert tried.alpha is None
        assert tried.class_weight == "auto"
        return tried.C

    monkeypatch.setattr(Bench, "score", likes_much)
    grid = {"C": (1.0, 3.0), "class_weight": (), "alpha": (), "beta": ()}
    tuner = Tuner(Segmenter(toy_preset()), grid, 2, log=tmp_path / "log.json")
    best = {"C": 3.0, "class_weight": "auto", "alpha": "auto", "beta": 1.0}
    assert tuner.tune(mixed).best == best
    assert tuner.tune(mixed).best == best  # from the log
    assert "| 3 | auto | auto | 1 |" in tuning_page(["tune"], tuner.tune(mixed))
    monkeypatch.setattr(Bench, "score", lambda _, tried, __: float(tried.alpha is None))
    searched = {**grid, "alpha": (0.1, 1.0)}
    assert Tuner(Segmenter(toy_preset()), searched, 2).tune(mixed).best["alpha"] == "auto"


def test_means_are_sorted() -> None:
    trials = [Trial({"C": c}, fold, c + 0.1 * fold) for c in (0.1, 0.5, 0.3) for fold in (0, 1)]
    tuning = Tuning("accuracy", tuple(trials))
    assert [setting["C"] for setting, _ in tuning.means()] == [0.5, 0.3, 0.1]
    assert np.allclose([score for _, score in tuning.means()], [0.55, 0.35, 0.15])
    assert tuning.to_dict()["best"] == {"C": 0.5}


def test_arguments_are_checked(segmenter: Segmenter, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="metric is 'x'"):
        Tuner(segmenter, metric="x")
    with pytest.raises(ValueError, match="n_folds is 1"):
        Tuner(segmenter, n_folds=1)
    dataset: DatasetFolder = write_toy(tmp_path / "toy", n_train=1, n_validation=0)
    training = segmenter.prepare(annotated_photos(dataset), dataset.classes)
    with pytest.raises(ValueError, match="less than two annotated images"):
        Bench(training, 2, "accuracy", 0)


def test_weakened_images_are_learned_from_and_masks_judge(tmp_path: Path, segmenter: Segmenter) -> None:
    dataset = write_toy(tmp_path / "toy", n_train=9, n_validation=0)
    images = LabeledImages(dataset, rules_of(None, dataset.classes))
    training = segmenter.prepare(images.full(), images.classes)
    weakening = Weakening(images, "tags+boxes", keep=2)
    bench = Bench(training, n_folds=3, metric="mean", random_state=0, weakening=weakening)
    assert bench.tunable == {"C", "class_weight", "alpha", "beta"}
    assert Bench(training, 3, "mean", 0, Weakening(images, "tags", keep=0)).tunable == {"C", "class_weight"}
    part = bench.learned_from(0)
    kept = [photo.annotation().mask is not None for photo in part.photos]
    assert (sum(kept), len(kept)) == (2, 6)
    assert all(photo.annotation().boxes for photo, mask in zip(part.photos, kept, strict=True) if not mask)
    names = [photo.photo.name for photo in part.photos]
    assert not set(names) & {training.names[n] for n in bench.folds[0]}
    for name, prepared in zip(names, part.prepared, strict=True):
        assert prepared is training.prepared[training.names.index(name)]
    # The score is that of the held-out masks: the mean of accuracy and recall.
    predictor = segmenter.fit_prepared(part).predictor_
    matrix = np.zeros((4, 4))
    for n in bench.folds[0]:
        (labels,) = predictor.labelings([training.prepared[n]])
        mask = images.masks[n]
        known = mask > 0
        np.add.at(matrix, (mask[known] - 1, labels[training.prepared[n].regions][known]), 1)
    accuracy = matrix.trace() / matrix.sum()
    present = [k for k in (0, 1, 2) if matrix[k].sum()]
    recall = np.mean([matrix[k, k] / matrix[k].sum() for k in present])
    assert bench.score(segmenter, 0) == pytest.approx((accuracy + recall) / 2)
