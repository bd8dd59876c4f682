"""Commands that look at datasets, ``validate`` and ``summary``; and how others open them."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.messages import guarded_anew, show_json, stages, tell
from multiutility.cli.options import (
    DatasetArgument,
    JobsOption,
    JsonOption,
    OverwriteOption,
    SplitOption,
    file_outputs,
    parts_of,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.outputs import Sources, writing

if TYPE_CHECKING:
    from multiutility.datasets.folder import DatasetFolder

FOUND = 1


@guarded_anew
def validate(folder: DatasetArgument, jobs: JobsOption = 0, json: JsonOption = False) -> None:
    """List every problem of a dataset at once: file, row, what is wrong, and how to mend it.

    The exit code is 1 if there is any. If not, notes name classes that the annotations of the split
    [b]train[/b], or else of all images, cannot tell apart, and what to add.

    Example: [b]multiutility validate DIR[/b]
    """
    from multiutility.datasets.validate import validate as find_problems

    check_folder(folder)
    with stages() as note:
        findings = find_problems(folder, n_jobs=cores(jobs), progress=partial(note, "reading"))
    if json:
        show_json([{"file": f.file, "row": f.row, "what": f.what, "fix": f.fix} for f in findings])
    else:
        for finding in findings:
            typer.echo(str(finding))
        tell(f"{len(findings)} problems." if findings else "No problems.", "red" if findings else "green")
    if findings:
        raise typer.Exit(FOUND)
    advise(folder)


@guarded_anew
def summary(
    folder: DatasetArgument,
    split: SplitOption = None,
    picture: Annotated[
        Path, typer.Option("--picture", metavar="FILE", help="Where the picture of samples is saved.")
    ] = Path("summary.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Save none.")] = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Show how many images and annotations of each kind and class there are, and save a picture of some.

    Example: [b]multiutility summary DIR --split train --picture samples.png[/b]
    """
    from multiutility.cli.tables import show_summary
    from multiutility.datasets.summary import summarize

    dataset = opened(folder, split)
    pictures = [] if no_picture else [picture]
    # Decided before the images are read.
    outputs = [file_outputs("summary", [one], Sources(parts_of(folder)), overwrite) for one in pictures]
    with stages() as note:
        found = summarize(dataset, progress=partial(note, "reading"))
        for own in outputs:
            from multiutility.vision.report import save_samples

            note.begin("drawing")
            with writing(own):
                save_samples(dataset, picture)
    if json:
        show_json(found.to_dict())
    else:
        show_summary(found)
    if not no_picture:
        tell(f"Samples: {picture}")


def opened(folder: Path, split: str | None) -> DatasetFolder:
    """Return the dataset, or the part of it that a split names."""
    from multiutility.datasets.folder import DatasetFolder

    check_folder(folder)
    dataset = DatasetFolder(folder)
    return dataset if split is None else dataset.split(split)


def advise(folder: Path) -> None:
    """Tell which classes cannot be learned from what is annotated for training."""
    from multiutility.datasets.bags import unidentified_labels
    from multiutility.datasets.folder import training_part

    dataset = training_part(opened(folder, None))
    for group in unidentified_labels(dataset):
        tell(f"Note: {group.advice(dataset.classes.names)}", "yellow")


def check_folder(folder: Path) -> None:
    """Raise unless there is such a folder."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder; give the folder of a dataset, with classes.csv")
