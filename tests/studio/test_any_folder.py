"""Any folder of pictures opens, and what is wrong in it stops nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.validate import validate
from studio_cases import SIZE, TOKEN, marks, running


def photos(folder: Path, *names: str) -> Path:
    """Write pictures of noise."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in names:
        Image.fromarray(rng.integers(0, 255, (*SIZE, 3), dtype=np.uint8)).save(folder / name)
    return folder


def talking(origin: str) -> httpx.Client:
    return httpx.Client(base_url=origin, headers={"x-studio-token": TOKEN, "origin": origin})


@pytest.mark.parametrize("place", ["", "images"])
def test_a_folder_of_pictures_opens_and_is_a_dataset_then(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "photos"
    photos(folder / place, "IMG 1.JPG", "two.png")
    (folder / "notes.docx").write_bytes(b"mine")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with running(folder) as origin, talking(origin) as client:
        assert client.get("/api/dataset").json()["classes"] == []
        assert [row["name"] for row in client.get("/api/images").json()["images"]] == ["IMG 1", "two"]
        assert client.get("/api/images/two/thumbnail").status_code == 200
        assert client.get("/api/suggestions").json()["suggestions"]
        assert client.post("/api/training", json={}).status_code == 400
        assert client.post("/api/classes", json={"name": "sky", "kind": "stuff"}).status_code == 201
        found = client.get("/api/images/two").json()
        version = {"if-match": found["marks"]["version"]}
        assert client.put("/api/images/two/marks", json=marks(["sky"]), headers=version).status_code == 200
    dataset = DatasetFolder(folder)
    assert (dataset.classes.names, dataset["two"].marks.tags) == (("sky",), (0,))
    assert validate(folder) == []
    assert {path: path.read_bytes() for path in before} == before


def test_pictures_in_images_are_the_dataset_if_there_are_any(tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", "cover.png")
    photos(folder / "images", "one.png")
    (folder / "classes.csv").write_text("name\nsky\n")
    assert DatasetFolder(folder).names == ("one",)


def test_files_that_cannot_be_shown_do_not_stop_the_others(tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", "one.png", "one.bmp", "two.png")
    (folder / "away.png").symlink_to(photos(tmp_path / "elsewhere", "x.png") / "x.png")
    with running(folder) as origin, talking(origin) as client:
        assert len(client.get("/api/images").json()["images"]) == 2
        unused = client.get("/api/dataset").json()["unused"]
    assert len(unused) == 2
    assert any("same name" in text for text in unused)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("grass\nsky\n", ("grass", "sky")),
        ("grass", ("grass",)),
        ("grass;#00ff00\nsky;#0000ff\n", ("grass", "sky")),
        ("\ufeffgrass\r\ntree top\r\n", ("grass", "tree top")),
    ],
)
def test_a_list_of_classes_without_a_header(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    folder = photos(tmp_path / "photos", "one.png")
    (folder / "classes.csv").write_bytes(text.encode())
    dataset = DatasetFolder(folder)
    assert dataset.classes.names == names
    if ";" in text:
        assert dataset.classes[1].color == (0, 0, 255)
    with running(folder) as origin, talking(origin) as client:
        client.post("/api/classes", json={"name": "cow", "kind": "thing"}).raise_for_status()
    assert DatasetFolder(folder).classes.names == (*names, "cow")
    assert DatasetFolder(folder).classes[0] == dataset.classes[0]


def test_a_header_of_another_name_is_no_class(tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", "one.png")
    (folder / "classes.csv").write_text("Label\ngrass\n")
    (problem,) = validate(folder)
    assert (problem.row, problem.what) == (1, "no column name")


def test_a_photo_that_was_removed_leaves_the_others(folder: Path) -> None:
    kept = (folder / "tags.csv").read_bytes(), (folder / "boxes.csv").read_bytes()
    shutil.move(folder / "images" / "one.png", folder.parent)
    with running(folder) as origin, talking(origin) as client:
        rows = client.get("/api/images").json()["images"]
        assert [row["name"] for row in rows] == ["drei ü", "two"]
        (missing,) = client.get("/api/dataset").json()["missing"]
        assert missing == {"name": "one", "files": {"boxes.csv": 1, "tags.csv": 1}}
        # What the others get is written beside the rows of the lost one, which stay.
        found = client.get("/api/images/two").json()
        version = {"if-match": found["marks"]["version"]}
        assert client.put("/api/images/two/marks", json=marks(["sky"]), headers=version).status_code == 200
        assert (folder / "tags.csv").read_bytes().startswith(kept[0])
        shutil.move(folder.parent / "one.png", folder / "images")
        assert client.get("/api/dataset").json()["missing"] == []
        assert client.get("/api/images/one").json()["marks"]["tags"] == ["grass"]
    assert (folder / "boxes.csv").read_bytes() == kept[1]
