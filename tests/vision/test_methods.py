"""Methods of the segmenter, and what its models tell of themselves."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.folder import DatasetFolder
from multiutility.inference import Expansion, Pinpoint
from multiutility.inference.pinpoint import unary_loss
from multiutility.learning import MultiUtilitySSVM
from multiutility.learning.optimizers.cutting_plane import CuttingPlane
from multiutility.learning.selection.evidence import Estimate
from multiutility.learning.starts.filled import Filled
from multiutility.learning.starts.masks import Masks
from multiutility.models import Potts
from multiutility.parallel import Threads
from multiutility.vision import Segmenter, features
from multiutility.vision.about import about_lines, judged, judged_text
from multiutility.vision.evaluation import Evaluation
from multiutility.vision.learning import Units
from multiutility.vision.model_file import KEY, ModelFileError, checksum
from multiutility.vision.training_set import TrainingSet, annotated_photos
from pieces import texts
from toy import toy_preset, write_mixed, write_toy

FAST: dict[str, Any] = {"tol": 0.3, "max_iter": 2}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def known_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return write_toy(tmp_path_factory.mktemp("methods") / "toy", n_train=8, n_validation=1)


@pytest.fixture(scope="module")
def mixed(folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    dataset = write_mixed(tmp_path_factory.mktemp("methods") / "mixed", folder)
    return Segmenter(toy_preset()).prepare(annotated_photos(dataset), dataset.classes)


@pytest.fixture(scope="module")
def masks(folder: DatasetFolder) -> TrainingSet:
    return Segmenter(toy_preset()).prepare(annotated_photos(folder.split("train")), folder.classes)


def by_hand(training: TrainingSet, shares: dict[int, float] | None = None, **changes: Any) -> Any:
    """The paper's objective in the units of the segmenter; returns the weights."""
    masked = [n for n in range(len(training.photos)) if training.small_annotation(n).mask is not None]
    units = Units.of([training.problems()[n] for n in masked])
    problems = [units.balanced(problem) for problem in training.problems()]
    given = {
        "alpha": 0.1,
        "starts": (Masks(otherwise=Filled()),),
        "imputer": Pinpoint(Expansion(), candidates="label", loss=unary_loss),
        **FAST,
        **changes,
    }
    learner = MultiUtilitySSVM(1.0 / units.nodes**2, random_state=0, **given)
    learner.fit(problems, training.annotations(beta=1.0, shares=shares))
    return units.weights(learner.weights_, Potts(learner.n_labels_).layout(problems[0]))


def test_paper_is_the_paper(mixed: TrainingSet) -> None:
    model = Segmenter(toy_preset(), method="paper", **FAST).fit_prepared(mixed)
    assert np.array_equal(model.predictor_.weights, by_hand(mixed))
    assert (list(model.chosen_), model.estimate_) == (["refinement"], None)
    assert model.predictor_.about["method"] == "paper"
    given = Segmenter(toy_preset(), method="paper", alpha=1.0, class_weight=0.5, **FAST).fit_prepared(mixed)
    assert np.array_equal(given.predictor_.weights, by_hand(mixed, alpha=1.0, class_weight=0.5))


def test_areas_are_those_of_the_masks(mixed: TrainingSet) -> None:
    seen: dict[int, list[float]] = {}
    for n in range(2):
        mask = mixed.small_annotation(n).mask
        assert mask is not None
        for label in set(mask[mask > 0].tolist()):
            seen.setdefault(label - 1, []).append(float((mask == label).sum() / (mask > 0).sum()))
    shares = {label: float(np.mean(found)) for label, found in seen.items()}
    assert mixed.shares_of_masks() == pytest.approx(shares)
    model = Segmenter(toy_preset(), method="paper", areas="estimated", **FAST).fit_prepared(mixed)
    assert np.array_equal(model.predictor_.weights, by_hand(mixed, mixed.shares_of_masks()))
    assert not np.array_equal(model.predictor_.weights, by_hand(mixed))


