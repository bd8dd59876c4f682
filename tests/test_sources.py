"""Cells are named by the code that learned them: other code learns again, and says so."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from multiutility import sources
from multiutility.experiments import cells
from multiutility.experiments.cells import Cell, CellFiles, OtherCodeWarning, run_cells
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.study import Outcome, Setup, Study
from multiutility.sources import code_digest, deciding_files, meaning, native_file
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.color_moments import ColorMean
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic
from toy import write_toy


def test_all_that_a_worker_imports_decides() -> None:
    program = """
import sys
import multiutility.experiments.workers
print(*(m.__file__ for n, m in sys.modules.items() if n.startswith("multiutility") and m.__file__), sep="\\n")
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {Path(line) for line in found.stdout.split("\n") if line}
    assert len(imported) > 50
    assert imported <= {*deciding_files(), native_file()}


def test_what_changes_results_changes_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.py"
    source.write_text("X = 1\n")
    monkeypatch.setattr(sources, "deciding_files", lambda: iter([source]))

    def digest() -> str:
        code_digest.cache_clear()
        return code_digest()

    first = digest()
    source.write_text('"""Says more."""\n\nX = 1  # one\n')
    assert digest() == first
    source.write_text("X = 2\n")
    second = digest()
    monkeypatch.setattr(sources, "version", lambda _name: "9")
    third = digest()
    (tmp_path / "core.so").write_bytes(b"other")
    monkeypatch.setattr(sources, "native_file", lambda: tmp_path / "core.so")
    assert len({first, second, third, digest()}) == 4
    code_digest.cache_clear()


def test_comments_and_docstrings_mean_nothing() -> None:
    bare = b"def f(x):\n    return x + 1\n"
    told = b'"""Module."""\ndef f(x):  # adds\n    """Add."""\n\n    return (x + 1)\n'
    assert meaning(bare) == meaning(told) != meaning(bare.replace(b"1", b"2"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    place = tmp_path_factory.mktemp("toy")
    folder = write_toy(place / "toy", n_train=4, n_validation=2).path
    preset = Preset("plain", Slic(12), (ColorMean(),), (Boundary(),))
    return Study.open(Setup(folder, "train", "validation", preset, store=place / "store"))


def outcome(n_labels: int = 4) -> Outcome:
    found = Confusions.of([np.eye(n_labels)], frozenset())
    return Outcome(found, found, np.arange(3.0), 1.0, 0.5, {"chosen": {"C": 1.0}})


def test_other_code_learns_again_and_says_so(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[str] = []

    def learn(self: Study, method: str, *_: object) -> Outcome:
        learned.append(method)
        return outcome(len(self.classes))

    monkeypatch.setattr(Study, "outcome", learn)
    cell = Cell("none", "all", 0)
    for _ in range(2):
        run_cells(study, [cell], CellFiles(tmp_path))
    assert len(learned) == 1
    monkeypatch.setattr(cells, "code_digest", lambda: hashlib.sha256(b"other code").hexdigest())
    with pytest.warns(OtherCodeWarning, match="1 cells were learned by other code.*they are learned again"):
        run_cells(study, [cell], CellFiles(tmp_path))
    assert len(learned) == 2
    assert len(list(tmp_path.iterdir())) == 2
    run_cells(study, [cell], CellFiles(tmp_path))
    assert len(learned) == 2


def test_a_damaged_cell_is_never_used(tmp_path: Path) -> None:
    files = CellFiles(tmp_path)
    files.add("a" * 64, outcome(), {})
    path = files.path("a" * 64)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in range(start, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            files.find("a" * 64)
    path.write_bytes(whole)
    found = files.find("a" * 64)
    assert found is not None
    assert found.about_model == {"chosen": {"C": 1.0}}


def test_other_pixels_are_other_cells(study: Study) -> None:
    other = replace(study)
    assert other.key == study.key
    path = study.setup.data / "images" / f"{study.test.images.names[0]}.png"
    content = path.read_bytes()
    path.write_bytes(content + b"more")
    try:
        assert replace(study).key != study.key
    finally:
        path.write_bytes(content)
