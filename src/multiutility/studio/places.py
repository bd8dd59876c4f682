"""Where the studio keeps its own files: in ``studio`` of the dataset folder, and in the user's cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from multiutility.datasets.tables import write_text
from multiutility.vision.cache import cache_folder


class Places:
    """Paths of the studio's files for a dataset folder.

    The model is an ordinary file of ``multiutility train``; the rest may be deleted while no studio is open.
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

    @property
    def store(self) -> Path:
        """Where features are kept, the same as for the command line."""
        return cache_folder() / "features"

    @property
    def pictures(self) -> Path:
        """Where thumbnails and the like are kept."""
        return cache_folder() / "studio"

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Write what the model was made of."""
        write_json(self.facts, facts)


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(data, allow_nan=False, indent=1))


def read_json(path: Path, default: Any) -> Any:
    """Return what is in a JSON file; the default if there is none."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return default
