"""The command ``experiment``, and tuning for weak annotations: what they write, and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from multiutility.cli import app
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.study import Outcome, Study
from toy import write_toy

pytestmark = pytest.mark.usefixtures("cheap_features")

FAST = ("--set", "C=1", "--set", "tol=0.5", "--set", "max_iter=1", "--jobs", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("experiment") / "toy", n_train=12, n_validation=8).path


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def table2(folder: Path, out: Path) -> Result:
    where = ("--data", folder, "--train", "train", "--test", "validation", "--out", out)
    return run("experiment", "table2", *where, "--quick", *FAST)


def test_an_interrupted_experiment_ends_with_130_and_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, calls = Study.outcome, list[str]()

    def interrupted(self: Study, method: str, kinds: str, *rest: Any) -> Outcome:
        calls.append(kinds)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return outcome(self, method, kinds, *rest)

    monkeypatch.setattr(Study, "outcome", interrupted)
    stopped = table2(folder, tmp_path)
    assert stopped.exit_code == 130
    assert "1/3 masks, all full, seed 0, ours" in stopped.stderr
    done = table2(folder, tmp_path)
    assert done.exit_code == 0, done.stderr
    assert len(calls) == 4
    assert "(kept)" in done.stderr
    page = (tmp_path / "table2.md").read_text()
    assert done.stdout.strip() == page.strip()
    assert "does not hurt (two standard errors, paired bootstrap over images): " in page
    rows = json.loads((tmp_path / "table2.json").read_text())["rows"]
    assert [row["parameters"]["tol"] for row in rows] == [0.5] * 3
    joined = run("experiment", "results", "--out", tmp_path, "--page", tmp_path / "docs" / "all.md")
    assert joined.exit_code == 0
    assert (tmp_path / "docs" / "all" / "table2.png").is_file()


@pytest.mark.parametrize("words", [("--data", "{a}", "{b}"), ("--data", "{a}", "--data", "{b}")])
def test_what_weak_annotations_add_to_several_datasets(
    folder: Path, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def instead(self: Study, *_: Any) -> Outcome:
        n_labels = len(self.classes)
        found = Confusions.of([np.eye(n_labels) * 9 + 1] * len(self.test.images))
        return Outcome(found, found, np.zeros(2), 1.0, 0.5)

    monkeypatch.setattr(Study, "outcome", instead)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    where = (word.format(a=folder, b=copy) for word in words)
    options = ("--mixes", "points,tags", "--masks", "2", "--folds", 2, "--seeds", 1)
    done = run("experiment", "gain", *where, "--out", tmp_path / "out", *options, *FAST)
    assert done.exit_code == 0, done.stderr
    assert "copy, fold 2 of 2: 1/22 masks, all full, seed 0, ours" in done.stderr
    found = json.loads((tmp_path / "out" / "gain.json").read_text())
    assert [(one["name"], one["n_train"], one["n_test"]) for one in found["datasets"]] == [
        *(("toy", 6, 12), ("copy", 6, 12))
    ]
    assert found["protocol"] == "msrc21"
    assert "--data toy copy --train train" in found["command"]
    assert "--masks 2 --mixes points,tags --folds 2 --out results" in found["command"]
    assert {row["annotations"] for row in found["rows"]} == {"none", "points", "tags"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table2"], "--data is missing"),
        (["table2", "--data", "nowhere"], "there is no such folder"),
        (["table2", "--data", "{folder}", "--test", "nothing"], "no split 'nothing'"),
        (["table2", "--data", "{folder}", "--set", "c=1"], "no parameter 'c'"),
        (["table2", "--data", "{folder}", "--set", "C"], "expected NAME=VALUE"),
        (["budget", "--data", "{folder}", "--costs", "1,2"], "'1' is not understood"),
        (["budget", "--data", "{folder}", "--costs", "tags=1,tags=2"], "'tags=2' is not understood"),
        (["budget", "--data", "{folder}", "--costs", "tags=two"], "'two' is no number"),
        (["budget", "--data", "{folder}", "--costs", "mask=-1"], "a mask costs -1.0 seconds"),
        (["budget", "--data", "{folder}", "--minutes", "1,x"], "expected numbers with commas"),
        (["table2", "--data", "{folder}", "{folder}"], "table2 takes one, only gain takes more"),
        (["gain", "--data", "{folder}", "{folder}"], "two datasets are named 'toy'"),
        (["gain", "--data", "{folder}", "--masks", "2.5"], "expected whole numbers"),
        (["gain", "--data", "{folder}", "--mixes", "boxes"], "no mix 'boxes'"),
        (["gain", "--data", "{folder}", "--folds", "1"], "1 folds: expected at least 2"),
        (["gain", "--data", "{folder}", "nowhere"], "nowhere: there is no such folder"),
        (["results"], "there are no pages"),
    ],
)
def test_bad_input_is_told(arguments: list[str], message: str, folder: Path, tmp_path: Path) -> None:
    found = run("experiment", *(word.format(folder=folder) for word in arguments), "--out", tmp_path, *FAST)
    assert found.exit_code == 2
    assert message in found.stderr


def test_help_names_the_experiments() -> None:
    text = run("experiment", "--help").stdout
    assert "multiutility experiment" in text
    assert all(name in text for name in ("table2", "figure-rate", "self-training", "budget", "gain"))


def test_tuning_for_weak_annotations(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuning.json"
    grid = ("--grid", "C=0.1", "--grid", "alpha=1", "--grid", "beta=1")
    weak = ("--weaken", "tags+boxes", "--keep-masks", 2, "--protocol", "paper", "--metric", "mean")
    done = run(
        "tune", folder, "--folds", 2, *grid, *weak, "--out", out, "--json", "--set", "alpha=0.7", *FAST
    )
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["metric"] == "mean"
    assert {one["C"] for one in found["settings"]} == {0.1, 1.0}
    assert {one["alpha"] for one in found["settings"]} == {0.7, 1.0}
    other = run("tune", folder, "--folds", 2, *grid, "--weaken", "tags", "--out", out, "--json", *FAST)
    assert other.exit_code == 2
    assert "of other images, features or options" in other.stderr
    assert run("tune", folder, "--weaken", "masks", "--out", out, *FAST).exit_code == 2
    assert run("tune", folder, "--grid", "gamma=1", "--out", out, *FAST).exit_code == 2
