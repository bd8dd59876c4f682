"""Commands in the documentation: each page from its first to its last, on small generated scenes."""

from __future__ import annotations

import re
import shlex
import shutil
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from typer.testing import CliRunner

from documents import DOCS, ROOT, blocks, commands, pages
from format_cases import put_image
from multiutility.cli import app
from multiutility.cli import experiment as experiment_command
from multiutility.datasets import DatasetFolder
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.scenes import make_scenes
from multiutility.demo.run import Mix, write_mix
from multiutility.studio import server
from multiutility.vision import Segmenter
from multiutility.vision.features import presets
from small_networks import transformer
from toy import toy_preset

LANGUAGES = {"console", "math", "python", "sh", "text"}
# Pages that experiments write.
RESULTS = {"gain.md", *(page for page in pages() if page.startswith("results/"))}
# Programs that are not ours.
ELSEWHERE = {"dask", "source"}
PAGES = [page for page in pages() if commands(page)]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the demo leaves behind, but smaller; and published datasets of one image each."""
    folder = tmp_path_factory.mktemp("documented")
    scenes = make_scenes(folder / "demo" / "scenes", 9, 3, size=(60, 80))
    mixed = write_mix(scenes, folder / "demo" / "mixed", Mix(masks=4, boxes=2, seeds=1), random_state=0)
    shutil.copytree(mixed.path, folder / "photos")
    put_published(folder)
    transformer(folder / "mynet.onnx")
    return folder


def put_published(folder: Path) -> None:
    """The folders that the guide to formats reads, as far as a reader looks at them."""
    msrc, sift = folder / "MSRC_ObjCategImageDatabase_v2", folder / "SiftFlowDataset"
    put_image(msrc / "Images" / "1_1_s.bmp", 2, 3)
    (msrc / "GroundTruth").mkdir()
    Image.new("RGB", (3, 2), (0, 128, 0)).save(msrc / "GroundTruth" / "1_1_s_GT.bmp")
    put_image(sift / "Images" / "coast.jpg", 2, 3)
    (sift / "SemanticLabels").mkdir()
    savemat(sift / "SemanticLabels" / "coast.mat", {"S": np.full((2, 3), 6)})
    stanford = folder / "iccv09Data"
    put_image(stanford / "images" / "0000047.jpg", 2, 3)
    (stanford / "labels").mkdir()
    (stanford / "labels" / "0000047.regions.txt").write_text("0 0 0\n3 3 -1\n")


@pytest.fixture
def opened_studios(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Studios that would have been opened."""
    found: list[Path] = []

    def opened(folder: Path, *_: Any, **__: Any) -> None:
        found.append(DatasetFolder(folder).path)

    monkeypatch.setattr(server, "serve", opened)
    return found


@pytest.fixture
def cheap_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features that cost nothing under all names, and models as rough as may be."""
    for name in presets.PRESETS:
        monkeypatch.setitem(presets.PRESETS, name, toy_preset)
    monkeypatch.setattr(experiment_command, "cores", lambda _: 1)  # other processes have other features
    rough = {"tol": 0.9, "max_iter": 1}
    usual = Segmenter.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(Segmenter.__init__, "__kwdefaults__", usual | rough)


@pytest.mark.usefixtures("cheap_features", "cheap_learning")
@pytest.mark.parametrize("page", PAGES)
def test_commands_work_as_documented(
    page: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened_studios: list[Path]
) -> None:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MULTIUTILITY_CONFIG", str(tmp_path / "config"))
    run = partial(CliRunner().invoke, app, catch_exceptions=False)
    for command in commands(page):
        program, *words = shlex.split(command)
        if program == "make":
            assert set(words) <= TARGETS, command
        elif program == "multiutility":
            done = run(without_cluster(words))
            assert done.exit_code == 0, f"{command}: {done.output}"
        else:
            assert program in ELSEWHERE, f"{command}: nobody runs this"
    assert len(opened_studios) == sum(command.startswith("multiutility studio") for command in commands(page))


def without_cluster(words: list[str]) -> list[str]:
    """Leave out which cluster is to be used, whose workers would have other features."""
    kept = list(words)
    while "--cluster" in kept:
        place = kept.index("--cluster")
        del kept[place : place + 2]
    return kept


def test_every_code_block_is_run() -> None:
    for page in pages():
        for block in blocks(page):
            # Results are made by experiments, on data that are not here.
            assert block.language in LANGUAGES or page in RESULTS, page
            # The guide's own test runs it as a whole.
            prompted = block.text.startswith(">>> ") or page == "new-annotation.md"
            assert block.language != "python" or prompted, f"{page}: {block.text}"


def table_rows(page: str, heading: str) -> list[list[str]]:
    """Cells of the table whose heading begins so, without code marks and links."""
    lines = (DOCS / page).read_text("utf-8").splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith(f"| {heading} |")) + 2
    rows = takewhile(lambda line: line.startswith("|"), lines[first:])
    return [re.sub(r"`|\[|\]|\(.*?\)", "", row).strip("| ").split("|") for row in rows]


def test_formats_are_all_in_the_guide() -> None:
    told = {
        cells[0].strip(): cells[2].strip() == "yes" for cells in table_rows("guides/formats.md", "format")
    }
    assert told == {name: one.write is not None for name, one in FORMATS.items()}


def test_experiments_and_features_are_all_in_the_guides() -> None:
    names = {name for cells in table_rows("guides/experiments.md", "name") for name in cells[0].split(",")}
    assert {name.strip() for name in names} == {*experiment_command.Name}
    features = {cells[0].strip() for cells in table_rows("guides/train.md", "`--features`")}
    assert features == {*presets.PRESETS}
