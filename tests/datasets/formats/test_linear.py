"""Time of importers, in function calls: that of four times as many images is about four times as much."""

from __future__ import annotations

import cProfile
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.imported import Imported
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.kinds import PixelAnnotation

CLASSES = Classes.from_names(["grass", "sky"])
NATIVE = "native"
READERS = [NATIVE, *(name for name, one in FORMATS.items() if one.write and not one.masks_only)]


def put(name: str, folder: Path, n: int) -> None:
    """Write images, all alike, with tags; those of Label Studio are uploads, found by parts of names."""
    folder.mkdir()
    image = folder / "image.png"
    Image.fromarray(np.zeros((2, 3), dtype=np.uint8)).save(image)
    samples = [NewSample(f"image {k}", image, PixelAnnotation(tags=(k % 2,))) for k in range(n)]
    writer = write_dataset if name == NATIVE else FORMATS[name].write
    assert writer is not None
    writer(folder / "data", CLASSES, samples, {"train": [sample.name for sample in samples]})
    for path in (folder / "data").glob("tasks.json"):
        tasks = json.loads(path.read_text())
        for task in tasks:
            task["data"]["image"] = f"/data/upload/0123abcd-{Path(task['data']['image']).name}"
        path.write_text(json.dumps(tasks))


def calls(name: str, folder: Path) -> int:
    """Number of function calls that reading a folder takes, without its images."""
    profile = cProfile.Profile()
    with profile:
        found = Imported.from_folder(DatasetFolder(folder)) if name == NATIVE else FORMATS[name].read(folder)
    assert [sample.annotation.tags for sample in found.samples]
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("name", READERS)
def test_reading_takes_time_in_proportion(tmp_path: Path, name: str) -> None:
    counts = []
    for n in (1, 60, 240):
        put(name, tmp_path / str(n), n)
        counts.append(calls(name, tmp_path / str(n) / "data"))
    # The first is what is there without images, and loading of modules.
    first, some, many = counts
    assert many - first < 5 * (some - first)
