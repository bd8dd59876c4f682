"""Models on disk: one safetensors file, with everything that is not an array as JSON in its header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.files import replacing
from multiutility.vision.about import about_lines, estimate_of
from multiutility.vision.features.preset import FittedPreset
from multiutility.vision.predictor import Predictor
from multiutility.vision.regions.refine import WIDE, Refinement

# Files of format 1 have no checksum; those before 3 say only whether borders are refined, which was WIDE.
FORMAT = 3
KEY = "multiutility"
STATE = "state."
WEIGHTS = "weights"
CHECKSUM = "checksum"
RETRAIN = "train the model again"


class ModelFileError(ValueError):
    """A file that is no model, or none that this version can read."""

    def __init__(self, path: Path, what: str, fix: str) -> None:
        super().__init__(f"{path}: {what}; {fix}")


def write_model(path: Path, model: Predictor, parameters: Mapping[str, Any]) -> None:
    """Write a model and the parameters (JSON) that it was made by.

    The file appears as a whole: an interruption leaves the old one, or none.
    """
    preset = model.preset.parameters()
    # Better now than when it is read: features of one's own cannot be named in a file.
    FittedPreset.from_parts(preset, model.preset.state)
    header = {
        "format": FORMAT,
        "classes": [
            {"name": c.name, "color": list(c.color), "kind": c.kind, "rare": c.rare} for c in model.classes
        ],
        "parameters": dict(parameters),
        "preset": preset,
        "max_side": model.max_side,
        "typical_margin": model.typical_margin,
        "refine": None if model.refine is None else asdict(model.refine),
        "about": dict(model.about),
    }
    tensors = {STATE + name: array for name, array in model.preset.state.items()}
    tensors[WEIGHTS] = np.ascontiguousarray(model.weights, dtype=np.float64)
    whole = {**header, CHECKSUM: checksum(header, tensors)}
    content = save(tensors, {KEY: json.dumps(whole, allow_nan=False)})
    with replacing(path, durable=True) as file:
        file.write(content)


def model_digest(path: Path) -> str:
    """Hash of a model file, to tell what was made by it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def checksum(header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    """Hash of all that is in a model file."""
    hasher = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, array in sorted(tensors.items()):
        hasher.update(f"{name} {array.dtype.str} {array.shape}".encode())
        hasher.update(np.ascontiguousarray(array).data)
    return hasher.hexdigest()


def read_model(path: Path) -> tuple[Predictor, dict[str, Any]]:
    """Return the model in a file and the parameters that it was made by; no code in the file is run."""
    header, tensors = read_parts(path)
    check_format(path, header.get("format"))
    # A file of format 1 that has a checksum is one of format 2, with a number that has changed.
    checked = header["format"] > 1 or CHECKSUM in header
    if checked and header.pop(CHECKSUM, None) != checksum(header, tensors):
        raise ModelFileError(
            path, "damaged: it has changed since it was written", f"copy it again, or {RETRAIN}"
        )
    state = {name.removeprefix(STATE): array for name, array in tensors.items() if name.startswith(STATE)}
    try:
        model = Predictor(
            classes=Classes(
                LabelClass(c["name"], rgb(c["color"]), c["kind"], bool(c["rare"])) for c in header["classes"]
            ),
            preset=FittedPreset.from_parts(header["preset"], state),
            weights=np.asarray(tensors[WEIGHTS], dtype=np.float64),
            max_side=int(header["max_side"]),
            typical_margin=float(header["typical_margin"]),
            refine=refinement_of(header["refine"]),
            # Files of before tell nothing of themselves.
            about=checked_about(header.get("about", {})),
        )
        parameters = renamed(dict(header["parameters"]))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(path, f"its header cannot be used ({error})", RETRAIN) from None
    if model.weights.ndim != 1 or not np.isfinite(model.weights).all():
        raise ModelFileError(path, "its weights are damaged", RETRAIN)
    if not (model.max_side > 0 and 0 < model.typical_margin < np.inf):
        raise ModelFileError(path, "its header has sizes that cannot be", RETRAIN)
    return model, parameters


def read_parts(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header of a model file, and its arrays."""
    if not path.is_file():
        raise ModelFileError(path, "there is no such file", "give a file that `multiutility train` wrote")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, ValueError, AttributeError) as error:
        what = f"truncated, or not a model file ({error})"
        raise ModelFileError(path, what, f"copy it again, or {RETRAIN}") from None
    try:
        return dict(json.loads(metadata[KEY])), tensors
    except (KeyError, TypeError, ValueError, RecursionError):
        what = "a safetensors file of another program"
        raise ModelFileError(path, what, "give a file that `multiutility train` wrote") from None


def check_format(path: Path, number: Any) -> None:
    """Raise unless this version reads the format."""
    if type(number) is not int or number < 1:
        raise ModelFileError(path, f"its format is {number!r}", RETRAIN)
    if number > FORMAT:
        what = f"written by a newer multiutility (format {number}, this one reads up to {FORMAT})"
        raise ModelFileError(path, what, "upgrade multiutility")


def renamed(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters by their names of today: losses of weak annotations were chosen one by one.

    >>> renamed({"C": 1.0, "weak_loss": "annotation"})
    {'C': 1.0, 'method': 'paper'}
    """
    if "weak_loss" not in parameters:
        return parameters
    methods = {"expected": "auto", "annotation": "paper"}
    loss = parameters["weak_loss"]
    if loss not in methods:
        raise ValueError(f"weak_loss is {loss!r}: expected {' or '.join(methods)}")
    rest = {name: value for name, value in parameters.items() if name != "weak_loss"}
    return {**rest, "method": methods[loss]}


def checked_about(about: Any) -> dict[str, Any]:
    """Return what a model tells of itself; raise if it cannot be told."""
    if not isinstance(about, dict) or not isinstance(about.get("chosen", {}), dict):
        raise TypeError("about is no object")
    estimate_of(about)
    about_lines(about)
    return about


def refinement_of(value: Any) -> Refinement | None:
    """Return how borders are refined.

    >>> refinement_of(True) == WIDE, refinement_of(False), refinement_of(None)
    (True, None, None)
    """
    if isinstance(value, bool):
        return WIDE if value else None
    return (
        None
        if value is None
        else Refinement(float(value["reach"]), int(value["window"]), float(value["pull"]))
    )


def rgb(values: Any) -> tuple[int, int, int]:
    """Return a color of the header."""
    red, green, blue = (int(value) for value in values)
    return red, green, blue
