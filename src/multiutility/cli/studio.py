"""The command ``studio``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiutility.cli.data import check_folder
from multiutility.cli.messages import guarded, tell

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of pictures, or dataset folder.")]


@guarded
def studio(
    folder: FolderArgument,
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="Where it listens; by default 8765, if that is free."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Label images, train and review in the browser; nothing leaves this machine.

    Any folder of pictures will do: labels are made in the page. Writes the same files as all other commands
    read, and never changes a picture. The model is DIR/studio/model.safetensors.

    Example: [b]multiutility studio DIR[/b]
    """
    check_folder(folder)
    from multiutility.studio.server import serve

    serve(folder, port, browser=not no_browser, tell=tell)
