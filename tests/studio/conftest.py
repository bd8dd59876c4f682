"""Small datasets, their studios on ports of this machine, a client, and a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from browser_cases import BROWSER, FLAGS, HEIGHT, PATIENCE, WIDTH, Studio
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.scenes import CLASSES, make_scenes
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.kinds import PixelAnnotation
from multiutility.vision.weaken import weak_annotation
from studio_cases import TOKEN, running, write_meadow

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path_factory.getbasetemp() / "studio-cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_meadow(tmp_path / "meadow")


@pytest.fixture
def origin(folder: Path) -> Iterator[str]:
    """Where the studio of the dataset is."""
    with running(folder) as found:
        yield found


@pytest.fixture
def client(origin: str) -> Iterator[httpx.Client]:
    """One that has the token, and comes from the page."""
    with httpx.Client(base_url=origin, headers={"x-studio-token": TOKEN, "origin": origin}) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; tests that need it are skipped where it, or Playwright, is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if BROWSER is None:
        pytest.skip("there is no Chromium on this machine")
    sandbox = [] if hasattr(os, "geteuid") and os.geteuid() else ["--no-sandbox"]
    with playwright.sync_playwright() as engine:
        found = engine.chromium.launch(executable_path=BROWSER, args=[*FLAGS, *sandbox], timeout=PATIENCE)
        yield found
        found.close()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Six generated pictures with masks."""
    return make_scenes(tmp_path_factory.mktemp("scenes") / "full", 6, 0, size=(HEIGHT, WIDTH))


@pytest.fixture
def studio(scenes: DatasetFolder, browser: Browser, tmp_path: Path) -> Iterator[Studio]:
    """Two images with masks, one with tags and boxes, three with nothing."""
    samples = []
    for n, sample in enumerate(scenes):
        mask = sample.mask()
        assert mask is not None
        weak = weak_annotation(mask, CLASSES, boxes=True, instances=sample.instances())
        kinds = [PixelAnnotation(mask=mask), PixelAnnotation(mask=mask), weak]
        samples.append(NewSample(sample.name, sample.path, kinds[n] if n < 3 else PixelAnnotation()))
    write_dataset(tmp_path / "lake", CLASSES, samples)
    with ExitStack() as stack:
        found = Studio(tmp_path / "lake", stack.enter_context(running(tmp_path / "lake")), browser)
        yield found
        for context in browser.contexts:
            context.close()
    assert found.troubles == []
