"""Real datasets, if MULTIUTILITY_DATA names the folder that holds them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from multiutility.datasets import DatasetFolder, summarize, validate

DATA = os.environ.get("MULTIUTILITY_DATA")

pytestmark = pytest.mark.skipif(not DATA, reason="MULTIUTILITY_DATA does not name a folder of datasets")


@pytest.mark.parametrize(
    ("name", "train", "validation", "n_classes"), [("msrc", 276, 59, 23), ("facade", 150, 60, 8)]
)
def test_real_datasets_are_good(name: str, train: int, validation: int, n_classes: int) -> None:
    path = Path(DATA or "") / name
    assert validate(path) == []
    dataset = DatasetFolder(path)
    assert len(dataset) == train + validation
    assert len(dataset.split("train")) == train
    assert len(dataset.split("validation")) == validation
    assert len(dataset.classes) == n_classes


def test_pixels_are_counted_as_by_hand() -> None:
    dataset = DatasetFolder(Path(DATA or "") / "msrc").split("validation")
    masks = [np.asarray(Image.open(dataset.path / "masks" / f"{name}.png")) for name in dataset.names]
    summary = summarize(dataset)
    assert [one.pixels for one in summary.classes] == [
        sum(int((mask == k).sum()) for mask in masks) for k in range(1, 24)
    ]
    assert summary.void == sum(int((mask == 0).sum()) for mask in masks)
