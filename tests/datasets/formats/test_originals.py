"""Datasets as they were published: MSRCv2, SIFT-flow, Stanford background."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from format_cases import put_image, read_all
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.msrc import read_msrc
from multiutility.datasets.formats.siftflow import NAMES, read_siftflow
from multiutility.datasets.formats.stanford import read_stanford
from originals import SCENES, names_cell, put_msrc, put_siftflow, put_stanford

DATA = os.environ.get("MULTIUTILITY_DATA")


def test_msrc_has_a_color_for_each_class(tmp_path: Path) -> None:
    # As in the file that comes with the images.
    colors = {"grass": (0, 128, 0), "cow": (0, 0, 128), "mountain": (64, 0, 0), "boat": (192, 64, 0)}
    pixels = np.array([[(0, 0, 0), *colors.values()]], dtype=np.uint8)
    imported = read_msrc(put_msrc(tmp_path, pixels))
    assert len(imported.classes) == 23
    assert [one.name for one in imported.classes if one.rare] == ["horse", "mountain"]
    mask = read_all(imported)["1_1_s"].mask
    assert mask is not None
    assert mask.tolist() == [[0] + [imported.classes.label(name) + 1 for name in colors]]
    pixels[0, 2] = (0, 0, 127)
    with pytest.raises(DatasetError, match=r"1_1_s_GT\.bmp: the pixel x 2, y 0 has the color #00007f"):
        read_all(read_msrc(put_msrc(tmp_path, pixels)))


def test_msrc_sizes_must_agree(tmp_path: Path) -> None:
    put_msrc(tmp_path, np.zeros((2, 3, 3), dtype=np.uint8))
    put_image(tmp_path / "Images" / "1_1_s.bmp", 3, 3)
    with pytest.raises(DatasetError, match=r"1_1_s_GT\.bmp: has width 3 and height 2"):
        read_all(read_msrc(tmp_path))


def test_msrc_lists_are_splits(tmp_path: Path) -> None:
    put_msrc(tmp_path, np.zeros((2, 2, 3), dtype=np.uint8))
    put_image(tmp_path / "Images" / "2_3_s.bmp", 2, 2)
    (tmp_path / "Train.txt").write_text("2_3_s.bmp\n1_1_s.bmp\n")
    (tmp_path / "README.txt").write_text("not a list\n")
    imported = read_msrc(tmp_path)
    assert imported.splits == {"train": ["2_3_s", "1_1_s"]}
    assert read_all(imported)["2_3_s"].empty
    with pytest.raises(DatasetError, match="there are no images"):
        read_msrc(tmp_path / "Images")


@pytest.mark.skipif(DATA is None, reason="MULTIUTILITY_DATA does not name the folder of real data")
def test_msrc_in_its_original_form_gives_the_masks_we_have(tmp_path: Path) -> None:
    folder = Path(str(DATA)) / "msrc"
    with (folder / "classes.csv").open() as file:
        rows = list(csv.DictReader(file))
    palette = np.array([(0, 0, 0), *(tuple(bytes.fromhex(row["color"][1:])) for row in rows)], dtype=np.uint8)
    paths = sorted((folder / "masks").glob("*.png"))[::60]
    for path in paths:
        (tmp_path / "Images").mkdir(exist_ok=True)
        (tmp_path / "GroundTruth").mkdir(exist_ok=True)
        Image.open(folder / "images" / path.name).save(tmp_path / "Images" / f"{path.stem}.bmp")
        colors = palette[np.asarray(Image.open(path))]
        Image.fromarray(colors).save(tmp_path / "GroundTruth" / f"{path.stem}_GT.bmp")
    imported = read_msrc(tmp_path)
    assert [(one.name, one.kind, str(int(one.rare))) for one in imported.classes] == [
        (row["name"], row["kind"], row["rare"]) for row in rows
    ]
    found = read_all(imported)
    assert len(found) == len(paths) > 5
    for path in paths:
        np.testing.assert_array_equal(found[path.stem].mask, np.asarray(Image.open(path)))


def test_siftflow_labels_count_from_1(tmp_path: Path) -> None:
    labels = np.zeros((4, 5), dtype=np.uint8)
    labels[1], labels[2] = 1, 33
    put_siftflow(tmp_path, "coast_1", labels, names=names_cell(NAMES), metaData="x")
    put_siftflow(tmp_path, "street_2", labels.astype(float))
    put_siftflow(tmp_path, "never_3", np.zeros((4, 5), dtype=np.uint8))
    (tmp_path / "TestSet1.txt").write_text(f"{SCENES}\\street_2.jpg\r\n")
    imported = read_siftflow(tmp_path)
    assert len(imported.classes) == 33
    assert imported.classes.names[0] == "awning"
    assert imported.classes.names[-1] == "window"
    assert {one.name for one in imported.classes if one.rare} == {"cow", "desert", "moon", "sun"}
    assert imported.splits == {"test": ["street_2"], "train": ["coast_1", "never_3"]}
    found = read_all(imported)
    for name in ("coast_1", "street_2"):
        mask = found[name].mask
        assert mask is not None
        assert mask[:, 0].tolist() == [0, 1, 33, 0]
    assert found["never_3"].empty


@pytest.mark.parametrize(
    ("labels", "names", "wanted"),
    [
        (np.full((4, 5), 34), None, "has the label 34"),
        (np.full((4, 5), -1), None, "has the label -1"),
        (np.zeros((4, 6)), None, "has width 6 and height 4"),
        (np.array(["text"]), None, "has no matrix S"),
        (np.zeros((4, 5)), ("awning", "bird"), "its class 2 is 'bird'"),
        (np.zeros((4, 5)), NAMES[:3], "its class 4 is 'missing'"),
    ],
)
def test_siftflow_files_that_differ_are_refused(
    tmp_path: Path, labels: NDArray[np.generic], names: tuple[str, ...] | None, wanted: str
) -> None:
    path = put_siftflow(tmp_path, "coast_1", labels, **({"names": names_cell(names)} if names else {}))
    with pytest.raises(DatasetError, match=wanted) as caught:
        read_all(read_siftflow(tmp_path))
    assert caught.value.path == path


@pytest.mark.parametrize("data", [b"", b"MATLAB 5.0 MAT-file" + bytes(200), b"x" * 500, bytes((1 << 21) + 1)])
def test_damaged_mat_files_are_refused(tmp_path: Path, data: bytes) -> None:
    put_siftflow(tmp_path, "coast_1", np.zeros((4, 5))).write_bytes(data)
    with pytest.raises(DatasetError, match=r"coast_1\.mat: (cannot be read|is too large|has no matrix)"):
        read_all(read_siftflow(tmp_path))


def test_stanford_regions_are_classes_and_negative_is_void(tmp_path: Path) -> None:
    put_stanford(tmp_path, "0 5 7 \n-1 7 7 \n", "3 4 9\n0 9 2\n")
    (tmp_path / "horizons.txt").write_text("0000047 3 2 1.5\n0000051 320 240 99\n")
    imported = read_stanford(tmp_path)
    assert imported.classes.names == (
        "sky",
        "tree",
        "road",
        "grass",
        "water",
        "building",
        "mountain",
        "foreground",
    )
    assert [one.name for one in imported.classes if one.kind == "thing"] == ["foreground"]
    found = read_all(imported)["0000047"]
    assert found.mask is not None
    assert found.instances is not None
    assert found.mask.tolist() == [[1, 6, 8], [0, 8, 8]]
    assert found.instances.tolist() == [[0, 0, 2], [0, 2, 1]]


def test_stanford_without_layers_or_labels(tmp_path: Path) -> None:
    put_stanford(tmp_path, "0 5 7\n-1 7 7\n")
    put_image(tmp_path / "images" / "none.jpg", 2, 3)
    found = read_all(read_stanford(tmp_path))
    assert found["0000047"].instances is None
    assert found["none"].empty


@pytest.mark.parametrize(
    ("regions", "wanted"),
    [
        ("0 1 8\n0 0 0\n", "has the class 8"),
        ("0 1\n0 0\n", "has width 2 and height 2"),
        ("0 1 x\n0 0 0\n", "not a matrix of whole numbers"),
        ("0 1 2\n0 0\n", "not a matrix of whole numbers"),
        ("0 1.5 2\n0 0 0\n", "not a matrix of whole numbers"),
        ("", "not a matrix of whole numbers"),
    ],
)
def test_stanford_files_that_are_damaged_are_refused(tmp_path: Path, regions: str, wanted: str) -> None:
    with pytest.raises(DatasetError, match=wanted) as caught:
        read_all(read_stanford(put_stanford(tmp_path, regions)))
    assert caught.value.path.name == "0000047.regions.txt"


@pytest.mark.parametrize(
    ("line", "wanted"), [("0000047 4 2 1", "width 4"), ("0000047 3 2", "bad line"), ("a b c d", "bad line")]
)
def test_stanford_sizes_must_agree(tmp_path: Path, line: str, wanted: str) -> None:
    put_stanford(tmp_path, "0 5 7\n-1 7 7\n")
    (tmp_path / "horizons.txt").write_text(f"{line}\n")
    with pytest.raises(DatasetError, match=rf"horizons\.txt, row 1: .*{wanted}"):
        read_stanford(tmp_path)
