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


def test_picture_of_annotations_is_up_to_date() -> None:
    draw = runpy.run_path(str(ROOT / "docs" / "annotations_picture.py"))["draw"]
    assert (ROOT / "docs" / "annotations.svg").read_text(encoding="utf-8") == draw()
