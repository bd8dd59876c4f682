"""The command line: parses arguments and prints; all work is done elsewhere."""

import os
import signal
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    app: typer.Typer

INTERRUPTED = 130


def main() -> None:
    """Run the command that the arguments name."""
    # Nothing of weight has been imported yet: Ctrl-C during imports would be a traceback, or be taken for a
    # library that cannot be imported. Where it is ignored, as in the background, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    from multiutility.cli.commands import app  # noqa: PLC0415

    app()


def leave(_signal: int, _frame: FrameType | None) -> None:
    """End at once, as long as no command has begun; see ``interruptible``."""
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def __getattr__(name: str) -> Any:
    if name == "app":
        from multiutility.cli import commands  # noqa: PLC0415

        return commands.app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
