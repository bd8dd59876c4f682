"""Pictures that go with datasets: what is chosen for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets import Classes, DatasetFolder, NewSample, PixelAnnotation, write_dataset
from multiutility.vision import report

GRAY = np.full((8, 8, 3), 90, dtype=np.uint8)


def drawn(folder: Path, tagged: set[int], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the samples that are drawn of 30 images, of which these have tags."""
    names: list[str] = []

    def keep(samples: list[tuple[str, object, object]], _classes: Classes) -> object:
        names.extend(name for name, _, _ in samples)
        return GRAY

    monkeypatch.setattr(report, "samples_picture", keep)
    samples = (
        NewSample(f"{k:02}", GRAY, PixelAnnotation(tags=(0,)) if k in tagged else PixelAnnotation())
        for k in range(30)
    )
    write_dataset(folder / "data", Classes.from_names(["grass"]), samples)
    report.save_samples(DatasetFolder(folder / "data"), folder / "samples.png", n_samples=4)
    assert (folder / "samples.png").is_file()
    return names


def test_samples_are_taken_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(tmp_path, set(range(30)), monkeypatch) == ["00", "10", "19", "29"]


def test_samples_are_annotated_if_there_are_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(tmp_path, {3, 27}, monkeypatch) == ["03", "27"]


def test_without_annotations_images_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(drawn(tmp_path, set(), monkeypatch)) == 4
