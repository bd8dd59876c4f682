"""Memory of importers: a few arrays of the size of the image, whatever the number of areas in it."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from multiutility import arrays
from multiutility.datasets.formats import FORMATS, rle_pack
from multiutility.kinds import PixelAnnotation

SIDE = 600
# Image, mask, objects, ranks, an area, and some that are computed.
BYTES_A_PIXEL = 24


def put_picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (SIDE, SIDE)).save(path)


def triangle(k: int) -> list[list[int]]:
    """An area of about half of the image."""
    return [[k, 0], [SIDE - k, k], [k, SIDE - k]]


def put_coco(folder: Path, n: int, segmentation: Callable[[int], Any]) -> None:
    put_picture(folder / "a.png")
    marks = [{"id": k, "image_id": 1, "category_id": 1, "segmentation": segmentation(k)} for k in range(n)]
    images, categories = [{"id": 1, "file_name": "a.png"}], [{"id": 1, "name": "cow"}]
    content = {"images": images, "categories": categories, "annotations": marks}
    (folder / "a.json").write_text(json.dumps(content))


def put_polygons(folder: Path, n: int) -> None:
    put_coco(folder, n, lambda k: [[x for point in triangle(k) for x in point]])


def put_parts(folder: Path, n: int) -> None:
    """One area of many polygons."""
    parts = [[x for point in triangle(k) for x in point] for k in range(n)]
    put_coco(folder, 1, lambda _: parts)


def put_runs(folder: Path, n: int) -> None:
    put_coco(folder, n, lambda k: {"size": [SIDE, SIDE], "counts": [k, SIDE**2 - k]})


def put_labelme(folder: Path, n: int) -> None:
    put_picture(folder / "a.png")
    shapes = [{"label": "cow", "shape_type": "polygon", "points": triangle(k)} for k in range(n)]
    (folder / "a.json").write_text(json.dumps({"imagePath": "a.png", "shapes": shapes}))


def put_disks(folder: Path, n: int) -> None:
    put_picture(folder / "a.png")
    shapes = [{"label": "cow", "shape_type": "circle", "points": [[k, 300], [300, 300]]} for k in range(n)]
    (folder / "a.json").write_text(json.dumps({"imagePath": "a.png", "shapes": shapes}))


def put_labelstudio(folder: Path, n: int, value: Callable[[int], dict[str, Any]]) -> None:
    put_picture(folder / "a.png")
    results = [{"value": value(k)} for k in range(n)]
    (folder / "a.json").write_text(
        json.dumps([{"data": {"image": "a.png"}, "annotations": [{"result": results}]}])
    )


def put_percentages(folder: Path, n: int) -> None:
    put_labelstudio(folder, n, lambda k: {"points": [[0, 0], [99 - k, 0], [0, 99]], "polygonlabels": ["cow"]})


def put_strokes(folder: Path, n: int) -> None:
    strokes = rle_pack.encode(np.repeat([0, 255], 2 * SIDE**2))
    put_labelstudio(folder, n, lambda _: {"rle": strokes, "brushlabels": ["cow"]})


def put_panoptic(folder: Path, n: int) -> None:
    """Stripes of segments."""
    ids = np.arange(SIDE) * n // SIDE + 1
    colors = np.zeros((SIDE, SIDE, 3), dtype=np.uint8)
    colors[:, :, 0] = ids[:, np.newaxis]
    put_picture(folder / "images" / "a.png")
    (folder / "annotations" / "panoptic_x").mkdir(parents=True)
    Image.fromarray(colors).save(folder / "annotations" / "panoptic_x" / "a.png")
    segments = [{"id": k, "category_id": 1} for k in range(1, n + 1)]
    content = {
        "images": [{"id": 1, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "cow"}],
        "annotations": [{"image_id": 1, "file_name": "a.png", "segments_info": segments}],
    }
    (folder / "annotations" / "panoptic_x.json").write_text(json.dumps(content))


def put_voc(folder: Path, n: int) -> None:
    """Masks and objects by color."""
    put_picture(folder / "JPEGImages" / "a.png")
    colors = np.zeros((SIDE, SIDE, 3), dtype=np.uint8)
    for part, red in (("SegmentationClass", np.full(SIDE, 128)), ("SegmentationObject", np.arange(SIDE) % n)):
        colors[:, :, 0] = red[:, np.newaxis]
        (folder / part).mkdir()
        Image.fromarray(colors).save(folder / part / "a.png")
    (folder / "labelmap.txt").write_text("cow:128,0,0::\n")


CASES: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "coco polygons": ("coco", put_polygons),
    "coco parts": ("coco", put_parts),
    "coco runs": ("coco", put_runs),
    "coco panoptic": ("coco-panoptic", put_panoptic),
    "labelme polygons": ("labelme", put_labelme),
    "labelme disks": ("labelme", put_disks),
    "labelstudio polygons": ("labelstudio", put_percentages),
    "labelstudio strokes": ("labelstudio", put_strokes),
    "voc": ("voc", put_voc),
}


@pytest.mark.parametrize("case", CASES)
def test_memory_is_that_of_one_image(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, put = CASES[case]
    monkeypatch.setattr(arrays, "STRIP_PIXELS", 1 << 15)
    peaks = []
    for n in (1, 30):
        folder = tmp_path / str(n)
        folder.mkdir()
        put(folder, n)
        samples = FORMATS[name].read(folder).samples
        tracemalloc.start()
        found: PixelAnnotation = samples.read(0).annotation
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert not found.empty
    assert peaks[0] < BYTES_A_PIXEL * SIDE**2
    assert peaks[1] < 1.2 * peaks[0] + SIDE**2
