"""What a dataset holds, in numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from multiutility.datasets import DatasetFolder, summarize
from multiutility.kinds import KINDS


def test_numbers_of_a_small_dataset(folder: Path) -> None:
    Image.fromarray(np.zeros((9, 2), dtype=np.uint8)).save(folder / "images" / "d.png")
    Image.fromarray(np.zeros((10, 20), dtype=np.uint8)).save(folder / "images" / "e.png")
    summary = summarize(DatasetFolder(folder))
    assert summary.n_images == 5
    assert summary.mix == {"none": 3, "mask + tags + boxes + seeds": 1, "boxes": 1}
    assert [one.name for one in summary.classes] == ["grass", "sky", "cow"]
    assert [one.pixels for one in summary.classes] == [8, 8, 6]
    assert summary.void == 2
    assert [one.counts["masks"] for one in summary.classes] == [1, 1, 1]
    assert [one.counts["tags"] for one in summary.classes] == [1, 1, 0]
    assert [one.counts["boxes"] for one in summary.classes] == [0, 0, 2]
    assert [one.counts["seeds"] for one in summary.classes] == [0, 0, 2]
    assert [(one.kind, one.rare) for one in summary.classes][1:] == [("stuff", False), ("thing", True)]
    assert summary.sizes == {"smallest": (9, 2), "median": (4, 6), "largest": (10, 20)}
    assert summary.splits == {"train": 2, "validation": 1}


def test_numbers_of_a_part(folder: Path) -> None:
    calls: list[tuple[int, int]] = []
    part = DatasetFolder(folder).select(["b", "c"])
    summary = summarize(part, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]
    assert summary.n_images == 2
    assert summary.mix == {"boxes": 1, "none": 1}
    assert [one.pixels for one in summary.classes] == [0, 0, 0]
    assert [one.counts["boxes"] for one in summary.classes] == [0, 0, 1]
    assert summary.splits == {"train": 1, "validation": 1}
    assert summarize(part.select([])).sizes == {}


def test_images_with_open_tags_are_counted(folder: Path) -> None:
    assert summarize(DatasetFolder(folder)).open_tags == 0
    rows = ["image,label,present", "a,grass,", "b,grass,1", "b,sky,0", "c,sky,1"]
    (folder / "tags.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    dataset = DatasetFolder(folder)
    assert summarize(dataset).open_tags == 2
    assert summarize(dataset.select(["a", "b"])).to_dict()["open_tags"] == 1


def test_numbers_for_machines(folder: Path) -> None:
    data = summarize(DatasetFolder(folder)).to_dict()
    assert json.loads(json.dumps(data)) == data
    others = {kind.name: 0 for kind in KINDS if kind.name != "mask"}
    assert data["classes"][2] == {
        **others,
        "name": "cow",
        "kind": "thing",
        "rare": True,
        "pixels": 6,
        "masks": 1,
        "boxes": 2,
        "seeds": 2,
    }
    assert data["sizes"]["median"] == [4, 6]
