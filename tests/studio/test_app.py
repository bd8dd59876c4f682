"""What the page is answered."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from multiutility.cli import app
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask, write_mask
from multiutility.kinds import BY_DETAIL
from multiutility.studio import review
from studio_cases import (
    COW,
    NAMES,
    SIZE,
    TOKEN,
    horizon,
    marks,
    packed,
    running,
    scribbled,
    write_small_model,
)


def test_dataset_and_images(client: httpx.Client) -> None:
    found = client.get("/api/dataset").json()
    assert [one["name"] for one in found["classes"]] == ["grass", "sky", "cow"]
    assert (found["name"], found["model"], found["splits"]) == ("meadow", None, [])
    shown = {one["name"]: (one["badge"], one["columns"]) for one in found["kinds"]}
    assert list(shown) == [kind.name for kind in BY_DETAIL]
    assert {one["name"] for one in found["kinds"] if not one["placed"]} >= {"tags", "areas"}
    assert (shown["mask"], shown["scribbles"]) == (("mask", None), ("scribbles", None))
    assert shown["boxes"] == ("boxes", ["left", "top", "right", "bottom"])
    assert shown["seeds"] == ("points", ["x", "y"])
    assert (shown["areas"], shown["tags"]) == (("areas", ["share"]), ("tags", []))
    while (listed := client.get("/api/images").json())["unread"]:
        time.sleep(0.01)
    rows = {row["name"]: row for row in listed["images"]}
    assert set(rows) == set(NAMES)
    kinds = ("tags", "boxes", "seeds", "mask", "labels")
    assert [rows["one"][kind] for kind in kinds] == [1, 1, 0, False, [0, 2]]
    assert [rows["two"][kind] for kind in kinds] == [0, 0, 0, True, [0, 1]]
    assert [rows["drei ü"][kind] for kind in kinds] == [0, 0, 0, False, []]


def test_marks_with_versions(client: httpx.Client, folder: Path) -> None:
    first = client.get("/api/images/drei%20%C3%BC").json()
    assert (first["width"], first["height"], first["versions"]["mask"]) == (64, 48, "none")
    headers = {"if-match": first["marks"]["version"]}
    saved = client.put("/api/images/drei%20%C3%BC/marks", json=marks(["sky"]), headers=headers)
    assert saved.status_code == 200
    assert DatasetFolder(folder)["drei ü"].marks.tags == (1,)
    stale = client.put("/api/images/drei%20%C3%BC/marks", json=marks(["cow"]), headers=headers)
    assert stale.status_code == 409
    assert stale.json() == saved.json()
    assert DatasetFolder(folder)["drei ü"].marks.tags == (1,)
    wrong = client.put("/api/images/one/marks", json=marks(["dog"]), headers={"if-match": "x"})
    assert wrong.status_code == 409
    assert client.put("/api/images/one/marks", content=b"{", headers=headers).status_code == 400


def test_masks_with_versions(client: httpx.Client, folder: Path) -> None:
    nothing = client.get("/api/images/one/mask")
    assert (nothing.content, nothing.headers["etag"]) == (b"", "none")
    old = client.get("/api/images/two/mask")
    assert old.content == horizon().tobytes()
    mine, theirs = np.full(SIZE, 3, np.uint8), np.full(SIZE, 2, np.uint8)
    headers = {"if-match": old.headers["etag"]}
    saved = client.put("/api/images/two/mask", content=packed(theirs), headers=headers)
    assert saved.status_code == 200
    stale = client.put("/api/images/two/mask", content=packed(mine), headers=headers)
    assert (stale.status_code, stale.headers["etag"]) == (409, saved.json()["version"])
    assert stale.content == theirs.tobytes()
    assert np.array_equal(read_mask(folder / "masks" / "two.png"), theirs)
    bad = client.put("/api/images/two/mask", content=b"rubbish", headers={"if-match": stale.headers["etag"]})
    assert bad.status_code == 400


def test_scribbles_with_versions(client: httpx.Client, folder: Path) -> None:
    before = client.get("/api/images/one").json()
    assert before["versions"] == {"mask": "none", "scribbles": "none"}
    nothing = client.get("/api/images/one/scribbles")
    assert (nothing.content, nothing.headers["etag"]) == (b"", "none")
    theirs, mine, path = scribbled(), np.full(SIZE, 2, np.uint8), "/api/images/one/scribbles"
    saved = client.put(path, content=packed(theirs), headers={"if-match": "none"})
    assert saved.status_code == 200
    stale = client.put(path, content=packed(mine), headers={"if-match": "none"})
    assert (stale.status_code, stale.headers["etag"]) == (409, saved.json()["version"])
    assert stale.content == client.get(path).content == theirs.tobytes()
    now = {"if-match": stale.headers["etag"]}
    for wrong in (b"rubbish", packed(theirs[1:]), packed(mine + 2)):
        assert client.put(path, content=wrong, headers=now).status_code == 400
    assert np.array_equal(read_mask(folder / "scribbles" / "one.png"), theirs)
    # All else that is said of the image stays.
    after = client.get("/api/images/one").json()
    assert after["marks"] == before["marks"]
    assert after["versions"] == {"mask": "none", "scribbles": saved.json()["version"]}
    while (listed := client.get("/api/images").json())["unread"]:
        time.sleep(0.01)
    (row,) = (row for row in listed["images"] if row["name"] == "one")
    assert (row["scribbles"], row["mask"], row["labels"]) == (3, 0, [0, 2])
    assert client.put(path, content=packed(mine * 0), headers=now).json() == {"version": "none"}
    assert not (folder / "scribbles" / "one.png").exists()


def test_broken_tables_are_told(client: httpx.Client, folder: Path) -> None:
    (folder / "tags.csv").write_text("image,label\none,gras\n")
    answer = client.get("/api/images/one")
    assert answer.status_code == 422
    assert "did you mean 'grass'?" in answer.json()["error"]


def test_pictures(client: httpx.Client) -> None:
    for part in ("thumbnail", "picture"):
        answer = client.get(f"/api/images/one/{part}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert "immutable" in answer.headers["cache-control"]
        assert Image.open(io.BytesIO(answer.content)).size == (64, 48)
        assert client.get(f"/api/images/one/{part}").content == answer.content


def test_large_pictures_shrink_and_turn(folder: Path) -> None:
    image = Image.new("RGB", (2000, 1000), "red")
    exif = image.getexif()
    exif[0x0112] = 6  # taken with the camera held upright
    image.save(folder / "images" / "big.jpg", exif=exif)
    with running(folder) as origin:
        headers = {"x-studio-token": TOKEN}
        small = httpx.get(f"{origin}/api/images/big/thumbnail", headers=headers)
        assert Image.open(io.BytesIO(small.content)).size == (128, 256)
        large = httpx.get(f"{origin}/api/images/big/picture", headers=headers)
        assert Image.open(io.BytesIO(large.content)).size == (800, 1600)
        found = httpx.get(f"{origin}/api/images/big", headers=headers).json()
        assert (found["width"], found["height"]) == (1000, 2000)


def test_regions_are_finer_at_higher_levels(client: httpx.Client) -> None:
    counts = []
    for level in range(client.get("/api/dataset").json()["region_levels"]):
        answer = client.get(f"/api/images/one/regions/{level}")
        assert (answer.headers["x-width"], answer.headers["x-height"]) == ("64", "48")
        regions = np.frombuffer(answer.content, "<u2")
        assert len(regions) == 48 * 64
        counts.append(len(np.unique(regions)))
    assert counts == sorted(counts)
    assert client.get("/api/images/one/regions/9").status_code == 404


def test_without_a_model(client: httpx.Client) -> None:
    assert client.get("/api/images/one/prediction").status_code == 404
    assert client.get("/api/scores").json() == {"error": "there is no model yet: train one"}
    found = client.get("/api/suggestions").json()
    assert [one["name"] for one in found["suggestions"]] == ["drei ü"]
    state = client.get("/api/training").json()
    assert state["status"] == "none"
    counts = {**{kind.name: 0 for kind in BY_DETAIL}, "mask": 1, "boxes": 1, "tags": 1}
    assert state["annotated"] == {"any": 2, "images": 3, **counts}


def test_labels_that_cannot_be_told_apart_are_named(client: httpx.Client, folder: Path) -> None:
    assert client.get("/api/suggestions").json()["unidentified"] == []
    rows = ["one,sky\n", "one,grass\n", "drei ü,sky\n", "drei ü,grass\n"]
    (folder / "tags.csv").write_text("".join(["image,label\n", *rows]), "utf-8")
    # One of three images has a mask of both, and one more would be enough to tell.
    advice = (
        "grass and sky come together in 2 of 3 images that have them, and too little says where they are: "
        "click one point of each in one more image"
    )
    assert client.get("/api/suggestions").json()["unidentified"] == [advice]
    (folder / "seeds.csv").write_text("image,label,x,y\none,sky,3,4\n", "utf-8")
    assert client.get("/api/suggestions").json()["unidentified"] == []
    # What cannot be read tells nothing, and stops nothing.
    (folder / "seeds.csv").unlink()
    (folder / "masks" / "two.png").write_bytes(b"half a mask")
    (found,) = client.get("/api/suggestions").json()["unidentified"]
    assert found.startswith("grass and sky come together in all 2 images")


def test_labels_are_not_named_while_masks_are_unread(
    client: httpx.Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["one,sky\n", "one,grass\n", "drei ü,sky\n", "drei ü,grass\n"]
    (folder / "tags.csv").write_text("".join(["image,label\n", *rows]), "utf-8")
    monkeypatch.setattr(review, "PATIENCE", -1.0)
    assert client.get("/api/suggestions").json()["unidentified"] == []
    while client.get("/api/images").json()["unread"]:
        time.sleep(0.01)
    assert len(client.get("/api/suggestions").json()["unidentified"]) == 1


ESTIMATE = {"accuracy": [0.95, 0.93, 0.97], "mean_recall": [0.8, 0.7, 0.9], "mean_iou": [0.3, 0.0, 1.0]}


def test_what_a_model_tells_outlives_the_studio(folder: Path) -> None:
    chosen = {"start": "masks only", "class_weight": 0.5}
    proven = {"start": "soft labels", "provable_error": {"soft labels, 0": 0.125}}
    expected = (
        "expected on new images: accuracy 0.950 (0.930 to 0.970), mean recall 0.800 (0.700 to 0.900), "
        "mean IoU 0.300 (0.000 to 1.000); by cross-validation over 9 masks"
    )
    cases: list[tuple[dict[str, object], list[str]]] = [
        (
            {"chosen": chosen, "estimate": ESTIMATE, "n_masks": 9},
            ["chosen: masks only, class weights 0.5", expected],
        ),
        (
            {"chosen": proven, "estimate": None},
            [
                "chosen: weak annotations read by soft labels",
                "expected on new images: errors of 12.5 % by their annotations; for scores, masks are needed",
            ],
        ),
        ({}, []),
    ]
    for about, told in cases:
        write_small_model(folder, about)
        for _ in range(2):
            with running(folder) as origin:
                answer = httpx.get(f"{origin}/api/dataset", headers={"x-studio-token": TOKEN})
                assert answer.json()["model"]["told"] == told


def test_models_that_tell_nonsense_do_not_stop_the_rest(client: httpx.Client, folder: Path) -> None:
    for about in ({"chosen": {"class_weight": "x"}}, {"estimate": {**ESTIMATE, "accuracy": ["a", 0, 1]}}):
        write_small_model(folder, about)
        found = client.get("/api/dataset").json()
        assert found["model"] is None
        assert "its header cannot be used" in found["model_trouble"]


def test_scores_on_new_images_are_compared_with_what_was_expected(client: httpx.Client, folder: Path) -> None:
    places = write_small_model(folder, {"estimate": ESTIMATE, "n_masks": 3})
    assert client.get("/api/images/two/prediction").status_code == 200
    new = client.get("/api/scores").json()["new"]
    for name, (_, low, high) in ESTIMATE.items():
        assert new["expected"][name]["inside"] == (low <= new[name] <= high)
    assert new["expected"]["mean_iou"]["inside"]
    assert new["told"].startswith("the model expected accuracy 0.950 (0.930 to 0.970): ")
    assert new["told"].endswith("mean IoU 0.300 (0.000 to 1.000): inside")
    # What it has learned from says nothing about new ones.
    places.write_facts({"learned": ["two"]})
    learned = client.get("/api/scores").json()["learned"]
    assert (learned["expected"], learned["told"]) == ({}, "")


def test_damaged_files_do_not_stop_the_rest(client: httpx.Client, folder: Path) -> None:
    (folder / "studio").mkdir()
    (folder / "studio" / "model.safetensors").write_bytes(b"half a model")
    (folder / "masks" / "two.png").write_bytes(b"half a mask")
    found = client.get("/api/dataset").json()
    assert found["model"] is None
    assert "not a model file" in found["model_trouble"]
    while client.get("/api/images").json()["unread"]:
        time.sleep(0.01)
    answer = client.get("/api/images/two")
    assert answer.status_code == 422
    assert "two.png" in answer.json()["error"]
    assert client.get("/api/images/one").status_code == 200


@pytest.mark.parametrize("kind", ["masks", "scribbles"])
def test_indices_beyond_the_classes_are_told_to_who_opens_them(
    client: httpx.Client, folder: Path, kind: str
) -> None:
    (folder / kind).mkdir(exist_ok=True)
    write_mask(folder / kind / "one.png", np.full(SIZE, 9, np.uint8), np.zeros((256, 3), np.uint8))
    while (listed := client.get("/api/images").json())["unread"]:
        time.sleep(0.01)
    (row,) = (row for row in listed["images"] if row["name"] == "one")
    assert row["labels"] == [0, 2]
    answer = client.get(f"/api/images/one/{'mask' if kind == 'masks' else kind}")
    assert answer.status_code == 422
    assert "there are 3 classes" in answer.json()["error"]


def test_nothing_to_learn_from(client: httpx.Client, folder: Path) -> None:
    for file in ("tags.csv", "boxes.csv", "masks/two.png"):
        (folder / file).unlink()
    answer = client.post("/api/training", json={})
    assert answer.status_code == 400
    assert "annotated" in answer.json()["error"]
    assert client.post("/api/training", json={"features": "magic"}).status_code == 400


def test_a_killed_studio_loses_nothing_that_it_said_was_saved(folder: Path) -> None:
    command = [sys.executable, "-m", "multiutility.cli", "studio", str(folder), "--no-browser"]
    environment = {**os.environ, "COLUMNS": "200"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        address = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", process.stderr.readline())
        assert address is not None
        origin, token = address.groups()
        headers = {"x-studio-token": token, "origin": origin}
        with httpx.Client(base_url=origin, headers=headers) as client:
            second = CliRunner().invoke(app, ["studio", str(folder), "--no-browser"])
            assert second.exit_code == 2
            assert "another studio is open" in second.output
            version = client.get("/api/images/drei ü").json()["marks"]["version"]
            seeds = []
            for x in range(40):
                seeds.append({"label": "cow", "x": x, "y": x})
                content = marks(["sky"], [COW], seeds)
                answer = client.put("/api/images/drei ü/marks", json=content, headers={"if-match": version})
                assert answer.status_code == 200
                version = answer.json()["version"]
            mask = client.put("/api/images/one/mask", content=packed(horizon()), headers={"if-match": "none"})
            assert mask.status_code == 200
            process.send_signal(signal.SIGKILL)
            process.wait()
    sample = DatasetFolder(folder)["drei ü"]
    assert sample.marks.tags == (1,)
    assert [seed.x for seed in sample.marks.seeds] == list(range(40))
    assert np.array_equal(read_mask(folder / "masks" / "one.png"), horizon())


def test_ends_at_once_and_quietly_while_pages_are_open(folder: Path) -> None:
    command = [sys.executable, "-m", "multiutility.cli", "studio", str(folder), "--no-browser"]
    environment = {**os.environ, "COLUMNS": "200"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        address = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", process.stderr.readline())
        assert address is not None
        origin, token = address.groups()
        with httpx.stream(
            "GET", f"{origin}/api/training/events", headers={"x-studio-token": token}
        ) as events:
            assert "here they come" in next(events.iter_text())
            process.send_signal(signal.SIGINT)
            told = process.stderr.read()
    assert told.splitlines() == ["Everything is saved as you go. Ctrl-C ends it.", "The studio is closed."]


def test_classes_are_added(client: httpx.Client, folder: Path) -> None:
    answer = client.post("/api/classes", json={"name": "dog", "kind": "thing"})
    assert answer.status_code == 201
    classes = client.get("/api/dataset").json()["classes"]
    assert [one["name"] for one in classes] == ["grass", "sky", "cow", "dog"]
    assert DatasetFolder(folder).classes.names[3:] == ("dog",)
    again = client.post("/api/classes", json={"name": "Dog", "kind": "thing"})
    assert (again.status_code, "already" in again.json()["error"]) == (400, True)
    stranger = client.post(
        "/api/classes", json={"name": "cat", "kind": "thing"}, headers={"origin": "http://x"}
    )
    assert stranger.status_code == 403


def test_port_that_is_taken(folder: Path, origin: str) -> None:
    port = origin.rpartition(":")[2]
    done = CliRunner().invoke(app, ["studio", str(folder), "--no-browser", "--port", port])
    assert done.exit_code == 2
    assert f"port {port} cannot be used" in done.output


@pytest.mark.parametrize(("what", "told"), [("missing", "no such folder"), ("empty", "there are no images")])
def test_folders_without_pictures(tmp_path: Path, what: str, told: str) -> None:
    folder = tmp_path / what
    if what == "empty":
        folder.mkdir()
    done = CliRunner().invoke(app, ["studio", str(folder), "--no-browser"])
    assert done.exit_code == 2
    assert told in done.output
    assert not list(tmp_path.glob("*/studio"))


def test_cutouts_of_windows(client: httpx.Client) -> None:
    window = {"left": 4, "top": 6, "right": 30, "bottom": 40, "click": {"x": 10, "y": 20}}
    answer = client.post("/api/images/one/cutout", json=window)
    found = np.frombuffer(answer.content, np.uint8).reshape(34, 26)
    assert set(np.unique(found)) <= {0, 1}
    assert found[20 - 6, 10 - 4] == 1
    assert client.post("/api/images/one/cutout", json={**window, "click": None}).status_code == 200


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"right": 65}, "the window is not within the image"),
        ({"left": 30}, "the window is not within the image"),
        ({"click": {"x": 3, "y": 20}}, "the click is not within the window"),
        ({"click": {"x": 3}}, "expected an object with x, y"),
        ({"top": "6"}, "'6' is not a number"),
    ],
)
def test_windows_that_cannot_be(client: httpx.Client, change: dict[str, object], told: str) -> None:
    window = {"left": 4, "top": 6, "right": 30, "bottom": 40, "click": None}
    answer = client.post("/api/images/one/cutout", json={**window, **change})
    assert (answer.status_code, answer.json()) == (400, {"error": told})
