"""The demo: its datasets, its page, and the naive method it compares with."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import Ridge

from multiutility.datasets import DatasetFolder, PixelAnnotation, PixelBox, PixelSeed, validate
from multiutility.demo.report import MASKS, NAIVE, OURS
from multiutility.demo.run import N_SHOWN, Mix, run_demo
from multiutility.outputs import MANIFEST
from multiutility.vision.baselines import filled, ridge_weights
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.color_moments import ColorMean, ColorSpread
from multiutility.vision.features.descriptors.location import Location
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic

N_TRAIN, N_VALIDATION, MIX = 12, 6, Mix(masks=3, boxes=3, seeds=3)
PLAIN = Preset("plain", Slic(25), (ColorMean(), ColorSpread(), Location(4, 4)), (Boundary(),), weighted=True)


def run(folder: Path, **parameters: Any) -> dict[str, Any]:
    sizes = {"n_train": N_TRAIN, "n_validation": N_VALIDATION, "mix": MIX, "random_state": 1}
    return run_demo(folder, features=PLAIN, **{**sizes, **parameters})


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("demo") / "new" / "demo"
    return folder, run(folder)


class Reader(HTMLParser):
    """Notes tags, attributes and words, and fails on tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def page(demo: tuple[Path, dict[str, Any]]) -> Reader:
    reader = Reader()
    reader.feed((demo[0] / "report.html").read_text(encoding="utf-8"))
    reader.close()
    return reader


def test_page_is_well_formed_and_needs_nothing_else(page: Reader) -> None:
    assert page.open == []
    assert {tag for tag, *_ in page.attributes} & {"script", "link", "iframe", "a"} == set()
    sources = [value for _, name, value in page.attributes if name in ("src", "href", "srcset", "data")]
    assert sources
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    assert not any(mark in text for text in page.words for mark in ("url(", "@import", "http"))


def test_page_shows_annotations_and_predictions(page: Reader) -> None:
    sources = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    sizes = {Image.open(BytesIO(base64.b64decode(source.split(",", 1)[1]))).size for source in sources}
    assert sizes == {(240, 180)}
    assert len(sources) == 4 * 2 + N_SHOWN * (2 + 3)
    assert all(value for _, name, value in page.attributes if name == "alt")
    charts = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]
    assert charts == ["Recall of each class", "Objective and lower bound over time"]


def test_page_has_the_scores(demo: tuple[Path, dict[str, Any]], page: Reader) -> None:
    for scores in demo[1]["methods"].values():
        for name in ("accuracy", "mean_recall", "mean_iou"):
            assert f"{100 * scores[name]:.1f} %" in page.words
    assert "prefers-color-scheme: dark" in "".join(page.words)


def test_scores_are_json_of_all_methods(demo: tuple[Path, dict[str, Any]]) -> None:
    scores = json.loads(json.dumps(demo[1], allow_nan=False))
    assert list(scores["methods"]) == [MASKS, NAIVE, OURS]
    for one in scores["methods"].values():
        assert one["n_images"] == N_VALIDATION
        assert 0.2 < one["accuracy"] < 1
    seconds = scores["seconds"]
    assert seconds["together"] == pytest.approx(sum(seconds.values()) - seconds["together"])


def test_mixed_dataset_agrees_with_the_scenes(demo: tuple[Path, dict[str, Any]]) -> None:
    scenes, mixed = (DatasetFolder(demo[0] / name) for name in ("scenes", "mixed"))
    assert validate(mixed.path) == []
    assert scenes.names == mixed.names
    assert [mixed.split(name).names for name in mixed.splits] == [
        scenes.split(name).names for name in scenes.splits
    ]
    kinds = [sample.kinds for sample in mixed.split("train")]
    counts = {kind: sum(kind in one for one in kinds) for kind in ("mask", "boxes", "seeds")}
    assert counts == {"mask": MIX.masks, "boxes": MIX.boxes, "seeds": MIX.seeds}
    assert kinds.count(frozenset({"tags"})) == N_TRAIN - MIX.masks - MIX.boxes - MIX.seeds
    for sample in mixed:
        truth = scenes[sample.name].mask()
        assert truth is not None
        assert np.array_equal(sample.image(), scenes[sample.name].image())
        marks = {box.label for box in sample.marks.boxes} | {seed.label for seed in sample.marks.seeds}
        mask = sample.mask()
        if mask is None:
            assert {*sample.marks.tags, *marks} == set((np.unique(truth[truth > 0]) - 1).tolist())
        else:
            assert np.array_equal(mask, truth)


