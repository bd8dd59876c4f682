"""Experiments: quick runs on generated scenes, going on after interruptions, and independent scores."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multiutility.datasets import DatasetFolder, read_image
from multiutility.datasets.scenes import make_scenes
from multiutility.datasets.writing import write_dataset
from multiutility.experiments.cells import Cell, CellFiles, CellResult, Full, run_cells
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.experiment import EXPERIMENTS, run_experiment
from multiutility.experiments.results_page import join_pages, joined
from multiutility.experiments.study import Outcome, Setup, Study
from multiutility.experiments.table2 import Table2
from multiutility.vision import Segmenter
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.color_moments import ColorMean, ColorSpread
from multiutility.vision.features.descriptors.location import Location
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic
from multiutility.vision.weaken import weaken

PLAIN = Preset("plain", Slic(20), (ColorMean(), ColorSpread(), Location(3, 3)), (Boundary(),), weighted=True)
FAST: dict[str, Any] = {"C": 1.0, "tol": 0.5, "max_iter": 1}
N_TRAIN, N_TEST = 20, 12

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::multiutility.inference.pinpoint.UnmetCoverWarning"),
]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return make_scenes(tmp_path_factory.mktemp("scenes") / "scenes", N_TRAIN, N_TEST, 1, size=(72, 96))


@pytest.fixture(scope="module")
def setup(scenes: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    store = tmp_path_factory.mktemp("store")
    return Setup(scenes.path, "train", "validation", PLAIN, changes=FAST, n_seeds=2, store=store)


@pytest.fixture(scope="module")
def study(setup: Setup) -> Study:
    return Study.open(setup)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all experiments write to: they share cells."""
    return tmp_path_factory.mktemp("out")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_runs_write_everything(name: str, setup: Setup, out: Path) -> None:
    told: list[tuple[int, int]] = []

    def note(result: CellResult, done: int, total: int, kept: bool) -> None:
        assert 0 <= result.outcome.test.accuracy <= 1
        assert not kept or name != "table2"
        told.append((done, total))

    finished = run_experiment(name, replace(setup, quick=True), out, told=note)
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert all(path.is_file() for path in finished.files)
    found = json.loads((out / f"{name}.json").read_text())
    assert (found["n_train"], found["n_test"]) == (8, 8)
    assert found["command"].startswith(f"multiutility experiment {name} --data scenes --train train")
    assert len(found["rows"]) == 3
    for row in found["rows"]:
        assert {"annotations", "full", "features", "seed", "accuracy", "mean_recall", "seconds"} <= set(row)
        assert row["features"] == "plain"
        assert {"train_accuracy", "train_mean_recall", "parameters"} <= set(row)
    with (out / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["accuracy"]) for row in rows] == [row["accuracy"] for row in found["rows"]]
    page = (out / f"{name}.md").read_text()
    assert found["command"] in page
    assert f"]({name}.png)" in page
    assert read_image(out / f"{name}.png").ndim == 3
    assert "nan" not in page


def test_scores_are_those_of_a_dataset_that_was_weakened_and_learned_from(
    study: Study, scenes: DatasetFolder, tmp_path: Path
) -> None:
    (result,) = run_cells(study, [Cell("tags+boxes", 0, 0)], CellFiles(tmp_path / "cells"))
    train, test = scenes.split("train"), scenes.split("validation")
    weak = weaken(train, boxes=True, other=True)
    write_dataset(tmp_path / "weak", weak.classes, weak, {})
    truth = weaken(test, keep_masks=test.names, other=True)
    write_dataset(tmp_path / "truth", truth.classes, truth, {})
    model = Segmenter(PLAIN, **FAST).fit(DatasetFolder(tmp_path / "weak"))
    expected = model.evaluate(DatasetFolder(tmp_path / "truth"))
    assert result.row["accuracy"] == pytest.approx(expected["accuracy"])
    assert result.row["mean_recall"] == pytest.approx(expected["mean_recall"])


