"""How models and scores look in notebooks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.vision import Segmenter, features
from multiutility.vision.display import curve_svg
from multiutility.vision.evaluation import Evaluation
from pieces import texts
from toy import CLASSES, toy_preset, write_toy


def test_model_before_and_after_learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")
    dataset = write_toy(tmp_path / "toy")
    model = Segmenter(toy_preset(), alpha=0.25)
    plain = model._repr_html_()
    assert plain is not None
    assert "0.25" in plain
    assert "<div><p>features" not in plain
    model.fit(dataset)
    html = model._repr_html_()
    assert html is not None
    ours = html[html.rindex("<div><p>features") :]
    assert [text for text in texts(ours) if text in CLASSES.names] == list(CLASSES.names)
    assert str(len(dataset)) in texts(ours)
    assert len(re.findall(r"<polyline", ours)) == 2
    assert f"after {len(model.objective_)} passes" in ours
    assert not re.search(r'(src|href)="(?!data:|#)', html)
    model.save(tmp_path / "model.safetensors")
    loaded = Segmenter.load(tmp_path / "model.safetensors")._repr_html_()
    assert loaded is not None
    assert "iterations" not in loaded[loaded.rindex("<div><p>features") :]
    with config_context(display="text"):
        assert model._repr_html_() is None
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}


def test_scores_and_confusions() -> None:
    classes = Classes(
        [LabelClass("<sky>", (0, 0, 9)), LabelClass("cow", (9, 0, 0)), LabelClass("sea", (0, 9, 9))]
    )
    matrix = np.array([[3.0, 1.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 0.0]])
    evaluation = Evaluation(classes, classes.names, matrix, {"one": 0.9})
    scores = evaluation.to_dict()
    table = texts(scores._repr_html_())
    assert table[:2] == ["accuracy", "90.0 %"]
    row = table.index("<sky>")
    assert table[row : row + 4] == ["<sky>", "75.0 %", "75.0 %", "4"]
    assert "sea" not in table
    assert scores == dict(scores)
    whole = texts(evaluation._repr_html_())
    called = whole.index("called")
    assert whole[called:] == ["called", "<sky>", "cow", "<sky>", "75", "25", "cow", "100"]


def test_curve_goes_from_left_to_right_and_down() -> None:
    kind = np.dtype([("primal", float), ("dual", float)])
    svg = curve_svg(np.array([(4.0, 0.0), (2.0, 1.0), (1.5, 1.4)], dtype=kind))
    primal, dual = (
        np.array([point.split(",") for point in points.split()], dtype=float)
        for points in re.findall(r'points="([^"]+)"', svg)
    )
    assert (np.diff(primal[:, 0]) > 0).all()
    assert (np.diff(primal[:, 1]) > 0).all()  # down on a screen
    assert (np.diff(dual[:, 1]) < 0).all()
    assert primal[0, 1] == pytest.approx(5)
    assert dual[0, 1] == pytest.approx(135)
