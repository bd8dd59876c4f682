"""Where the studio keeps its own files: in ``studio`` of the dataset folder, and in the user's cache."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from multiutility.datasets.accepted import FILE as ACCEPTED
from multiutility.datasets.tables import write_text
from multiutility.vision.cache import cache_folder

T = TypeVar("T")

# What goes wrong if a file has been damaged: it is no text, no JSON, or something else than was written.
DAMAGES = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


class StudioWarning(UserWarning):
    """A file that the studio keeps is damaged, and has been set aside."""


class Places:
    """Paths of the studio's files for a dataset folder.

    The model is an ordinary file of ``multiutility train``, and ``accepted`` says which masks are predictions
    that were accepted; the rest may be deleted while no studio is open.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = folder / "studio"
        self.model = self.own / "model.safetensors"
        self.checkpoint = self.own / "model.safetensors.checkpoint"
        self.facts = self.own / "model.json"
        self.job = self.own / "job.json"
        self.events = self.own / "events.jsonl"
        self.predictions = self.own / "predictions"
        self.kept = self.own / "undo"
        self.accepted = folder / ACCEPTED
        self.live = self.own / "live"

    @property
    def store(self) -> Path:
        """Where features are kept, the same as for the command line."""
        return cache_folder() / "features"

    @property
    def pictures(self) -> Path:
        """Where thumbnails and the like are kept."""
        return cache_folder() / "studio"

    def read_facts(self) -> dict[str, Any]:
        """Return what the model was made of; nothing if that is not known."""
        return read_json(self.facts, {}, checked_facts)

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Write what the model was made of."""
        write_json(self.facts, facts)


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(data, allow_nan=False, indent=1))


def read_json(path: Path, default: T, check: Callable[[Any], T]) -> T:
    """Return what is in a JSON file, as ``check`` gives it; the default if there is none.

    A file that ``check`` raises an error for is damaged, and set aside.
    """
    try:
        return check(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return default
    except DAMAGES as error:
        set_aside(path, error)
        return default


def set_aside(path: Path, error: Exception) -> None:
    """Give a damaged file another name, and say so: somebody may want to look at it."""
    names = (path.with_name(f"{path.name}.damaged{n or ''}") for n in count())
    place = next(name for name in names if not name.exists())
    path.rename(place)
    reason = str(error) or type(error).__name__
    warnings.warn(
        f"{path}: damaged ({reason}); it is now {place.name}, and the studio goes on without it",
        StudioWarning,
        stacklevel=2,
    )


def record(data: Any) -> dict[str, Any]:
    """Return an object of JSON; raise if it is none."""
    if not isinstance(data, dict):
        raise TypeError("expected an object")
    return data


def checked_facts(data: Any) -> dict[str, Any]:
    """Return what a model was made of; raise if it cannot be."""
    learned = record(data).get("learned", [])
    if not isinstance(learned, list) or not all(isinstance(name, str) for name in learned):
        raise TypeError("expected a list of names as 'learned'")
    return record(data)
