"""The command line: parses arguments and prints; all work is done elsewhere."""

import io
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    app: typer.Typer

BAD_INPUT = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command that the arguments name."""
    # Nothing of weight has been imported yet: Ctrl-C during imports would be a traceback, or be taken for a
    # library that cannot be imported. Where it is ignored, as in the background, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    if sys.platform == "win32":  # what goes to files and programs is UTF-8 there, too
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")
    from multiutility.extras import MissingExtraError, require  # noqa: PLC0415

    try:
        require("vision", "the command line")
    except MissingExtraError as error:
        # Without colors: what prints these may be what is missing.
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
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
