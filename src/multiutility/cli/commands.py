"""All commands, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from multiutility.cli import (
    classes,
    convert,
    data,
    example,
    experiment,
    features,
    learning,
    studio,
    tuning,
    use,
    weaken,
)
from multiutility.kinds import INDEX_IMAGES, TABLES

# Where annotations are in a dataset.
PLACES = (
    *(table.file for table in TABLES.values()),
    *(f"{images.folder}/" for images in INDEX_IMAGES.values()),
)
EXAMPLES = f"""Learn one segmenter from all the annotation you have: masks, boxes, points and tags.

A dataset is a folder with [b]images/[/b], [b]classes.csv[/b], and any of
{", ".join(f"[b]{place}[/b]" for place in PLACES)} and [b]splits/[/b].

[b]Examples[/b]

multiutility demo --out demo

multiutility validate DIR

multiutility studio DIR

multiutility train DIR --split train --out model.safetensors

multiutility predict model.safetensors photo.jpg --out results --overlay

multiutility evaluate model.safetensors DIR --split validation
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: tuple[Callable[..., None], ...] = (
    *(example.demo, data.validate, data.summary, convert.convert, weaken.weaken),
    *(learning.prepare, tuning.tune, learning.train, use.predict, use.evaluate),
    *(studio.studio, experiment.experiment),
)

for command in COMMANDS:
    app.command()(command)
app.add_typer(classes.app, name="classes")
app.add_typer(features.app, name="features")


def show_version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        from multiutility import __version__  # noqa: PLC0415 -- it takes a while to find

        typer.echo(f"multiutility {__version__}")
        raise typer.Exit


@app.callback(help=EXAMPLES, no_args_is_help=True)
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Print the version, and end."),
    ] = False,
) -> None:
    """Take the options that no command has."""
    del version  # its callback has seen it
