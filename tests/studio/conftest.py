"""A small dataset, its studio on a port of this machine, and a client that may talk to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from studio_cases import TOKEN, running, write_meadow


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
