"""The command ``experiment``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import check_folder
from multiutility.cli.messages import Stages, guarded, stages, tell
from multiutility.cli.options import (
    FeaturesOption,
    JobsOption,
    Method,
    MethodOption,
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
from multiutility.vision.features.names import DEFAULT as DEFAULT_FEATURES

if TYPE_CHECKING:
    from multiutility.experiments.budget import Budget
    from multiutility.experiments.cells import CellProgress, CellResult
    from multiutility.experiments.gain import Gain

COSTS = "Budget"
GAIN = "Gain"


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
    gain = "gain"
    results = "results"


@guarded
def experiment(
    name: Annotated[Name, typer.Argument(metavar="NAME", help=f"One of {', '.join(Name)}.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where results go.")],
    more: Annotated[list[Path] | None, typer.Argument(metavar="DIR", help="More datasets, for gain.")] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="DIR", help="Dataset folder, with masks; several for gain."),
    ] = None,
    train: Annotated[str, typer.Option("--train", metavar="SPLIT", help="Images to learn from.")] = "train",
    test: Annotated[str, typer.Option("--test", metavar="SPLIT", help="Images to test on.")] = "test",
    features: FeaturesOption = DEFAULT_FEATURES,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            "--protocol",
            help="paper: with the class other; msrc21: without rare classes, which is what gain has.",
            show_default="paper",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the images, and few cells.")] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Subsets that keep masks.")] = 3,
    no_baselines: Annotated[bool, typer.Option("--no-baselines", help="Leave other methods out.")] = False,
    method: MethodOption = Method.auto,
    set_: SetOption = None,
    costs: Annotated[
        str,
        typer.Option(
            "--costs",
            help="Seconds that you take for one, such as tags=2,seeds=3,boxes=10,mask=240; for the others, "
            "what the studio assumes.",
            rich_help_panel=COSTS,
        ),
    ] = "",
    minutes: Annotated[
        str,
        typer.Option(
            "--minutes",
            help="Budgets, such as 15,30,60; by default, parts of what all masks take.",
            rich_help_panel=COSTS,
        ),
    ] = "",
    masks: Annotated[
        str, typer.Option("--masks", help="Images that keep their masks.", rich_help_panel=GAIN)
    ] = "5,20",
    mixes: Annotated[
        str,
        typer.Option(
            "--mixes", help="Weak annotations, such as tags,points; by default, all.", rich_help_panel=GAIN
        ),
    ] = "",
    folds: Annotated[
        int,
        typer.Option(
            "--folds",
            min=0,
            help="Judge within the training images, of which so many parts take turns; 0: by test images.",
            rich_help_panel=GAIN,
        ),
    ] = 0,
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
    after Ctrl-C, the same command goes on where it was. The name [b]gain[/b] measures what weak annotations
    add to a few masks, on several datasets, and [b]results[/b] sums up all experiments of a folder.

    Example: [b]multiutility experiment table2 --data DIR --train train --test test --out results[/b]

    Example: [b]multiutility experiment gain --data DIR1 DIR2 --train train --folds 3 --out gain[/b]
    """
    if name is Name.results:
        join(out, page or out / "results.md", overwrite)
        return
    from multiutility.experiments.experiment import expected_files, run_experiment
    from multiutility.experiments.study import Setup

    folders = [*(data or []), *(more or [])]
    if not folders:
        raise ValueError("--data is missing: give the folder of a dataset, with masks")
    if len(folders) > 1 and name is not Name.gain:
        raise ValueError(f"--data names {len(folders)} folders: {name.value} takes one, only gain takes more")
    for folder in folders:
        check_folder(folder)
    sources = Sources([part for folder in folders for part in parts_of(folder)])
    outputs = Outputs("experiment", out, None, sources, overwrite)
    outputs.check_all(expected_files(name.value, out))
    usual = Protocol.msrc21 if name is Name.gain else Protocol.paper
    kept = store_of(store, sources)
    changes = {**({} if method is Method.auto else {"method": method.value}), **parsed(set_ or [])}
    setups = [
        Setup(
            folder.resolve(),
            train,
            test,
            features,
            (protocol or usual).value,
            quick=quick,
            n_seeds=seeds,
            random_state=random_state,
            changes=changes,
            baselines=not no_baselines,
            n_jobs=cores(jobs),
            n_processes=cores(jobs),
            store=kept,
        )
        for folder in folders
    ]
    if name is Name.gain:
        from multiutility.experiments.gain import run_gain

        gain, words = gain_of(masks, mixes, folds), gain_words(masks, mixes, folds)
        with writing(outputs), stages() as note:
            finished = run_gain(gain, setups, out, note, partial(cell_lines, note), words)
    else:
        own = (budget_of(costs, minutes), budget_words(costs, minutes)) if name is Name.budget else (None, ())
        with writing(outputs), stages() as note:
            finished = run_experiment(name.value, setups[0], out, note, cell_lines(note), *own)
    typer.echo(finished.page)
    tell("Wrote " + ", ".join(map(str, finished.files)))