def test_nothing_is_left_behind(demo: tuple[Path, dict[str, Any]]) -> None:
    assert sorted(path.name for path in demo[0].iterdir() if path.name != MANIFEST) == [
        "mixed",
        "report.html",
        "scenes",
    ]


def test_again_in_the_same_folder_with_more_cores(demo: tuple[Path, dict[str, Any]]) -> None:
    stages: dict[str, tuple[int, int]] = {}
    again = run(demo[0], n_jobs=2, progress=lambda stage, *done: stages.update({stage: done}))
    assert again["methods"] == demo[1]["methods"]
    assert stages["scenes"] == (N_TRAIN + N_VALIDATION,) * 2
    assert stages["features for validation"] == (N_VALIDATION,) * 2
    assert {f"learning from {MASKS}", f"learning from {OURS}"} <= set(stages)


def test_keeps_the_datasets_of_others(tmp_path: Path) -> None:
    other = tmp_path / "scenes"
    other.mkdir()
    (other / "classes.csv").write_text("name,color,kind,rare\ngrass,#008000,stuff,0\n", encoding="utf-8")
    (other / "images").mkdir()
    Image.new("RGB", (4, 4)).save(other / "images" / "mine.png")
    with pytest.raises(ValueError, match=r"mine.png: is there already, and not of 'multiutility demo'"):
        run(tmp_path)
    assert (other / "images" / "mine.png").exists()


REGIONS = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]], dtype=np.int32)


def test_filling_boxes_and_seeds() -> None:
    # The small box lies in the large one, and covers half of region 3.
    boxes = (PixelBox(2, 2, 2, 3, 4), PixelBox(1, 0, 2, 4, 4))
    found = filled(PixelAnnotation(tags=(0,), boxes=boxes), REGIONS, n_labels=4)
    assert found.tolist() == [[4, 0, 0, 0], [4, 0, 0, 0], [0, 4, 0, 0], [0, 2, 2, 0]]
    found = filled(PixelAnnotation(tags=(0,), seeds=(PixelSeed(3, x=3, y=0),)), REGIONS, n_labels=4)
    assert found.tolist() == [[2, 0, 0, 2], [0, 0, 0, 4], [2, 0, 0, 2], [2, 0, 0, 2]]
    found = filled(PixelAnnotation(boxes=boxes), REGIONS, n_labels=4)
    assert found.sum(axis=1).tolist() == [4, 4, 4, 4]
    assert found[0].tolist() == [0, 2, 2, 0]


def test_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    features = [rng.standard_normal((n, 5)).astype(np.float32) for n in (20, 30)]
    targets = [rng.integers(0, 9, (n, 3)).astype(np.float64) for n in (20, 30)]
    targets[0][0] = 0  # a region that is void
    x, counts = np.concatenate(features), np.concatenate(targets)
    sizes = counts.sum(axis=1)
    shares = counts / np.maximum(sizes, 1)[:, np.newaxis]
    aims = shares - np.average(shares, axis=0, weights=sizes)
    squares = sizes @ (x.astype(np.float64) ** 2).sum(axis=1)
    model = Ridge(alpha=0.3 * squares, fit_intercept=False).fit(x, aims, sample_weight=sizes)
    assert ridge_weights(features, targets, penalty=0.3) == pytest.approx(model.coef_, abs=1e-6)
