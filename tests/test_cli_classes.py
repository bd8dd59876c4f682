"""Classes from the command line: all files follow, or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from multiutility.cli import app
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask
from multiutility.datasets.validate import validate
from multiutility.studio.lock import only_studio
from studio_cases import horizon, write_meadow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_meadow(tmp_path / "meadow")


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["classes", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_each_of_them(folder: Path) -> None:
    place = str(folder)
    run("rename", place, "cow", "ox")
    run("recolor", place, "ox", "#010203")
    run("order", place, "ox")
    dataset = DatasetFolder(folder)
    assert dataset.classes.names == ("ox", "grass", "sky")
    assert dataset.classes[0].color == (1, 2, 3)
    assert np.array_equal(read_mask(folder / "masks" / "two.png"), horizon() + 1)
    assert dataset["one"].marks.boxes[0].label == 0
    run("merge", place, "sky", "--into", "grass")
    assert (read_mask(folder / "masks" / "two.png") == 2).all()
    run("delete", place, "ox")
    assert run("list", place) == "#78be50  stuff   grass\n"
    assert DatasetFolder(folder)["one"].kinds == {"tags"}
    assert validate(folder) == []


def test_mistakes_change_nothing(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    for words, told in (
        (("rename", "cwo", "ox"), "did you mean 'cow'?"),
        (("rename", "cow", "sky"), "is there twice"),
        (("recolor", "cow", "red"), "bad color"),
        (("delete", "cow", "grass", "sky"), "0 classes"),
    ):
        done = CliRunner().invoke(app, ["classes", words[0], str(folder), *words[1:]])
        assert done.exit_code == 2
        assert told in done.output
    with only_studio(folder / "studio"):
        done = CliRunner().invoke(app, ["classes", "rename", str(folder), "cow", "ox"])
    assert (done.exit_code, "another studio is open" in done.output) == (2, True)
    assert {path: path.read_bytes() for path in before} == before
