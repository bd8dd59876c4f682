"""Experiments by name: which cells they have, and what becomes of their results."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from multiutility.datasets.files import replacing
from multiutility.datasets.tables import harmless
from multiutility.experiments.budget import Budget
from multiutility.experiments.cells import CODE_DIGITS, Cell, CellFiles, CellProgress, CellResult, run_cells
from multiutility.experiments.figures import AlphaFigure, BetaFigure, RateFigure
from multiutility.experiments.methods import OURS
from multiutility.experiments.report import Check, Report, Sheet
from multiutility.experiments.self_training import Qualitative, SelfTrainingComparison
from multiutility.experiments.study import Setup, Study
from multiutility.experiments.table1 import Table1
from multiutility.experiments.table2 import Table2
from multiutility.sources import code_digest
from multiutility.vision.training_set import StageProgress

# Where outcomes of cells are kept, in the folder of results; experiments share them.
CELLS = "cells"


class Experiment(Protocol):
    """Cells to learn, and a report on them."""

    @property
    def title(self) -> str:
        """Heading of the page."""

    def cells(self, study: Study) -> list[Cell]:
        """Return all cells."""

    def quick_cells(self, study: Study) -> list[Cell]:
        """Return three of them, or three smaller ones."""

    def report(self, sheet: Sheet, study: Study) -> Report:
        """Return the page; cells that were not run are left open."""


EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    "table2": Table2,
    "table1": Table1,
    "figure-rate": RateFigure,
    "figure-alpha": AlphaFigure,
    "figure-beta": BetaFigure,
    "self-training": SelfTrainingComparison,
    "qualitative": Qualitative,
    "budget": Budget,
}


@dataclass(frozen=True)
class Finished:
    """What an experiment has written: its files, its checks, and the page."""

    files: list[Path]
    checks: list[Check]
    page: str


def run_experiment(
    name: str,
    setup: Setup,
    out: Path,
    progress: StageProgress | None = None,
    told: CellProgress | None = None,
    experiment: Experiment | None = None,
    options: Sequence[str] = (),
) -> Finished:
    """Run what is not done yet, and write JSON, CSV, plots and a page to a folder.

    An ``experiment`` other than the usual one of the name comes with the ``options`` that ask for it.

    Cells are kept in the folder, one by one: after an interruption the same call goes on where it was.
    """
    chosen = experiment or EXPERIMENTS[name]()
    out.mkdir(parents=True, exist_ok=True)
    study = Study.open(setup, progress)
    cells = chosen.quick_cells(study) if setup.quick else chosen.cells(study)
    results = run_cells(study, cells, CellFiles(out / CELLS), told)
    report = chosen.report(Sheet(results), study)
    return write_results(Titles(name, command(name, [setup], options)), study, results, report, out)


@dataclass(frozen=True)
class Titles:
    """Name of an experiment, and the command that makes it."""

    name: str
    command: str


def write_results(
    titles: Titles, study: Study, results: list[CellResult], report: Report, out: Path
) -> Finished:
    """Write all files of an experiment on one dataset."""
    setup, rows = study.setup, [result.row for result in results]
    names = [setup.data.name, setup.features_name, setup.protocol]
    names += [f"method {setup.changes['method']}"] if "method" in setup.changes else []
    heading = f"## {report.title} ({', '.join(names)})"
    about = (
        f"{setup.data.name}: {len(study.images)} training images (`{setup.train}`), "
        f"{len(study.test.images)} test images (`{setup.test}`), features `{setup.features_name}`, "
        f"protocol `{setup.protocol}`{', quick' if setup.quick else ''}."
    )
    page = page_text(titles, heading, [about, *parameter_notes(results)], report)
    return write_files(titles.name, as_json(titles, study, results, report), rows, report, page, out)


def write_files(
    name: str, content: dict[str, Any], rows: list[dict[str, Any]], report: Report, page: str, out: Path
) -> Finished:
    """Write JSON, CSV, plots and a page; each appears whole."""
    files = [out / f"{name}.{ending}" for ending in ("json", "csv", "md")]
    write_text(files[0], json.dumps(content, indent=1, allow_nan=False))
    write_text(files[1], as_csv(rows))
    for suffix, draw in report.plots.items():
        files.append(plot_path(out, name, suffix))
        draw(files[-1])
    write_text(files[2], page)
    return Finished(files, list(report.checks), page)


def expected_files(name: str, out: Path) -> list[Path]:
    """Return the files of an experiment, as far as they are known before, and its plots that are there."""
    files = [out / f"{name}.{ending}" for ending in ("json", "csv", "md", "png")]
    return [*files, *sorted(out.glob(f"{name}-*.png"))]


def plot_path(out: Path, name: str, suffix: str) -> Path:
    """Where a plot goes."""
    return out / (f"{name}-{suffix}.png" if suffix else f"{name}.png")


def as_json(titles: Titles, study: Study, results: list[CellResult], report: Report) -> dict[str, Any]:
    """Return rows and checks in plain values."""
    setup = study.setup
    return {
        "experiment": titles.name,
        "command": titles.command,
        "data": setup.data.name,
        "train": setup.train,
        "test": setup.test,
        "features": setup.features_name,
        "protocol": setup.protocol,
        "quick": setup.quick,
        "code": code_name(),
        "n_train": len(study.images),
        "n_test": len(study.test.images),
        "classes": list(study.classes.names),
        "rows": [plain(result.row) for result in results],
        "checks": [check.plain for check in report.checks],
        "seconds": round(sum(result.outcome.seconds for result in results), 2),
    }


def code_name() -> str:
    """Return a short name of the code that decides on results."""
    return code_digest()[:CODE_DIGITS]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with None for measures that are not defined."""
    undefined = {name for name, value in row.items() if isinstance(value, float) and math.isnan(value)}
    return {name: None if name in undefined else value for name, value in row.items()}


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV, each parameter in a column of its own; what has parts is written as in JSON."""
    flat = [{**{k: v for k, v in row.items() if k != "parameters"}, **row["parameters"]} for row in rows]
    flat = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()} for row in flat]
    columns = list(dict.fromkeys(column for row in flat for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    # For spreadsheets: texts may be those of a stranger.
    writer.writerows({k: harmless(v) if isinstance(v, str) else v for k, v in row.items()} for row in flat)
    return text.getvalue()


def page_text(titles: Titles, heading: str, about: Sequence[str], report: Report) -> str:
    """Return the page: command, tables, plots and checks."""
    plots = [f"![{report.title}]({plot_path(Path(), titles.name, suffix).name})" for suffix in report.plots]
    code = f"Code `{code_name()}`."
    parts = [heading, f"```\n{titles.command}\n```", *about, code, *report.sections, *plots]
    if report.checks:
        parts.append("### Checks\n\n" + "\n".join(f"- {check}" for check in report.checks))
    return "\n\n".join(parts) + "\n"


def parameter_notes(results: list[CellResult]) -> list[str]:
    """Return the parameters of our models, and for which annotations; those that cells vary are left out."""
    groups: dict[str, list[str]] = {}
    for result in results:
        if result.cell.method == OURS:
            varied = dict(result.cell.changes)
            fixed = {k: v for k, v in result.parameters.items() if k not in varied and v is not None}
            kinds = "masks" if result.cell.annotations == "none" else result.cell.annotations
            groups.setdefault(", ".join(f"{k} = {v}" for k, v in fixed.items()), []).append(kinds)
    lines = [f"{', '.join(dict.fromkeys(kinds))}: {text}" for text, kinds in groups.items()]
    return [f"Parameters of ours: {'; '.join(lines)}."] if lines else []


def command(name: str, setups: Sequence[Setup], options: Sequence[str] = ()) -> str:
    """Return the command that makes the results, wherever the data are; setups differ in these only."""
    setup = setups[0]
    words = ["multiutility", "experiment", name, "--data", *(one.data.name for one in setups)]
    words += ["--train", setup.train, "--test", setup.test]
    words += ["--features", setup.features_name, "--protocol", setup.protocol]
    words += ["--quick"] if setup.quick else []
    words += ["--seeds", str(setup.n_seeds)] if setup.n_seeds != 3 else []
    words += ["--random-state", str(setup.random_state)] if setup.random_state else []
    words += [] if setup.baselines else ["--no-baselines"]
    for option, value in setup.changes.items():
        words += ["--set", f"{option}={json.dumps(value)}"]
    return shlex.join([*words, *options, "--out", "results"])


def write_text(path: Path, text: str) -> None:
    """Write a file at once."""
    with replacing(path) as file:
        file.write(text.encode())