def test_cutting_planes_end_at_the_same_objective(masks: TrainingSet) -> None:
    given: dict[str, Any] = {"method": "paper", "tol": 0.05}
    one, other = (
        Segmenter(toy_preset(), optimizer=name, **given).fit_prepared(masks)
        for name in ("frank-wolfe", "cutting-plane")
    )
    assert np.array_equal(
        other.predictor_.weights, by_hand(masks, optimizer=CuttingPlane(), tol=0.05, max_iter=10)
    )
    ends = [float(model.objective_["primal"][-1]) for model in (one, other)]
    assert ends[0] == pytest.approx(ends[1], rel=0.06)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "old"}, "method is 'old': expected 'auto' or 'paper'"),
        ({"optimizer": "newton"}, "optimizer is 'newton'"),
        ({"areas": "large"}, "areas is 'large': expected 'uniform' or 'estimated'"),
        ({"areas": "estimated"}, "areas is 'estimated': sizes are learned, unless method is 'paper'"),
        (
            {"executor": Threads(), "store": "x", "optimizer": "cutting-plane"},
            "a cluster learns by 'frank-wolfe' only",
        ),
    ],
)
def test_parameters_are_checked(folder: DatasetFolder, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Segmenter(toy_preset(), **parameters).fit(folder)


def test_areas_need_masks(mixed: TrainingSet) -> None:
    weak = TrainingSet(
        mixed.classes, mixed.preset, mixed.max_side, list(mixed.photos[2:]), list(mixed.prepared[2:])
    )
    with pytest.raises(ValueError, match="no image has a mask to estimate them from"):
        Segmenter(toy_preset(), method="paper", areas="estimated").fit_prepared(weak)


def header_of(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    found: dict[str, Any] = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][KEY])
    return found


def write_header(path: Path, header: dict[str, Any]) -> None:
    rest = {name: value for name, value in header.items() if name != "checksum"}
    tensors = load_file(path)
    save_file(tensors, path, {KEY: json.dumps({**rest, "checksum": checksum(rest, tensors)})})


def test_files_keep_what_was_chosen_and_what_to_expect(masks: TrainingSet, tmp_path: Path) -> None:
    model = Segmenter(toy_preset(), **FAST).fit_prepared(masks)
    assert isinstance(model.estimate_, Estimate)
    model.save(tmp_path / "m.safetensors")
    loaded = Segmenter.load(tmp_path / "m.safetensors")
    assert loaded.chosen_ == model.chosen_
    assert loaded.estimate_ is not None
    assert loaded.estimate_.facts == model.estimate_.facts
    assert loaded.method == "auto"
    assert loaded.predictor_.about == model.predictor_.about
    html = loaded._repr_html_()
    assert html is not None
    for text in ("chosen", "class weights", "expected on new images", "by cross-validation over 8 masks"):
        assert text in html[html.rindex("<div><p>features") :]


@pytest.mark.parametrize(("loss", "method"), [("expected", "auto"), ("annotation", "paper")])
def test_files_of_before_are_read(masks: TrainingSet, tmp_path: Path, loss: str, method: str) -> None:
    path = tmp_path / "m.safetensors"
    model = Segmenter(toy_preset(), **FAST).fit_prepared(masks)
    model.save(path)
    header = header_of(path)
    new = {"method", "areas", "optimizer"}
    old = {name: value for name, value in header["parameters"].items() if name not in new}
    rest = {name: value for name, value in header.items() if name != "about"}
    write_header(path, {**rest, "parameters": {**old, "alpha": 0.3, "weak_loss": loss}})
    loaded = Segmenter.load(path)
    assert (loaded.method, loaded.alpha) == (method, 0.3)
    assert (loaded.chosen_, loaded.estimate_) == ({}, None)
    assert np.array_equal(loaded.predictor_.weights, model.predictor_.weights)
    write_header(path, {**rest, "parameters": {**old, "weak_loss": "strong"}})
    with pytest.raises(ModelFileError, match="weak_loss is 'strong': expected expected or annotation"):
        Segmenter.load(path)


@pytest.mark.parametrize(
    "about",
    [
        3,
        {"estimate": {"accuracy": [1, 2, 3]}},
        {"estimate": 1},
        {"estimate": {"accuracy": ["a", 0, 1], "mean_recall": [1, 0, 1], "mean_iou": [1, 0, 1]}},
        {"chosen": 1},
        {"chosen": {"class_weight": "x"}},
        {"chosen": {"trials": [1]}},
        {"chosen": {"provable_error": 0.5}},
    ],
)
def test_files_that_tell_nonsense_are_refused(masks: TrainingSet, tmp_path: Path, about: Any) -> None:
    path = tmp_path / "m.safetensors"
    Segmenter(toy_preset(), **FAST).fit_prepared(masks).save(path)
    write_header(path, {**header_of(path), "about": about})
    with pytest.raises(ModelFileError, match="its header cannot be used"):
        Segmenter.load(path)


