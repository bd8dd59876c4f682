"""Cells of experiments: one model each, learned once and kept in a file of its own."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from multiutility.array_file import Arrays, decode_text, encode_text, read_arrays, write_arrays
from multiutility.experiments.confusions import Confusions
from multiutility.experiments.methods import OURS, method_parameters
from multiutility.experiments.study import Outcome, Study
from multiutility.experiments.supervision import Supervision
from multiutility.experiments.workers import Task, outcomes
from multiutility.sources import code_digest

Full: TypeAlias = int | Literal["all"]

VERSION = 3  # of the files
KEY_DIGITS, CODE_DIGITS = 32, 16


@dataclass(frozen=True)
class Cell:
    """What one model is learned from, and how.

    ``full`` images keep their masks, chosen by ``seed``; all others have ``annotations``. If ``choice`` is
    given, it says instead which images have what. ``changes`` are parameters other than the defaults, and
    ``about`` are further columns of the cell's row.
    """

    annotations: str
    full: Full
    seed: int
    method: str = OURS
    changes: tuple[tuple[str, float | str], ...] = ()
    choice: Supervision | None = None
    about: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        words = [self.annotations if self.full != "all" else "masks", f"{self.full} full"]
        words += [f"{name} {value}" for name, value in (*self.changes, *self.about)]
        return ", ".join([*words, f"seed {self.seed}", self.method])


@dataclass(frozen=True, eq=False)
class CellResult:
    """A cell with its outcome and the parameters that it was learned with."""

    cell: Cell
    features: str
    protocol: str
    n_images: int
    parameters: Mapping[str, Any]
    outcome: Outcome

    @property
    def row(self) -> dict[str, Any]:
        """Everything in plain values."""
        cell, outcome = self.cell, self.outcome
        return {
            "annotations": cell.annotations,
            "full": cell.full,
            "features": self.features,
            "protocol": self.protocol,
            "seed": cell.seed,
            "method": cell.method,
            **dict(cell.about),
            "accuracy": outcome.test.accuracy,
            "mean_recall": outcome.test.mean_recall,
            "mean_iou": outcome.test.mean_iou,
            "train_accuracy": outcome.train.accuracy,
            "train_mean_recall": outcome.train.mean_recall,
            "n_images": self.n_images,
            "seconds": round(outcome.seconds, 2),
            "learning_seconds": round(outcome.learning_seconds, 2),
            "parameters": dict(self.parameters),
            "chosen": outcome.about_model.get("chosen"),
            "estimate": outcome.about_model.get("estimate"),
        }


# Told of a finished cell, how many are done and of how many, and whether it was there before.
CellProgress: TypeAlias = Callable[[CellResult, int, int, bool], None]


class OtherCodeWarning(UserWarning):
    """Cells that were learned by other code are not used."""


class CellFiles:
    """Outcomes in a folder, one file each, named by all that they depend on.

    The second part of a name is the hash of the code that learned, see ``code_digest``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._code = code_digest()

    def find(self, key: str) -> Outcome | None:
        """Return the outcome that was kept under a key."""
        path = self.path(key)
        return read_outcome(path) if path.exists() else None

    def find_others(self, key: str) -> list[Path]:
        """Return the files of the same cell by other code."""
        found = self.folder.glob(f"{key[:KEY_DIGITS]}-*.safetensors")
        return [path for path in found if path != self.path(key)]

    def add(self, key: str, outcome: Outcome, about: Mapping[str, Any]) -> None:
        """Keep an outcome; the file appears whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_arrays(self.path(key), encoded(outcome, about))

    def path(self, key: str) -> Path:
        """Where an outcome is kept."""
        return self.folder / f"{key[:KEY_DIGITS]}-{self._code[:CODE_DIGITS]}.safetensors"


def run_cells(
    study: Study, cells: Iterable[Cell], files: CellFiles, told: CellProgress | None = None
) -> list[CellResult]:
    """Learn all cells that have not been yet; each is kept at once."""
    wanted = list(dict.fromkeys(cells))
    tasks = [task_of(study, cell) for cell in wanted]
    keys = [task_key(study, task) for task in tasks]
    found: dict[str, Outcome] = {key: kept for key in keys if (kept := files.find(key)) is not None}
    progress = Telling(study, wanted, tasks, told)
    for number, key in enumerate(keys):
        if key in found:
            progress.tell(number, found[key], kept=True)
    # Cells of different names may be the same: with all masks, say, annotations make no difference.
    open_ = {key: number for number, key in enumerate(keys) if key not in found}
    numbers = list(open_.values())
    outdated = sum(bool(files.find_others(key)) for key in open_)
    if outdated:
        what = f"{files.folder}: {outdated} cells were learned by other code, or with other libraries"
        message = f"{what}; they are learned again, and the old files stay"
        warnings.warn(message, OtherCodeWarning, stacklevel=2)
    # Closed at once if anything goes wrong here: processes would go on otherwise.
    with closing(outcomes(study, [tasks[number] for number in numbers])) as coming:
        for place, outcome in coming:
            number = numbers[place]
            found[keys[number]] = outcome
            files.add(keys[number], outcome, {"cell": str(wanted[number]), **tasks[number].parameters})
            for same in (n for n, key in enumerate(keys) if key == keys[number]):
                progress.tell(same, outcome, kept=same != number)
    return [progress.result(number, found[key]) for number, key in enumerate(keys)]


@dataclass(eq=False)
class Telling:
    """Makes results, and tells of those that are done."""

    study: Study
    cells: Sequence[Cell]
    tasks: Sequence[Task]
    told: CellProgress | None
    n_done: int = 0

    def result(self, number: int, outcome: Outcome) -> CellResult:
        """Return the result of a cell."""
        setup, task = self.study.setup, self.tasks[number]
        n_images = len(task.choice.masks) + len(task.choice.weak)
        cell, names = self.cells[number], (setup.features_name, setup.protocol)
        return CellResult(cell, *names, n_images, task.parameters, outcome)

    def tell(self, number: int, outcome: Outcome, kept: bool) -> None:
        """Tell that a cell is done."""
        self.n_done += 1
        if self.told is not None:
            self.told(self.result(number, outcome), self.n_done, len(self.cells), kept)


def task_of(study: Study, cell: Cell) -> Task:
    """Return what there is to do for a cell."""
    changes = {**study.setup.changes, **dict(cell.changes)}
    choice = cell.choice or study.choice(cell.annotations, cell.full, cell.seed)
    kinds = cell.annotations if choice.weak else "none"
    parameters = method_parameters(cell.method, changes)
    return Task(cell.method, kinds, choice, parameters)


def task_key(study: Study, task: Task) -> str:
    """Hash of all that an outcome depends on."""
    names = study.images.names
    masks, weak = ([names[n] for n in part] for part in (task.choice.masks, task.choice.weak))
    parts = [[[names[n], own] for n, own in task.choice.parts]] if task.choice.parts else []
    content = [VERSION, study.key, task.method, task.kinds, masks, weak, dict(task.parameters), *parts]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def encoded(outcome: Outcome, about: Mapping[str, Any]) -> Arrays:
    """Return an outcome as arrays for a file."""
    arrays: Arrays = {
        "test": outcome.test.entries,
        "train": outcome.train.entries,
        "weights": outcome.weights,
    }
    facts = {
        **{name: {"n_images": one.n_images, "rare": sorted(one.rare)} for name, one in parts(outcome)},
        "n_labels": outcome.test.n_labels,
        "seconds": outcome.seconds,
        "learning_seconds": outcome.learning_seconds,
        "about_model": dict(outcome.about_model),
        "about": dict(about),
    }
    return {**arrays, "facts": encode_text(json.dumps(facts))}


def parts(outcome: Outcome) -> Sequence[tuple[str, Confusions]]:
    """Return both confusions, by name."""
    return (("test", outcome.test), ("train", outcome.train))


def read_outcome(path: Path) -> Outcome:
    """Read a file of ``encoded``."""
    try:
        arrays = {name: np.array(array) for name, array in read_arrays(path).items()}
        facts = json.loads(decode_text(arrays["facts"]))
        test, train = (
            Confusions(
                arrays[name], facts[name]["n_images"], facts["n_labels"], frozenset(facts[name]["rare"])
            )
            for name in ("test", "train")
        )
        seconds = facts["seconds"], facts["learning_seconds"]
        return Outcome(test, train, arrays["weights"], *seconds, facts["about_model"])
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path}: damaged ({error}); remove it, and the cell is learned again") from error
