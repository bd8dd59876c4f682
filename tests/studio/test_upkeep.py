"""Labels and files of the whole folder, changed from the page: at once, or not at all, and taken back."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask
from multiutility.datasets.validate import validate
from multiutility.kinds.tags import OpenTag
from studio_cases import COW, horizon, marks, packed, write_small_model


def listed(client: httpx.Client) -> tuple[list[dict[str, Any]], str]:
    """Classes as the class manager sends them, and their version."""
    found = client.get("/api/dataset").json()
    rows = [
        {"name": c["name"], "color": c["color"], "kind": c["kind"], "of": [c["name"]]}
        for c in found["classes"]
    ]
    return rows, found["classes_version"]


def test_classes_are_changed_and_that_is_undone(client: httpx.Client, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    (grass, sky, cow), version = listed(client)
    wanted = [{**cow, "name": "ox"}, {**grass, "color": "#00ff00", "of": ["grass", "sky"]}]
    answer = client.put("/api/classes", json={"classes": wanted, "version": version})
    assert (answer.status_code, answer.json()["undo"]) == (200, "change of labels")
    dataset = DatasetFolder(folder)
    assert dataset.classes.names == ("ox", "grass")
    assert dataset.classes[1].color == (0, 255, 0)
    assert (read_mask(folder / "masks" / "two.png") == 2).all()
    assert dataset["one"].marks.tags == (1,)
    assert dataset["one"].marks.boxes[0].label == 0
    assert validate(folder) == []
    # Who still has the old ones in mind changes nothing.
    late = client.put("/api/classes", json={"classes": [sky], "version": version})
    assert (late.status_code, "changed elsewhere" in late.json()["error"]) == (400, True)
    assert client.post("/api/undo", json={}).json()["undo"] is None
    assert {path: path.read_bytes() for path in before} == before
    assert client.post("/api/undo", json={}).status_code == 400


def test_a_page_that_means_other_labels_writes_nothing(client: httpx.Client, folder: Path) -> None:
    (grass, sky, cow), version = listed(client)
    page = client.get("/api/images/two").json()
    client.put("/api/classes", json={"classes": [cow, sky, grass], "version": version}).raise_for_status()
    now = client.get("/api/images/two").json()
    headers = {"if-match": now["versions"]["mask"], "x-labels": version}
    answer = client.put("/api/images/two/mask", content=packed(horizon()), headers=headers)
    assert (answer.status_code, "labels were changed" in answer.json()["error"]) == (412, True)
    headers = {"if-match": page["marks"]["version"], "x-labels": version}
    assert client.put("/api/images/two/marks", json=marks(["cow"]), headers=headers).status_code == 412
    assert np.array_equal(read_mask(folder / "masks" / "two.png"), 4 - horizon())
    # One that does not know of a label that was added may go on.
    _, version = listed(client)
    client.post("/api/classes", json={"name": "road", "kind": "stuff"}).raise_for_status()
    headers = {"if-match": now["versions"]["mask"], "x-labels": version}
    assert client.put("/api/images/two/mask", content=packed(horizon()), headers=headers).status_code == 200


def test_a_label_that_is_added_later_is_unknown_where_tags_were_complete(
    client: httpx.Client, folder: Path
) -> None:
    assert client.get("/api/upkeep").json()["complete"] == 1
    client.post("/api/classes", json={"name": "road", "kind": "stuff"}).raise_for_status()
    sample = DatasetFolder(folder)["one"]
    # The cow has a box, and is no tag: it is not said to be absent.
    assert sample.marks.tags == (OpenTag(0), OpenTag(1, present=False))
    assert sample.annotation().partition(4).unknown == (3,)
    assert client.get("/api/upkeep").json()["complete"] == 0


def test_whoever_has_looked_says_that_it_is_in_none(client: httpx.Client, folder: Path) -> None:
    before = (folder / "tags.csv").read_bytes()
    client.post("/api/classes", json={"name": "road", "kind": "stuff", "looked": True}).raise_for_status()
    assert (folder / "tags.csv").read_bytes() == before
    assert DatasetFolder(folder)["one"].annotation().partition(4).absent == (1, 3)


def test_rows_of_a_photo_that_is_gone(client: httpx.Client, folder: Path) -> None:
    shutil.move(folder / "images" / "one.png", folder.parent)
    answer = client.post("/api/upkeep", json={"action": "aside", "names": ["one"]}).json()
    assert (answer["missing"], answer["undo"]) == ([], "annotations of one set aside")
    assert answer["aside"] == [{"name": "one", "files": {"tags.csv": 1, "boxes.csv": 1}, "here": False}]
    assert [finding.file for finding in validate(folder)] == []
    client.post("/api/undo", json={}).raise_for_status()
    assert len(client.get("/api/upkeep").json()["missing"]) == 1
    client.post("/api/upkeep", json={"action": "aside", "names": ["one"]}).raise_for_status()
    shutil.move(folder.parent / "one.png", folder / "images")
    assert client.get("/api/upkeep").json()["aside"][0]["here"]
    client.post("/api/upkeep", json={"action": "back", "names": ["one"]}).raise_for_status()
    assert client.get("/api/images/one").json()["marks"]["boxes"] == [COW]


def test_a_photo_that_was_renamed(client: httpx.Client, folder: Path) -> None:
    (folder / "images" / "one.png").rename(folder / "images" / "uno.png")
    data = {"action": "rename", "names": ["one"], "to": "uno"}
    assert client.post("/api/upkeep", json=data).json()["missing"] == []
    assert client.get("/api/images/uno").json()["marks"]["boxes"] == [COW]
    refused: list[Any] = [{**data, "to": "two"}, {**data, "to": "../x"}, {"action": "burn", "names": []}, []]
    for bad in refused:
        assert client.post("/api/upkeep", json=bad).status_code == 400


def test_nothing_else_is_asked_of_a_picture_when_that_is_all(client: httpx.Client, folder: Path) -> None:
    write_small_model(folder)

    def asked() -> str | None:
        while (found := client.get("/api/suggestions").json())["waiting"]:
            time.sleep(0.05)
        return next((one["action"] for one in found["suggestions"] if one["name"] == "drei ü"), None)

    def write(**kinds: Any) -> None:
        version = client.get("/api/images/drei ü").json()["marks"]["version"]
        answer = client.put("/api/images/drei ü/marks", json=marks(**kinds), headers={"if-match": version})
        answer.raise_for_status()

    points = [{"label": name, "x": n, "y": n} for n, name in enumerate(("grass", "sky"))]
    write(seeds=points)
    assert asked() == "tags"
    write(seeds=points, tags=["grass", "sky"])
    assert asked() != "tags"


def test_labels_wait_for_a_training_but_new_ones_do_not(client: httpx.Client, folder: Path) -> None:
    (grass, sky, cow), version = listed(client)
    client.post("/api/training", json={"features": "paper"}).raise_for_status()
    answer = client.put("/api/classes", json={"classes": [cow, sky, grass], "version": version})
    assert (answer.status_code, "training is under way" in answer.json()["error"]) == (409, True)
    assert client.post("/api/classes", json={"name": "road", "kind": "stuff"}).status_code == 201
    client.delete("/api/training").raise_for_status()
    assert DatasetFolder(folder).classes.names == ("grass", "sky", "cow", "road")
