"""Masks that are accepted predictions: where that is noted, and that they are learned from but not scored."""

from __future__ import annotations

import csv
from pathlib import Path

import httpx
import numpy as np
import pytest

from multiutility.datasets.folder import DatasetFolder
from multiutility.studio.accepted import Accepted
from multiutility.studio.held_out import training_images
from multiutility.studio.options import Options
from multiutility.studio.places import Places, StudioWarning
from studio_cases import SIZE, horizon, packed, write_small_model


def test_a_table_of_names(tmp_path: Path) -> None:
    path, places = tmp_path / "studio" / "accepted.csv", Places(tmp_path)
    accepted, names = Accepted(places), {"cow, brown", "=1+1", "drei ü"}
    assert accepted.names() == frozenset()
    accepted.set("nobody", False)
    assert not path.exists()
    for name in names:
        accepted.set(name, True)
    assert Accepted(places).names() == accepted.names() == names
    with path.open(newline="", encoding="utf-8") as file:
        assert [row[0].lstrip("'") for row in csv.reader(file)] == ["image", *sorted(names)]
    accepted.set("=1+1", False)
    assert Accepted(places).names() == names - {"=1+1"}
    # Somebody else may write it, too.
    path.write_text("image,who\none,me\n", "utf-8")
    assert accepted.names() == {"one"}


@pytest.mark.parametrize(
    "content", [b"pictures\none\n", b"\xff\xfe\x00", b'image\n"one\n', b"image\none,two\n"]
)
def test_a_damaged_table_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path, places = tmp_path / "studio" / "accepted.csv", Places(tmp_path)
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.warns(StudioWarning, match=r"accepted\.csv: damaged .*it is now accepted\.csv\.damaged"):
        assert Accepted(places).names() == frozenset()
    assert path.with_name("accepted.csv.damaged").read_bytes() == content


def put_mask(client: httpx.Client, name: str, mask: bytes, **headers: str) -> httpx.Response:
    version = client.get(f"/api/images/{name}").json()["versions"]["mask"]
    answer = client.put(f"/api/images/{name}/mask", content=mask, headers={"if-match": version, **headers})
    assert answer.status_code == 200
    return answer


def test_the_mark_goes_with_the_mask(client: httpx.Client, folder: Path) -> None:
    table = Places(folder).accepted
    put_mask(client, "one", packed(horizon()), **{"x-accepted": "1"})
    assert table.read_text() == "image\none\n"
    assert client.get("/api/images/one").json()["accepted"] is True
    assert client.get("/api/images/one/mask").headers["x-accepted"] == "1"
    put_mask(client, "one", packed(np.full(SIZE, 2, np.uint8)))  # who does not say so leaves it
    assert table.read_text() == "image\none\n"
    put_mask(client, "one", packed(np.zeros(SIZE, np.uint8)), **{"x-accepted": "1"})
    assert table.read_text() == "image\n"
    assert client.get("/api/images/one").json()["accepted"] is False


def test_accepted_masks_are_not_scored_but_learned_from(client: httpx.Client, folder: Path) -> None:
    write_small_model(folder)
    for name in ("one", "two"):
        put_mask(client, name, packed(horizon()))
        client.get(f"/api/images/{name}/prediction")
    scores = client.get("/api/scores").json()
    assert (set(scores["new"]["images"]), scores["accepted"]) == ({"one", "two"}, 0)
    put_mask(client, "one", packed(horizon()), **{"x-accepted": "1"})
    scores = client.get("/api/scores").json()
    assert (set(scores["new"]["images"]), scores["accepted"]) == ({"two"}, 1)
    dataset, options = DatasetFolder(folder), Options(hold_out=True)
    both = frozenset({"one", "two"})
    assert both <= set(training_images(dataset, options, both).names)
