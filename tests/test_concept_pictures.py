"""Pictures of the documentation show what the package draws."""

from __future__ import annotations

import runpy

import numpy as np
from PIL import Image

from documents import DOCS


def test_picture_of_kinds_is_up_to_date() -> None:
    drawn = runpy.run_path(str(DOCS / "concept_pictures.py"))["kinds_picture"]()
    with Image.open(DOCS / "pictures" / "kinds.png") as file:
        stored = np.asarray(file.convert("RGB"), dtype=np.float64)
    assert stored.shape == drawn.shape
    # It has 256 colors only, and other versions of libraries round differently.
    assert np.abs(stored - drawn).mean() < 4