def join(folder: Path, page: Path, overwrite: bool) -> None:
    """Join the pages of experiments."""
    from multiutility.experiments.results_page import find_sources, join_pages, joined

    check_folder(folder)
    read = [path for one in find_sources(folder, page) for path in one.files]
    outputs = Outputs("experiment", page.parent, [page.name, page.stem], Sources(read), overwrite)
    outputs.check_all([*joined(folder, page)])
    with writing(outputs):
        found = join_pages(folder, page)
    tell(f"{page}: {len(found)} pages")


def budget_of(costs: str, minutes: str) -> Budget:
    """Return the experiment on budgets with other costs."""
    from multiutility.experiments.budget import Budget, Costs

    return Budget(Costs(**costs_of(costs)), numbers("--minutes", minutes))


def costs_of(text: str) -> dict[str, float]:
    """Return seconds by kind of annotation."""
    from multiutility.experiments.budget import bought

    names, found = [kind.name for kind in bought()], dict[str, float]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in names or name in found:
            wanted = f"NAME=SECONDS once for each, with NAME one of {', '.join(names)}"
            raise ValueError(f"--costs {text!r}: {part!r} is not understood; expected {wanted}")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"--costs {text!r}: {value!r} is no number of seconds") from None
    return found


def budget_words(costs: str, minutes: str) -> list[str]:
    """Return the options of the experiment on budgets."""
    return [*(["--costs", costs] if costs else []), *(["--minutes", minutes] if minutes else [])]


def gain_of(masks: str, mixes: str, folds: int) -> Gain:
    """Return the experiment on what weak annotations add."""
    from multiutility.experiments.gain import MIXES, Gain

    counts = numbers("--masks", masks)
    if any(one != int(one) for one in counts):
        raise ValueError(f"--masks {masks!r}: expected whole numbers, such as 5,20")
    chosen = [part.strip() for part in mixes.split(",") if part.strip()]
    return Gain([int(one) for one in counts], chosen or MIXES, folds)


def gain_words(masks: str, mixes: str, folds: int) -> list[str]:
    """Return the options of the experiment on what weak annotations add."""
    words = ["--masks", masks, *(["--mixes", mixes] if mixes else [])]
    return [*words, *(["--folds", str(folds)] if folds else [])]


def cell_lines(note: Stages, dataset: str = "") -> CellProgress:
    """Return what tells of every finished cell in a line, and moves a bar."""
    place = f"{dataset}: " if dataset else ""

    def told(result: CellResult, done: int, total: int, kept: bool) -> None:
        note("cells", done, total)
        test = result.outcome.test
        time = "kept" if kept else f"{result.outcome.seconds:.0f} s"
        tell(f"{place}{done}/{total} {result.cell}: {test.accuracy:.3f} / {test.mean_recall:.3f} ({time})")

    return told