def test_scores_are_compared_with_what_was_expected(
    masks: TrainingSet, folder: DatasetFolder, tmp_path: Path
) -> None:
    model = Segmenter(toy_preset(), **FAST).fit_prepared(masks)
    assert model.estimate_ is not None
    model.save(tmp_path / "m.safetensors")
    for one in (model, Segmenter.load(tmp_path / "m.safetensors")):
        scores = one.evaluate(folder.split("validation"))
        assert list(scores["expected"]) == ["accuracy", "mean_recall", "mean_iou"]
        for name, (value, low, high) in model.estimate_.facts.items():
            found = scores["expected"][name]
            assert (found["expected"], found["low"], found["high"]) == (value, low, high)
            assert found["inside"] == (low <= scores[name] <= high)
        assert "the model expected accuracy" in " ".join(texts(scores._repr_html_()))
        json.dumps(scores, allow_nan=False)
    paper = Segmenter(toy_preset(), method="paper", **FAST).fit_prepared(masks)
    assert paper.evaluate(folder.split("validation"))["expected"] == {}


def test_scores_at_the_ends_of_an_interval_are_inside() -> None:
    classes = Classes([LabelClass("sky", (0, 0, 9)), LabelClass("cow", (9, 0, 0))])
    # Accuracy 9 / 10, recall (3 / 4 + 1) / 2, IoU (3 / 4 + 6 / 7) / 2.
    matrix = np.array([[3.0, 1.0], [0.0, 6.0]])
    estimate = {"accuracy": [0.8, 0.7, 0.9], "mean_recall": [0.9, 0.88, 0.92], "mean_iou": [0.8, 0.75, 0.85]}
    found = Evaluation(classes, classes.names, matrix, {"one": 0.9}, {"estimate": estimate})
    inside = {name: one["inside"] for name, one in found.expected.items()}
    assert inside == {"accuracy": True, "mean_recall": False, "mean_iou": True}
    assert (
        "the model expected accuracy 0.800 (0.700 to 0.900): inside; mean recall 0.900 (0.880 to 0.920): "
        "outside; mean IoU 0.800 (0.750 to 0.850): inside"
    ) in texts(found._repr_html_())
    nothing = Evaluation(classes, classes.names, np.zeros((2, 2)), {}, {"estimate": estimate})
    assert nothing.expected == {}
    assert Evaluation(classes, classes.names, matrix, {}).to_dict()["expected"] == {}


def test_sentences() -> None:
    estimate = {"accuracy": [0.95, 0.93, 0.97], "mean_recall": [0.8, 0.7, 0.9], "mean_iou": [0.7, 0.6, 0.8]}
    chosen = {"start": "masks only", "class_weight": 0.5}
    assert about_lines({"chosen": chosen, "estimate": estimate, "n_masks": 9}) == [
        "chosen: masks only, class weights 0.5",
        "expected on new images: accuracy 0.950 (0.930 to 0.970), mean recall 0.800 (0.700 to 0.900), "
        "mean IoU 0.700 (0.600 to 0.800); by cross-validation over 9 masks",
    ]
    unproven = {
        "start": "soft labels",
        "provable_error": {"soft labels, 0": 0.125, "certain places, 0": 0.25},
    }
    assert about_lines({"chosen": unproven, "estimate": None}) == [
        "chosen: weak annotations read by soft labels, because other images show errors of 12.5 % "
        "(certain places: 25.0 %)",
        "expected on new images: errors of 12.5 % by their annotations; for scores, masks are needed",
    ]
    assert about_lines({}) == []
    scores = {"accuracy": 0.93, "mean_recall": 0.69, "mean_iou": None}
    found = judged({"estimate": estimate}, scores)
    assert {name: one["inside"] for name, one in found.items()} == {"accuracy": True, "mean_recall": False}
    assert judged_text(found) == (
        "the model expected accuracy 0.950 (0.930 to 0.970): inside; "
        "mean recall 0.800 (0.700 to 0.900): outside"
    )
    assert judged({}, scores) == {}
