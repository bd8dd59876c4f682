"""Settings of the tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from multiutility.vision import features
from multiutility.vision.features import presets
from toy import toy_preset

# No deadline: machines that run many jobs at once are slow at times.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def cheap_features(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Mean colors in place of a network's features."""
    monkeypatch.setitem(presets.PRESETS, "deep", toy_preset)
    monkeypatch.setitem(features.KINDS, "MeanColor", "toy")
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
