"""One tag for many images: what is written, and how it is put back."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from multiutility.datasets.folder import DatasetFolder
from multiutility.kinds.tags import OpenTag
from studio_cases import NAMES


def tags(folder: Path) -> dict[str, object]:
    return {sample.name: sample.marks.tags for sample in DatasetFolder(folder)}


def tag(client: httpx.Client, label: str, present: bool, images: object = NAMES) -> httpx.Response:
    return client.post("/api/tags", json={"images": images, "label": label, "present": present})


def test_tags_of_many_images_and_back(client: httpx.Client, folder: Path) -> None:
    (folder / "tags.csv").write_text("image,label,present,who\none,sky,0,me\ntwo,grass,,\n", "utf-8")
    before = tags(folder)
    found = tag(client, "sky", True).json()
    assert tags(folder) == {"one": (OpenTag(1),), "two": (0, 1), "drei ü": (1,)}
    assert found["before"] == {"one": [{"label": "sky", "present": 0}], "two": ["grass"], "drei ü": []}
    assert found["after"]["two"] == ["grass", "sky"]
    # Nothing changes a second time.
    assert tag(client, "sky", True).json() == {"before": {}, "after": {}}
    # Somebody has changed one of them since: that stays.
    (folder / "tags.csv").write_text(
        "image,label,present,who\none,sky,1,me\ntwo,cow,,\ndrei ü,sky,,\n", "utf-8"
    )
    answer = client.put("/api/tags", json={"now": found["after"], "then": found["before"]})
    assert answer.json() == {"changed": 2}
    assert tags(folder) == {**before, "two": (2,)}
    assert "one,sky,0,me" in (folder / "tags.csv").read_text("utf-8")
    tag(client, "sky", False, ["one"])
    assert tags(folder)["one"] == ()


@pytest.mark.parametrize(
    ("data", "status", "told"),
    [
        ({"images": ["one", "none"], "label": "cow", "present": True}, 404, "there is no image none"),
        ({"images": ["one"], "label": "horse", "present": True}, 400, "unknown label 'horse'"),
        ({"images": "one", "label": "cow", "present": True}, 400, "images: expected a list of at most 10000"),
        ({"label": "cow"}, 400, "expected an object with images, label, present"),
    ],
)
def test_nothing_is_written_of_what_cannot_be(
    client: httpx.Client, folder: Path, data: object, status: int, told: str
) -> None:
    before = tags(folder)
    answer = client.post("/api/tags", json=data)
    assert (answer.status_code, answer.json()) == (status, {"error": told})
    assert tags(folder) == before
