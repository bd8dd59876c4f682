"""A small dataset folder, made without the package's own writers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

# Three images of 6 x 4 pixels: "a" with everything, "b" with a box only, "c" with nothing.
TABLES = {
    "classes.csv": "name,color,kind,rare\ngrass,#008000,stuff,0\nsky,#808080,stuff,0\ncow,#000080,thing,1\n",
    "tags.csv": "image,label\na,grass\na,sky\n",
    "boxes.csv": "image,label,left,top,right,bottom\na,cow,2,1,4,4\nb,cow,0.5,0,6,4\n",
    "seeds.csv": "image,label,x,y\na,cow,2,2\na,cow,5,3\n",
    "splits/train.txt": "b\na\n",
    "splits/validation.txt": "c\n",
}
MASK = np.array(
    [[2, 2, 2, 2, 2, 0], [2, 2, 3, 3, 2, 0], [1, 1, 3, 3, 1, 1], [1, 1, 3, 3, 1, 1]], dtype=np.uint8
)
IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def write_folder(path: Path) -> None:
    for part in ("images", "masks", "instances", "splits"):
        (path / part).mkdir()
    for name, text in TABLES.items():
        (path / name).write_text(text, encoding="utf-8")
    for name in ("a.png", "b.bmp", "c.tif"):
        Image.fromarray(IMAGE).save(path / "images" / name)
    Image.fromarray(MASK).save(path / "masks" / "a.png")
    Image.fromarray((MASK == 3).astype(np.uint8)).save(path / "instances" / "a.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path)
    return tmp_path
