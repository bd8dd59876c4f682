"""What the command line tells people and programs: results to stdout, all else to stderr."""

from __future__ import annotations

import errno
import json
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from multiutility.cli import BAD_INPUT, INTERRUPTED, leave
from multiutility.extras import MissingExtraError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

P = ParamSpec("P")
T = TypeVar("T")

TERMINATED = 143

KEPT = "Interrupted. What is finished is kept: the same command goes on from there."
RESUMABLE = "Interrupted. What is finished is kept: the same command with --resume goes on from there."
NOT_KEPT = "Interrupted. Nothing is left half written: the same command begins anew."


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command with bad input told in one line and exit code 2, and Ctrl-C with 130."""
    return protected(command, KEPT)


def guarded_resumable(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command guarded likewise, for one that has to be asked to go on."""
    return protected(command, RESUMABLE)


def guarded_anew(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command guarded likewise, for one that keeps nothing when it is interrupted."""
    return protected(command, NOT_KEPT)


def protected(command: Callable[P, None], interrupted: str) -> Callable[P, None]:
    """Return the command with errors and Ctrl-C told in one line."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            interruptible()
            with told_warnings(), orderly_end():
                command(*args, **kwargs)
        except KeyboardInterrupt as end:
            tell(interrupted, "yellow")
            raise typer.Exit(TERMINATED if isinstance(end, Terminated) else INTERRUPTED) from None
        except (ValueError, OSError, MissingExtraError) as error:
            tell(f"Error: {in_words(error)}", "red")
            raise typer.Exit(BAD_INPUT) from error

    return run


def interruptible() -> None:
    """Let Ctrl-C interrupt from now on: there is something to clean up, and to tell."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Terminated(KeyboardInterrupt):
    """The process was asked to end, by ``kill`` or by the system."""


@contextmanager
def orderly_end() -> Iterator[None]:
    """Let ``kill`` end the block as Ctrl-C does, so that nothing is left half written."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        # Another must not interrupt the cleaning up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    # Only where nobody else has a say, and in the main thread, which alone hears signals.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def in_words(error: ValueError | OSError | MissingExtraError) -> str:
    """Return what an error says; those of the system say neither what was wanted, nor what to do.

    >>> in_words(FileExistsError(17, "File exists", "notes.txt"))
    'notes.txt: file exists; check the path, and that it may be read and written'
    >>> in_words(OSError(28, "No space left on device", "notes.txt"))
    'notes.txt: no space left on device: the disk is full; make room, or give a place on another disk'
    """
    if isinstance(error, OSError) and error.filename and error.strerror:
        what = error.strerror[:1].lower() + error.strerror[1:]
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{error.filename}: {what}: the disk is full; make room, or give a place on another disk"
        return f"{error.filename}: {what}; check the path, and that it may be read and written"
    return str(error)


def tell(text: str, style: str | None = None) -> None:
    """Print a line for people; brackets in it are no markup, as paths may have some."""
    Console(stderr=True, highlight=False).print(text, style=style, markup=False, soft_wrap=True)


def show(result: Any) -> None:
    """Print a result for people: text, or a table."""
    Console(highlight=False).print(result, soft_wrap=True)


def show_json(result: Any) -> None:
    """Print a result for programs."""
    typer.echo(json.dumps(result, indent=2, allow_nan=False, ensure_ascii=False))


@contextmanager
def told_warnings() -> Iterator[None]:
    """Print warnings of the package in one line each, once; leave out those of others."""

    def tell_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        del category
        tell(f"Note: {message}", "yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", module=r"multiutility\.|__main__")
        warnings.showwarning = tell_warning
        yield


def followed(items: Iterable[T], total: int, note: Callable[[int, int], None]) -> Iterator[T]:
    """Yield the items, and tell how many have been taken."""
    for done, item in enumerate(items, start=1):
        yield item
        note(done, total)


class Stages:
    """Bars for the stages of the work, with the time that is left; only where there is a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def begin(self, stage: str) -> None:
        """Show that there is a stage of which it is not known how long it takes."""
        self._tasks[stage] = self._progress.add_task(stage.capitalize(), total=None)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that so much of the stage is done."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage.capitalize(), total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


@contextmanager
def stages() -> Iterator[Stages]:
    """Bars that vanish when the work is done."""
    from rich import progress as bars  # noqa: PLC0415 -- help needs no bars, and should be there at once

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.percentage:>3.0f}%"),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left:"),
        bars.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with bars.Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        yield Stages(progress)
