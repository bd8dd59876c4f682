"""The commands ``classes``: names, colors and order of classes, changed in all files of a dataset at once."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multiutility.cli.data import check_folder
from multiutility.cli.messages import guarded_anew, show, tell
from multiutility.cli.options import DatasetArgument

if TYPE_CHECKING:
    from multiutility.datasets.class_changes import NewClass
    from multiutility.datasets.classes import Classes

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Rename, merge, recolor, order and delete classes: tables, scribbles and masks follow, all at once.

The last change can be undone, here and in the studio; what was is in DIR/studio/undo.

Example: [b]multiutility classes rename DIR gras grass[/b]""",
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a class.")]


@app.command("list")
@guarded_anew
def list_(folder: DatasetArgument) -> None:
    """List the classes in their order, with colors.

    Example: [b]multiutility classes list DIR[/b]
    """
    check_folder(folder)
    from multiutility.datasets.classes import color_text
    from multiutility.datasets.folder import DatasetFolder

    for one in DatasetFolder(folder).classes:
        show(f"{color_text(one.color)}  {one.kind:6}  {one.name}")


@app.command()
@guarded_anew
def rename(
    folder: DatasetArgument,
    name: NameArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
) -> None:
    """Give a class another name.

    Example: [b]multiutility classes rename DIR gras grass[/b]
    """
    change_one(folder, name, f"{name} is called {new}", name=new)


@app.command()
@guarded_anew
def recolor(
    folder: DatasetArgument,
    name: NameArgument,
    color: Annotated[str, typer.Argument(metavar="COLOR", help="Such as #56b4e9.")],
) -> None:
    """Give a class another color.

    Example: [b]multiutility classes recolor DIR sky #56b4e9[/b]
    """
    from multiutility.datasets.classes import parse_color

    change_one(folder, name, f"{name} is {color}", color=parse_color(color))


@app.command()
@guarded_anew
def merge(
    folder: DatasetArgument,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Classes that are the same.")],
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="The one that stays.")],
) -> None:
    """Make classes one that are the same under other names: their marks count together, and shares add up.

    Example: [b]multiutility classes merge DIR Sky heaven --into sky[/b]
    """
    from dataclasses import replace

    others = tuple(dict.fromkeys(name for name in names if name != into))

    def merged(one: NewClass, label: str) -> NewClass | None:
        if label in others:
            return None
        return replace(one, of=(*one.of, *others)) if label == into else one

    change(folder, merged, [*others, into], f"{', '.join(others)} merged into {into}")


@app.command()
@guarded_anew
def delete(
    folder: DatasetArgument,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Classes.")],
) -> None:
    """Delete classes, and all that is annotated with them; other annotations of the images stay.

    Tags of images that named one are open then: something is there that has no name any more.

    Example: [b]multiutility classes delete DIR balloon[/b]
    """
    about = f"{', '.join(names)} deleted"
    change(folder, lambda one, label: None if label in names else one, names, about)


@app.command()
@guarded_anew
def order(
    folder: DatasetArgument,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Classes that come first.")],
) -> None:
    """Put classes into another order: these first, then all others as they were.

    Example: [b]multiutility classes order DIR cow sheep[/b]
    """
    change(folder, lambda one, _: one, names, "another order of classes", names)


@app.command()
@guarded_anew
def undo(folder: DatasetArgument) -> None:
    """Take back the last change of classes, of these commands or of the studio: all files are as before it.

    Only if nothing has changed them since.

    Example: [b]multiutility classes undo DIR[/b]
    """
    check_folder(folder)
    from multiutility.studio.places import Places
    from multiutility.transactions import undo as take_back
    from multiutility.transactions import undoable

    kept = Places(folder).kept
    if not kept.is_dir():
        raise ValueError(f"{folder}: there is no change that could be taken back")
    with alone(folder):
        about = undoable(folder, kept)
        take_back(folder, kept)
    tell(f"Taken back: {about}.")


def alone(folder: Path) -> AbstractContextManager[None]:
    """Let no studio be open meanwhile."""
    from multiutility.studio.lock import only_studio
    from multiutility.studio.places import Places

    own = Places(folder).own
    return only_studio(own) if own.is_dir() else nullcontext()


def change_one(folder: Path, changed: str, about: str, **fields: Any) -> None:
    """Give a class other values of some fields."""
    from dataclasses import replace

    def new(one: NewClass, label: str) -> NewClass:
        return replace(one, one=replace(one.one, **fields)) if label == changed else one

    change(folder, new, [changed], about)


def change(
    folder: Path,
    new: Callable[[NewClass, str], NewClass | None],
    named: Sequence[str],
    about: str,
    first: Sequence[str] = (),
) -> None:
    """Make of each class what ``new`` says, those that are ``first`` above others."""
    check_folder(folder)
    from multiutility.datasets.class_changes import NewClass, change_classes
    from multiutility.datasets.classes import suggest
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.studio.places import Places

    classes: Classes = DatasetFolder(folder, lenient=True).classes
    unknown = [name for name in named if name not in classes.names]
    if unknown:
        raise ValueError(f"unknown class {unknown[0]!r}: {suggest(unknown[0], classes.names)}")
    ranked = sorted(classes, key=lambda one: first.index(one.name) if one.name in first else len(first))
    wanted = [one for old in ranked if (one := new(NewClass(old, (old.name,)), old.name)) is not None]
    with alone(folder):
        files = change_classes(folder, wanted, keep=Places(folder).kept, about=about)
    tell(f"Changed {len(files)} files of {folder}." if files else "Nothing is to be changed.")
