"""The examples, and the picture of the guide."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_weak_documents_help(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "sequence_tagging.py"), run_name="__main__")
    few, mixed, every = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert mixed > few + 0.05
    assert every > few + 0.05


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run an example, and return its lines."""
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_five_minute_start(capsys: pytest.CaptureFixture[str]) -> None:
    annotated, right, mostly, same = printed("five_minute_start.py", capsys)
    assert annotated == "annotated: 11 x tags, 5 x mask"
    # Sky and grass together are half of all pixels.
    assert float(right.split()[-1]) > 0.5
    assert mostly.startswith("validation-0000 is mostly ")
    assert same == "the same after loading: True"


def test_own_annotation_kind(capsys: pytest.CaptureFixture[str]) -> None:
    kept, few, mixed = printed("own_annotation_kind.py", capsys)
    assert kept == "the kind keeps its promises"
    assert float(mixed.split()[-1]) > float(few.split()[-1]) + 0.1


def test_own_features(capsys: pytest.CaptureFixture[str]) -> None:
    height, color = (float(line.split()[-1]) for line in printed("own_features.py", capsys))
    assert color > height + 0.02


def test_mixing_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    masks, tags, points = (
        [float(part) for part in line.split()[-2:]] for line in printed("mixing_annotations.py", capsys)
    )
    # Of scenes as small as these, tags say little of places.
    assert tags[0] > masks[0] - 0.01
    assert tags[1] > masks[1] + 0.01
    assert points[0] > masks[0] + 0.02
    assert points[1] > masks[1] + 0.02


def test_picture_of_annotations_is_up_to_date() -> None:
    draw = runpy.run_path(str(ROOT / "docs" / "annotations_picture.py"))["draw"]
    assert (ROOT / "docs" / "annotations.svg").read_text(encoding="utf-8") == draw()