def test_without_rare_classes_no_model_predicts_them(
    scenes: DatasetFolder, setup: Setup, tmp_path: Path
) -> None:
    table = scenes.path / "classes.csv"
    marked = tmp_path / "marked"
    marked.mkdir()
    for part in ("images", "masks", "splits", "instances"):
        shutil.copytree(scenes.path / part, marked / part)
    lines = table.read_text().splitlines()
    lines[2] = lines[2].rsplit(",", 1)[0] + ",1"
    (marked / "classes.csv").write_text("\n".join(lines) + "\n")
    study = Study.open(replace(setup, data=marked, protocol="msrc21"))
    (result,) = run_cells(study, [Cell("none", "all", 0)], CellFiles(tmp_path / "cells"))
    assert len(study.classes) == len(scenes.classes) - 1
    assert result.outcome.test.n_labels == len(study.classes)
    void = sum(int((mask == 0).sum()) for mask in study.test.images.masks)
    before = sum(int((np.asarray(s.mask()) == 0).sum()) for s in scenes.split("validation"))
    rare = sum(int((np.asarray(s.mask()) == 2).sum()) for s in scenes.split("validation"))
    assert void == before + rare


def test_interrupted_runs_go_on_and_other_parameters_are_other_cells(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[str]()

    def interrupted(self: Study, method: str, kinds: str, *_: Any) -> Outcome:
        calls.append(kinds)
        if len(calls) == 3:
            raise KeyboardInterrupt
        assert method == "ours"
        some = Confusions.of([np.diag([9.0, len(calls)])] * len(self.test.images), rare=[1])
        return Outcome(some, some, np.array([0.5]), 1.25, 0.5)

    monkeypatch.setattr(Study, "outcome", interrupted)
    quick = replace(setup, quick=True)
    with pytest.raises(KeyboardInterrupt):
        run_experiment("table2", quick, tmp_path)
    assert len(list((tmp_path / "cells").iterdir())) == 2
    run_experiment("table2", quick, tmp_path)
    assert calls == ["none", "tags", "tags+boxes", "tags+boxes"]
    first = json.loads((tmp_path / "table2.json").read_text())
    run_experiment("table2", quick, tmp_path)
    assert len(calls) == 4
    assert json.loads((tmp_path / "table2.json").read_text()) == first
    run_experiment("table2", replace(quick, changes={**FAST, "C": 2.0}), tmp_path)
    assert len(calls) == 7
    for damaged in (tmp_path / "cells").iterdir():
        damaged.write_bytes(damaged.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"safetensors: damaged .* remove it"):
        run_experiment("table2", quick, tmp_path)


def test_processes_change_nothing(setup: Setup, out: Path, tmp_path: Path) -> None:
    quick = replace(setup, quick=True)
    run_experiment("table2", quick, out)
    run_experiment("table2", replace(quick, n_processes=2), tmp_path)
    one, two = (json.loads((folder / "table2.json").read_text())["rows"] for folder in (out, tmp_path))
    seconds = ("seconds", "learning_seconds")
    assert [{k: v for k, v in row.items() if k not in seconds} for row in one] == [
        {k: v for k, v in row.items() if k not in seconds} for row in two
    ]


def test_cells_of_table2(study: Study) -> None:
    cells = Table2().cells(study)
    ours = [cell for cell in cells if cell.method == "ours"]
    assert len(ours) == 1 + 4 + 5 * 2
    assert len(cells) == len(ours) + 8 * 3
    alone = replace(study, setup=replace(study.setup, baselines=False))
    assert Table2().cells(alone) == ours
    choice = study.choice("tags", 5, 1)
    assert (len(choice.masks), len(choice.weak)) == (5, N_TRAIN - 5)
    assert study.choice("none", 5, 1).weak == ()


def test_unknown_parameters_are_told(setup: Setup) -> None:
    with pytest.raises(ValueError, match="no parameter 'c': expected one of C, alpha, areas, beta"):
        replace(setup, changes={"c": 1})


def write_page(
    folder: Path, name: str, code: str | None, rows: Sequence[dict[str, Any]] = (), **about: Any
) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{name}.md").write_text(f"## {name} on {folder.name}\n\n![Plot]({name}.png)\n")
    (folder / f"{name}.png").write_bytes(folder.name.encode())
    checks = [{"claim": "a", "holds": holds, "detail": ""} for holds in (True, False, None)]
    found = {"data": "leaves", "command": f"make {name}", "rows": list(rows), "checks": checks, **about}
    (folder / f"{name}.json").write_text(json.dumps(found if code is None else {**found, "code": code}))


def row(annotations: str, full: Full, *scores: float | None, method: str = "ours") -> dict[str, Any]:
    names = ("accuracy", "mean_recall", "mean_iou")
    about = {"annotations": annotations, "full": full, "method": method}
    return {**about, **dict(zip(names, scores, strict=True))}


def test_pages_are_joined_with_their_plots(tmp_path: Path) -> None:
    place, page = tmp_path / "in", tmp_path / "docs" / "results.md"
    rows = [
        row("none", "all", 0.9, 0.8, 0.7),
        row("none", 5, 0.6, 0.5, 0.4),
        row("none", 5, 0.8, 0.7, 0.6),
        row("tags", 5, 0.71, 0.61, 0.51),
        row("points", 5, 0.7, 0.6, 0.8),
        row("tags", 0, 0.5, None, 0.1),
        row("points", 5, 1.0, 1.0, 1.0, method="ridge"),
    ]
    write_page(place, "table2", "abc", rows)
    write_page(place / "other", "table2", "abc")
    write_page(place, "figure-alpha", "abc", rows)
    write_page(place, "qualitative", "abc")
    (place / "tuning-deep.md").write_text("### Search\n")
    assert len(join_pages(place, page)) == 4
    text = page.read_text()
    # The mean over subsets, the best mix, and nothing where a measure is not defined.
    scores = "0.900 / 0.800 / 0.700 | 5: 0.700 / 0.600 / 0.500 | points: 0.700 / 0.600 / 0.800 | -"
    assert f"| [table2 on in](results/table2.md) | leaves | {scores} | 1 of 2 |" in text
    assert "| [figure-alpha on in](results/figure-alpha.md) | leaves | - | - | - | - | 1 of 2 |" in text
    assert "(results/other-table2.md)" in text
    assert "(results/searches.md)" in text
    assert "qualitative" not in text
    beside = page.with_suffix("")
    assert (beside / "other-table2.md").read_text() == "# table2 on other\n\n![Plot](other-table2.png)\n"
    assert (beside / "other-table2.png").read_bytes() == b"other"
    assert "### Search" in (beside / "searches.md").read_text()
    assert set(tmp_path.joinpath("docs").rglob("*.*")) == {*joined(place, page)}
    with pytest.raises(ValueError, match="there are no pages"):
        join_pages(tmp_path / "docs" / "results" / "none", tmp_path / "x.md")
    # Pages that were written into the folder itself are not taken for experiments the next time.
    assert join_pages(place, place / "results.md") == join_pages(place, place / "results.md")


def test_ways_to_learn_are_side_by_side(tmp_path: Path) -> None:
    page, same = tmp_path / "results.md", {"train": "train", "test": "test", "quick": False}
    ways = {
        "a": ("paper", "paper", [row("tags", 5, 0.5, 0.4, 0.3), row("tags", 5, 0.7, 0.6, 0.5)]),
        "b": ("deep", "auto", [row("tags", 5, 0.9, 0.8, None), row("none", "all", 1.0, 0.9, 0.8)]),
        "c": ("deep", "paper", []),
    }
    for folder, (features, method, rows) in ways.items():
        rows.append(row("tags", 0, 0.3, 0.2, 0.1, method="ridge"))
        for one in rows:
            one["parameters"] = {"method": method} if one["method"] == "ours" else {}
        about = {"experiment": "table2", "features": features, "protocol": "paper" if rows[1:] else "msrc21"}
        write_page(tmp_path / folder, "table2", "abc", rows, **same, **about)
    join_pages(tmp_path, page)
    lines = page.read_text().split("### Table 2")[1].splitlines()
    assert len(page.read_text().split("### ")) == 2  # the third is alone with its protocol
    assert lines[2] == "| annotations | masks | `paper`, paper | `deep`, auto | the paper's figures |"
    assert lines[4] == "| tags | 5 | 0.600 / 0.500 / 0.400 | 0.900 / 0.800 / - | 0.478 / 0.273 |"
    assert lines[5] == "| masks | all | - | 1.000 / 0.900 / 0.800 | 0.648 / 0.599 |"
    assert "ridge" not in lines


@pytest.mark.parametrize(("code", "why"), [("xyz", r"code xyz, .*table2.md by abc"), (None, "not known")])
def test_pages_of_other_code_are_refused(tmp_path: Path, code: str | None, why: str) -> None:
    write_page(tmp_path / "in", "table2", "abc")
    write_page(tmp_path / "in" / "other", "table1", code)
    with pytest.raises(ValueError, match=rf"table1.md: made by .*{why}; run again: make table1"):
        join_pages(tmp_path / "in", tmp_path / "docs" / "results.md")
    assert not (tmp_path / "docs").exists()


def test_features_of_a_quick_run_are_those_of_a_whole_one(
    setup: Setup, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("all features are in the store")

    monkeypatch.setattr("multiutility.vision.features.preset.FittedPreset.prepare", fail)
    quick = Study.open(replace(setup, quick=True))
    assert len(quick.images) == 8
    assert set(quick.images.names) < set(study.images.names)
