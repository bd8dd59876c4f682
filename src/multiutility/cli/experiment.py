"""The command ``experiment``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import check_folder
from multiutility.cli.messages import Stages, guarded, stages, tell
from multiutility.cli.options import (
    Features,
    FeaturesOption,
    JobsOption,
    OverwriteOption,
    Protocol,
    RandomStateOption,
    SetOption,
    StoreOption,
    numbers,
    parsed,
    parts_of,
    store_of,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.outputs import Outputs, Sources, writing

if TYPE_CHECKING:
    from multiutility.experiments.budget import Budget
    from multiutility.experiments.cells import CellProgress, Result

COSTS = "Budget"


class Name(StrEnum):
    """Names of experiments, and ``results``, which joins their pages."""

    table2 = "table2"
    table1 = "table1"
    figure_rate = "figure-rate"
    figure_alpha = "figure-alpha"
    figure_beta = "figure-beta"
    self_training = "self-training"
    qualitative = "qualitative"
    budget = "budget"
    results = "results"


@guarded
def experiment(
    name: Annotated[Name, typer.Argument(metavar="NAME", help=f"One of {', '.join(Name)}.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where results go.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Dataset folder, with masks.")
    ] = None,
    train: Annotated[str, typer.Option("--train", metavar="SPLIT", help="Images to learn from.")] = "train",
    test: Annotated[str, typer.Option("--test", metavar="SPLIT", help="Images to test on.")] = "test",
    features: FeaturesOption = Features.deep,
    protocol: Annotated[
        Protocol,
        typer.Option("--protocol", help="paper: with the class other; msrc21: without rare classes."),
    ] = Protocol.paper,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the images, and three cells.")] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Subsets that keep masks.")] = 3,
    no_baselines: Annotated[bool, typer.Option("--no-baselines", help="Leave other methods out.")] = False,
    set_: SetOption = None,
    costs: Annotated[
        str,
        typer.Option("--costs", help="Seconds for a tag, point, box and mask.", rich_help_panel=COSTS),
    ] = "2,3,10,240",
    minutes: Annotated[
        str,
        typer.Option(
            "--minutes",
            help="Budgets, such as 15,30,60; by default, parts of what all masks take.",
            rich_help_panel=COSTS,
        ),
    ] = "",
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Where [b]results[/b] go; by default, OUT/results.md."),
    ] = None,
    store: StoreOption = None,
    random_state: RandomStateOption = 0,
    overwrite: OverwriteOption = False,
    jobs: JobsOption = 0,
) -> None:
    """Repeat a table or figure of the paper: weaken masks, learn from what is left, and test.

    Writes NAME.json, NAME.csv, NAME.png and NAME.md to the folder of results. Every finished cell is kept:
    after Ctrl-C, the same command goes on where it was. The name [b]results[/b] joins all pages of a folder.

    Example: [b]multiutility experiment table2 --data DIR --train train --test test --out results[/b]
    """
    if name is Name.results:
        join(out, page or out / "results.md", overwrite)
        return
    from multiutility.experiments.experiment import expected_files, run_experiment
    from multiutility.experiments.study import Setup

    if data is None:
        raise ValueError("--data is missing: give the folder of a dataset, with masks")
    check_folder(data)
    sources = Sources(parts_of(data))
    outputs = Outputs("experiment", out, None, sources, overwrite)
    outputs.check_all(expected_files(name.value, out))
    setup = Setup(
        data.resolve(),
        train,
        test,
        features.value,
        protocol.value,
        quick=quick,
        n_seeds=seeds,
        random_state=random_state,
        changes=parsed(set_ or []),
        baselines=not no_baselines,
        n_jobs=cores(jobs),
        n_processes=cores(jobs),
        store=store_of(store, sources),
    )
    own = (budget_of(costs, minutes), budget_words(costs, minutes)) if name is Name.budget else (None, ())
    with writing(outputs), stages() as note:
        finished = run_experiment(name.value, setup, out, note, cell_lines(note), *own)
    typer.echo(finished.page)
    tell("Wrote " + ", ".join(map(str, finished.files)))


def join(folder: Path, page: Path, overwrite: bool) -> None:
    """Join the pages of experiments."""
    from multiutility.experiments.results_page import find_pages, join_pages, plots_of

    check_folder(folder)
    pages = find_pages(folder)
    plots = plots_of(pages, folder, page)
    outputs = Outputs("experiment", page.parent, [page.name, page.stem], Sources([*pages, *plots]), overwrite)
    outputs.check_all([page, *plots.values()])
    with writing(outputs):
        found = join_pages(folder, page)
    tell(f"{page}: {len(found)} pages")


def budget_of(costs: str, minutes: str) -> Budget:
    """Return the experiment on budgets with other costs."""
    from multiutility.experiments.budget import Budget, Costs

    parts = numbers("--costs", costs)
    if len(parts) != 4:
        raise ValueError(f"--costs {costs!r}: expected 4 numbers, for a tag, a point, a box and a mask")
    return Budget(Costs(*parts), numbers("--minutes", minutes))


def budget_words(costs: str, minutes: str) -> list[str]:
    """Return the options of the experiment on budgets."""
    return ["--costs", costs, *(["--minutes", minutes] if minutes else [])]


def cell_lines(note: Stages) -> CellProgress:
    """Return what tells of every finished cell in a line, and moves a bar."""

    def told(result: Result, done: int, total: int, kept: bool) -> None:
        note("cells", done, total)
        test = result.outcome.test
        time = "kept" if kept else f"{result.outcome.seconds:.0f} s"
        tell(f"{done}/{total} {result.cell}: {test.accuracy:.3f} / {test.mean_recall:.3f} ({time})")

    return told
