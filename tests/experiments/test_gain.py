"""What weak annotations add: quick runs on generated scenes, folds, and reports on made-up scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multiutility.datasets import Classes, DatasetFolder, read_image
from multiutility.datasets.scenes import make_scenes
from multiutility.datasets.writing import write_dataset
from multiutility.experiments.cells import Cell, CellProgress, CellResult, Full
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.gain import BASELINES, MIXES, Gain, pool, run_gain, unidentified_in
from multiutility.experiments.gain_checks import checks_of
from multiutility.experiments.gain_findings import Findings, Measured, recovered
from multiutility.experiments.gain_report import dataset_table, sections_of
from multiutility.experiments.report import Check, Sheet
from multiutility.experiments.results_page import join_pages
from multiutility.experiments.study import Fold, Outcome, Setup, Study
from multiutility.kinds import PixelAnnotation, PixelSeed
from multiutility.vision import Segmenter
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.color_moments import ColorMean, ColorSpread
from multiutility.vision.features.descriptors.location import Location
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic
from multiutility.vision.weaken import weaken

PLAIN = Preset("plain", Slic(20), (ColorMean(), ColorSpread(), Location(3, 3)), (Boundary(),), weighted=True)
FAST: dict[str, Any] = {"C": 1.0, "tol": 0.5, "max_iter": 1}
ROW = {"dataset", "annotations", "full", "seed", "method", "accuracy", "mean_recall", "mean_iou", "seconds"}

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::multiutility.inference.pinpoint.UnmetCoverWarning"),
]


@pytest.fixture(scope="module")
def setups(tmp_path_factory: pytest.TempPathFactory) -> list[Setup]:
    """Two datasets of generated scenes."""
    place = tmp_path_factory.mktemp("scenes")
    made = [make_scenes(place / name, 12, 9, seed, size=(72, 96)) for seed, name in enumerate(("one", "two"))]
    return [
        Setup(
            dataset.path,
            "train",
            "validation",
            PLAIN,
            "msrc21",
            changes=FAST,
            n_seeds=2,
            store=place / "store",
        )
        for dataset in made
    ]


def listener(told: list[tuple[str, int, int, bool]]) -> Callable[[str], CellProgress]:
    def of(dataset: str) -> CellProgress:
        return lambda _result, done, total, kept: told.append((dataset, done, total, kept))

    return of


def test_quick_runs_write_everything_and_keep_cells(setups: list[Setup], tmp_path: Path) -> None:
    quick, told = [replace(setup, quick=True) for setup in setups], list[tuple[str, int, int, bool]]()
    finished = run_gain(Gain(), quick, tmp_path, told=listener(told), options=["--masks", "5,20"])
    assert told == [(name, n, 8, False) for name in ("one", "two") for n in range(1, 9)]
    assert all(path.is_file() for path in finished.files)
    assert {path.name for path in finished.files} == {
        *("gain.json", "gain.csv", "gain.md", "gain.png", "gain-recovered.png")
    }
    found = json.loads((tmp_path / "gain.json").read_text())
    words = "--data one two --train train --test validation --features plain --protocol msrc21 --quick"
    assert words in found["command"]
    assert [(one["name"], one["n_train"], one["n_test"]) for one in found["datasets"]] == [
        *(("one", 8, 8), ("two", 8, 8))
    ]
    assert len(found["rows"]) == 16
    assert all({*ROW, "chosen", "estimate"} <= set(row) for row in found["rows"])
    kinds = {(row["annotations"], row["full"], row["method"]) for row in found["rows"]}
    assert ("points", 0, "ours") in kinds
    assert ("points", 5, "ridge") in kinds
    assert {one["annotations"] for one in found["recovered"]} == {"tags", "points"}
    assert all(one["n_datasets"] == 2 for one in found["recovered"])
    assert len(found["checks"]) == 9
    with (tmp_path / "gain.csv").open() as file:
        assert [row["dataset"] for row in csv.DictReader(file)] == ["one"] * 8 + ["two"] * 8
    page = (tmp_path / "gain.md").read_text()
    assert page == finished.page
    assert "too few images to learn from: 20 masks of one, two." in page
    assert "nan" not in page
    assert read_image(tmp_path / "gain.png").ndim == read_image(tmp_path / "gain-recovered.png").ndim == 3
    told.clear()
    run_gain(Gain(), quick, tmp_path, told=listener(told))
    assert all(kept for *_, kept in told)
    join_pages(tmp_path, tmp_path / "docs" / "gain.md")
    assert "](gain-recovered.png)" in (tmp_path / "docs" / "gain" / "gain.md").read_text()
    for name in ("one", "two"):
        assert f"| {name} | " in (tmp_path / "docs" / "gain.md").read_text()


def test_boxes_that_are_wrongly_tight_are_run_by_name_only() -> None:
    assert "loose boxes" in Gain().mixes
    assert "loose boxes as tight" not in Gain().mixes
    assert Gain(mixes=("loose boxes as tight",)).mixes == ("loose boxes as tight",)


def test_folds_are_learned_from_the_others_and_cover_all_images(setups: list[Setup], tmp_path: Path) -> None:
    setup = replace(setups[0], baselines=False, n_seeds=1, n_processes=2)
    gain = Gain((5,), ("points",), n_folds=2)
    told = list[tuple[str, int, int, bool]]()
    run_gain(gain, [setup], tmp_path, told=listener(told))
    assert {name for name, *_ in told} == {"one, fold 1 of 2", "one, fold 2 of 2"}
    found = json.loads((tmp_path / "gain.json").read_text())
    assert (found["datasets"][0]["n_train"], found["datasets"][0]["n_test"]) == (6, 12)
    (row,) = [one for one in found["rows"] if (one["annotations"], one["full"]) == ("points", 0)]
    # The same with datasets that were weakened, learned from, and compared with masks, one after the other.
    train = DatasetFolder(setup.data).split("train")
    order = np.random.default_rng(0).permutation(12)
    right = known = 0
    model = Segmenter(PLAIN, **FAST, store=setup.store)
    for fold in range(2):
        held = [train.names[n] for n in sorted(order[fold::2].tolist())]
        rest = train.select([name for name in train.names if name not in held])
        weak = weaken(rest, points=True)
        write_dataset(tmp_path / f"fold{fold}", weak.classes, weak, {})
        model.fit(DatasetFolder(tmp_path / f"fold{fold}"))
        for sample in train.select(held):
            truth, given = sample.mask(), model.predict([sample.path])[0]
            assert truth is not None
            right += int(((truth == given) & (truth > 0)).sum())
            known += int((truth > 0).sum())
    assert row["accuracy"] == pytest.approx(right / known, abs=1e-9)


def test_folds_never_share_images() -> None:
    folds = [Fold(n, 4).held_out(11, random_state=3) for n in range(4)]
    assert sorted(n for fold in folds for n in fold) == list(range(11))
    assert max(map(len, folds)) == len(folds[0]) == 3
    with pytest.raises(ValueError, match="2 training images cannot be cut into 4 folds"):
        Fold(0, 4).held_out(2, 0)


def test_cells(setups: list[Setup]) -> None:
    study = Study.open(setups[0])
    cells = Gain((5, 20), ("tags", "points")).cells(study)
    ours = [cell for cell in cells if cell.method == "ours"]
    # All masks, each mix without any, and on two subsets masks alone and each mix; 20 are too many.
    assert len(ours) == 1 + 2 + 2 * 3
    # Three methods on each mix, with and without masks; regressions on masks alone, too.
    assert len(cells) - len(ours) == 2 * 2 * 3 + 2 * 2
    assert {cell.seed for cell in cells if cell.method != "ours"} == {0}
    assert len(set(cells)) == len(cells)
    alone = replace(study, setup=replace(study.setup, baselines=False))
    assert Gain((5,), ("tags", "points")).cells(alone) == ours


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"masks": (0,)}, "masks are"),
        ({"masks": (5, 5)}, "masks are"),
        ({"masks": ()}, "masks are"),
        ({"mixes": ("boxes",)}, "no mix 'boxes'"),
        ({"mixes": ("tags", "tags")}, "expected different ones"),
        ({"n_folds": 1}, "1 folds: expected at least 2"),
    ],
)
def test_bad_options_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Gain(**options)


def test_datasets_need_different_names(setups: list[Setup], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two datasets are named 'one'"):
        run_gain(Gain(), [setups[0], setups[0]], tmp_path)


# Reports on made-up scores: both classes are as frequent, and a part p of each is right, so that accuracy and
# recall are p, and IoU is p / (2 - p).


def outcome(right: float, about: dict[str, Any] | None = None, n_images: int = 40) -> Outcome:
    count = round(1000 * right)
    one = np.array([[count, 1000 - count], [1000 - count, count]], dtype=np.float64)
    found = Confusions.of([one] * n_images)
    return Outcome(found, found, np.zeros(2), 1.0, 1.0, about or {})


def iou(right: float) -> float:
    return right / (2 - right)


Scores = dict[tuple[str, Full, str], float]
SCORES: Scores = {
    ("none", "all", "ours"): 0.9,
    ("none", 5, "ours"): 0.7,
    **{(mix, 5, "ours"): 0.86 for mix in MIXES},
    **{(mix, 0, "ours"): 0.82 for mix in MIXES},
    **{("tags", 5, method): 0.8 for method in BASELINES},
}


def made_up(scores: Scores, name: str = "one", about: dict[str, Any] | None = None) -> Measured:
    results = [
        CellResult(Cell(kinds, full, 0, method), "toy", "msrc21", 9, {}, outcome(right, about))
        for (kinds, full, method), right in scores.items()
    ]
    return Measured(name, 30, 40, ("a", "b"), Sheet(results), results, [])


def checked(*measured: Measured) -> list[Check]:
    return checks_of(Findings(measured, (5,), MIXES), BASELINES)


def answers(checks: list[Check]) -> list[bool | None]:
    return [check.holds for check in checks]


def test_all_is_well() -> None:
    found = checked(made_up(SCORES), made_up(SCORES, "two"))
    assert answers(found) == [True] * 8 + [None]
    assert found[0].detail == f"0 of {3 * 2 * len(MIXES)}"
    assert "no model has an estimate" in found[-1].detail


def test_nothing_was_run() -> None:
    assert set(answers(checked(made_up({})))) == {None}


def test_the_gap_is_that_of_all_datasets_together() -> None:
    # All masks add nothing in the second, where a ratio of its own is undefined.
    flat = {**SCORES, ("none", "all", "ours"): 0.7, ("tags", 5, "ours"): 0.69}
    found = recovered([made_up(SCORES), made_up(flat, "two")], "tags", 5)
    assert found is not None
    above = iou(0.86) - iou(0.7) + iou(0.69) - iou(0.7)
    assert found.parts[2] == pytest.approx(above / (iou(0.9) - iou(0.7)))
    assert found.parts[:2] == pytest.approx([(0.16 - 0.01) / 0.2] * 2)
    assert found.errors == pytest.approx([0, 0, 0], abs=1e-12)
    alone = recovered([made_up(flat)], "tags", 5)
    assert alone is not None
    assert np.isnan(alone.parts).all()
    assert alone.text == ["-"] * 3
    assert recovered([made_up(flat)], "tags", 20) is None
    assert answers(checked(made_up(flat)))[4] is None


@pytest.mark.parametrize(("lower", "holds"), [(0.695, True), (0.68, False)])
def test_some_noise_is_allowed_but_not_much(lower: float, holds: bool) -> None:
    names = [f"dataset {n}" for n in range(20)]
    some = made_up({**SCORES, ("points", 5, "ours"): lower}, names[0])
    # 3 of 300 comparisons.
    check = checked(some, *(made_up(SCORES, name) for name in names[1:]))[0]
    assert check.holds is holds
    assert check.detail.startswith(f"3 of {3 * 20 * len(MIXES)}: dataset 0, points with 5 masks: accuracy -")
    # 3 of 15 are too many, however small.
    assert checked(some)[0].holds is False


def test_little_is_recovered() -> None:
    poor = {**SCORES, ("tags+seeds", 5, "ours"): 0.74, ("tags+boxes", 0, "ours"): 0.7}
    found = {check.claim: check.holds for check in checked(made_up(poor))}
    assert [claim for claim, holds in found.items() if holds is False] == [
        "With 5 masks, tags+seeds recover 0.4 of the gap in mean IoU",
        "Without masks, tags+boxes reach 0.8 of the mean IoU of all masks, in the mean over datasets whose "
        "labels they can tell apart",
    ]


def test_what_annotations_cannot_tell_apart_is_not_expected() -> None:
    """Without masks, a mix that cannot tell labels apart is left out, and so are other methods there."""
    poor = {**SCORES, ("tags+boxes", 0, "ours"): 0.5, ("tags+boxes", 0, "ridge"): 0.6}
    good, bad = made_up(SCORES), made_up(poor, "two")
    assert answers(checked(good, bad))[6:8] == [False, False]
    confused = replace(bad, unidentified={("tags+boxes", 0): ["sky", "road"]})
    found = checked(good, confused)
    assert answers(found)[6:8] == [True, True]
    assert found[6].detail == f"{iou(0.82) / iou(0.9):.2f}: one {iou(0.82) / iou(0.9):.2f}, two " + (
        f"{iou(0.5) / iou(0.9):.2f}; two left out, as nothing tells sky, road apart"
    )
    # With a mix that is not confused, all count.
    other = replace(bad, unidentified={("tags", 0): ["sky", "road"]})
    assert answers(checked(good, other))[6:8] == [False, False]


def test_confused_labels_are_those_of_the_annotations() -> None:
    """Four images with the same two tags tell nothing apart; one point of each in all of them does."""
    said = {
        "tags": PixelAnnotation(tags=(0, 2)),
        "points": PixelAnnotation(seeds=(PixelSeed(0, 1, 1), PixelSeed(2, 5, 5))),
    }
    images = SimpleNamespace(annotated=lambda kinds, _: [SimpleNamespace(annotation=lambda: said[kinds])] * 4)
    study: Any = SimpleNamespace(
        images=images,
        classes=Classes.from_names(["sky", "car", "road"]),
        setup=SimpleNamespace(seeds=[0]),
        choice=lambda *_: None,
    )
    cells = [Cell("tags", 0, 0), Cell("tags", 0, 1), Cell("points", 0, 0)]
    assert unidentified_in(study, cells) == {("tags", 0): ["sky", "road"]}


def test_others_that_win_are_listed() -> None:
    one = made_up({**SCORES, ("tags", 5, "ridge"): 0.88, ("tags", 5, "logistic"): 0.86})
    check = checked(one)[7]
    assert check.holds is False
    assert check.detail.startswith(
        "one, tags with 5 masks by ridge: accuracy / mean recall / mean IoU +2.0 ±"
    )
    assert "logistic" not in check.detail
    page = "\n".join(sections_of(Findings([one], (5,), MIXES), BASELINES))
    (line,) = [line for line in page.split("\n") if line.startswith("| one | tags | 5 | 0.860 / 0.860 /")]
    assert line.endswith("| ridge |")


@pytest.mark.parametrize(
    ("low", "high", "holds"), [(0.85, 0.95, True), (0.91, 0.99, False), (0.7, 0.95, False)]
)
def test_estimates_are_compared_with_scores(low: float, high: float, holds: bool) -> None:
    estimate = {"estimate": {"accuracy": [0.9, low, high], "mean_recall": [0.9, low, high]}}
    one = made_up({("none", "all", "ours"): 0.9, ("tags", 0, "ours"): 0.1}, about=estimate)
    check = checked(one)[-1]
    assert check.holds is holds
    assert check.detail.endswith("2 intervals")
    assert one.sheet.results[0].row["estimate"] == estimate["estimate"]


def test_tables_have_all_cells() -> None:
    one = made_up(SCORES)
    text = dataset_table(Findings([one], (20, 5), MIXES), one)
    assert len(text.split("\n")) == 2 + len(MIXES) + (1 + len(MIXES)) + 1
    assert (
        "| points | 5 | 0.860 / 0.860 / 0.754 | +16.0 ± 0.0 / +16.0 ± 0.0 / +21.6 ± 0.0 points | no | 1 |"
        in text
    )
    assert "| masks only | all | 0.900 / 0.900 / 0.818 | - | - | 1 |" in text


def test_folds_are_pooled() -> None:
    parts = [
        CellResult(
            Cell("tags", 5, 0), "toy", "msrc21", 9, {}, outcome(right, {"chosen": {"C": right}}, n_images)
        )
        for right, n_images in ((0.9, 10), (0.6, 20))
    ]
    found = pool(parts)
    assert found.outcome.test.accuracy == pytest.approx((0.9 * 10 + 0.6 * 20) / 30)
    assert found.outcome.test.n_images == 30
    assert (found.outcome.seconds, found.row["chosen"]) == (2.0, [{"C": 0.9}, {"C": 0.6}])
    assert pool(parts[:1]) is parts[0]
