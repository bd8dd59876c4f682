"""Import, export and prediction from the page."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.images import read_mask
from studio_cases import horizon, write_small_model


def finished(client: httpx.Client, **data: Any) -> dict[str, Any]:
    """Run a command to its end."""
    client.post("/api/commands", json=data).raise_for_status()
    while (found := client.get("/api/commands").json())["status"] == "running":
        time.sleep(0.05)
    return dict(found)


def test_export_and_import_again(client: httpx.Client, folder: Path) -> None:
    formats = client.get("/api/commands").json()["formats"]
    assert {one["name"] for one in formats} == set(FORMATS)
    found = finished(client, what="export", format="coco", place="other program")
    assert found["status"] == "done", found
    out = folder.parent / "other program"
    assert found["place"] == str(out)
    found = finished(client, what="import", format="coco", source="other program", place="again")
    assert found["status"] == "done", found
    before, after = DatasetFolder(folder), DatasetFolder(folder.parent / "again")
    assert after.classes.names == before.classes.names
    assert after["one"].marks.boxes == before["one"].marks.boxes
    assert np.array_equal(after["two"].mask(), horizon())  # type: ignore[arg-type]


def test_nothing_of_others_is_written_over(client: httpx.Client, folder: Path) -> None:
    mine = folder.parent / "mine"
    mine.mkdir()
    (mine / "annotations.json").write_text("mine")
    before = {path: path.read_bytes() for path in folder.parent.rglob("*.*") if path.is_file()}
    for place in ("mine", str(folder), str(folder / "images")):
        found = finished(client, what="export", format="coco", place=place)
        assert found["status"] == "failed"
        assert found["lines"][-1].startswith("Error: ")
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_is_predicted(client: httpx.Client, folder: Path) -> None:
    found = finished(client, what="predict", source=str(folder / "images"), place="results")
    assert (found["status"], "model.safetensors" in "".join(found["lines"])) == ("failed", True)
    write_small_model(folder)
    shutil.copytree(folder / "images", folder.parent / "new")
    (folder.parent / "new" / "bad.png").write_bytes(b"no picture")
    found = finished(client, what="predict", source="new", place="results")
    assert found["status"] == "done", found
    masks = sorted((folder.parent / "results").rglob("*.png"))
    assert any(read_mask(path).shape == horizon().shape for path in masks if "overlay" not in str(path))
    assert any("bad.png" in line for line in found["lines"])


def test_one_at_a_time_and_cancelled(client: httpx.Client, folder: Path) -> None:
    client.post("/api/commands", json={"what": "export", "format": "voc", "place": "x"}).raise_for_status()
    again = client.post("/api/commands", json={"what": "export", "format": "voc", "place": "y"})
    assert again.status_code == 409
    assert client.delete("/api/commands").json()["status"] in {"cancelled", "done"}
    assert not (folder.parent / "y").exists()


def test_other_things_cannot_be_run(client: httpx.Client) -> None:
    good = {"what": "export", "format": "coco", "place": "x"}
    for bad in ({"what": "train"}, {"format": "msrc"}, {"format": "--help"}, {"place": ""}, {"place": 7}):
        assert client.post("/api/commands", json={**good, **bad}).status_code == 400
    assert client.post("/api/commands", json=[]).status_code == 400
    assert client.get("/api/commands").json()["status"] == "none"
    stranger = client.post("/api/commands", json=good, headers={"origin": "http://x"})
    assert stranger.status_code == 403
