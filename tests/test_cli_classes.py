"""Classes from the command line: all files follow, or none."""

from __future__ import annotations

from pathlib import Path

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from multiutility.cli import app
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask
from multiutility.datasets.validate import validate
from multiutility.studio.lock import only_studio
from studio_cases import TOKEN, horizon, running, write_meadow


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


def content(folder: Path) -> dict[Path, bytes]:
    own = folder / "studio"
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and own not in p.parents}


def test_the_last_change_is_undone(folder: Path) -> None:
    before = content(folder)
    done = CliRunner().invoke(app, ["classes", "undo", str(folder)])
    assert (done.exit_code, "no change that could be taken back" in done.output) == (2, True)
    for words in (
        ("merge", "sky", "--into", "grass"),
        ("rename", "cow", "ox"),
        ("recolor", "cow", "#010203"),
        ("order", "cow"),
        ("delete", "sky"),
    ):
        run(words[0], str(folder), *words[1:])
        assert content(folder) != before
        assert "Taken back" in run("undo", str(folder))
        assert content(folder) == before
    run("rename", str(folder), "cow", "ox")
    changed = content(folder)
    with only_studio(folder / "studio"):
        done = CliRunner().invoke(app, ["classes", "undo", str(folder)])
    assert (done.exit_code, "another studio is open" in done.output) == (2, True)
    (folder / "tags.csv").write_text("image,label\none,ox\n")
    done = CliRunner().invoke(app, ["classes", "undo", str(folder)])
    assert (done.exit_code, "other changes came after it" in done.output) == (2, True)
    assert {**changed, **content(folder)} == content(folder)


def test_a_change_is_undone_in_the_studio(folder: Path) -> None:
    before = content(folder)
    run("rename", str(folder), "cow", "ox")
    with running(folder) as origin:
        headers = {"x-studio-token": TOKEN, "origin": origin}
        with httpx.Client(base_url=origin, headers=headers) as client:
            assert client.get("/api/upkeep").json()["undo"] == "cow is called ox"
            client.post("/api/undo", json={}).raise_for_status()
    assert content(folder) == before
