"""Fitted presets on disk, so that a second training on the same images need not fit again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from multiutility.array_file import ArrayFileError, read_arrays, write_arrays
from multiutility.vision.features.descriptor import State
from multiutility.vision.features.preset import FittedPreset, Preset
from multiutility.vision.photo import Photo
from multiutility.vision.predictor import Progress


def fitted_preset(
    preset: Preset,
    photos: Sequence[Photo],
    random_state: int,
    n_jobs: int = 1,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> FittedPreset:
    """Fit the preset on photos, or take it from the folder if it was fitted on the same ones before.

    The order of the photos does not matter.
    """
    prints = {photo.fingerprint(): photo for photo in photos}
    images = [prints[fingerprint].image for fingerprint in sorted(prints)]
    if folder is None:
        return preset.fit(images, random_state, n_jobs, progress)
    path = folder / f"preset-{fit_key(preset, sorted(prints), random_state)}.safetensors"
    state = read_state(path)
    if state is not None:
        return FittedPreset(preset, state)
    fitted = preset.fit(images, random_state, n_jobs, progress)
    folder.mkdir(parents=True, exist_ok=True)
    write_arrays(path, fitted.state)
    return fitted


def fit_key(preset: Preset, fingerprints: Sequence[str], random_state: int) -> str:
    """Hash of all that a fit depends on."""
    unfitted = FittedPreset(preset, {})
    content = [unfitted.parameters(), unfitted.sources(), random_state, *fingerprints]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def read_state(path: Path) -> State | None:
    """Return the state in a file; None if there is no such file, or it is damaged and has to be made anew."""
    try:
        return read_arrays(path)
    except (FileNotFoundError, ArrayFileError):
        return None
