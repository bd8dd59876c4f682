"""Pictures of the documentation show what the package draws."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from PIL import Image

from documents import DOCS


@pytest.mark.parametrize("name", ["kinds", "more_kinds"])
def test_pictures_of_kinds_are_up_to_date(name: str) -> None:
    drawn = runpy.run_path(str(DOCS / "concept_pictures.py"))[f"{name}_picture"]()
    with Image.open(DOCS / "pictures" / f"{name}.png") as file:
        stored = np.asarray(file.convert("RGB"), dtype=np.float64)
    assert stored.shape == drawn.shape
    # It has 256 colors only, and other versions of libraries round differently.
    assert np.abs(stored - drawn).mean() < 4
