"""The reference of the command line, out of the same declarations that ``--help`` is made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from mkdocs.structure.files import File
from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from multiutility.cli import app

URI = "reference/cli.md"
PREFACE = """# Command line

Every command has `--help` (or `-h`), which says the same. Exit codes are 0 if all went well, 1 if `validate`
has found problems, 2 if the input cannot be used (the message says what to do), and 130 after Ctrl-C.
"""
HELP = ("`--help`, `-h`", "Show the help of the command and end.")


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """Add the page."""
    files.append(File.generated(config, URI, content=reference()))
    return files


def reference() -> str:
    """Return the page, with all commands in their order."""
    single = [section(command) for command in app.registered_commands]
    grouped = [
        section(command, f"{group.name} ")
        for group in app.registered_groups
        if group.typer_instance is not None
        for command in group.typer_instance.registered_commands
    ]
    return "\n".join([PREFACE, *single, *grouped])


def section(command: CommandInfo, group: str = "") -> str:
    """Return what there is to know of a command, which may be one of a group."""
    function = command.callback
    assert function is not None
    name = group + (command.name or function.__name__.replace("_", "-"))
    parameters = list(declared(function))
    arguments = [one for one in parameters if isinstance(one.info, ArgumentInfo)]
    options = [one for one in parameters if isinstance(one.info, OptionInfo)]
    usage = " ".join(["multiutility", name, *(one.usage for one in arguments), "[OPTIONS]"])
    rows = [*(one.row for one in arguments), *(one.row for one in options), HELP]
    table = ["| parameter | meaning |", "| --- | --- |", *(f"| {first} | {words} |" for first, words in rows)]
    text = plain(inspect.cleandoc(function.__doc__ or ""))
    return "\n".join([f"## {name}\n", f"```\n{usage}\n```\n", f"{text}\n", *table, ""])


def declared(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a command."""
    for name, one in inspect.signature(function, eval_str=True).parameters.items():
        kind, info = get_args(one.annotation)[:2]
        yield Parameter(name, kind, info, one.default)


class Parameter:
    """An argument or option of a command, as it is declared."""

    def __init__(self, name: str, kind: Any, info: ArgumentInfo | OptionInfo, default: Any) -> None:
        self.name = name
        self.kind = kind
        self.info = info
        self.default = default

    @property
    def required(self) -> bool:
        """Whether a command needs it."""
        return self.default is inspect.Parameter.empty

    @property
    def usage(self) -> str:
        """How an argument is written."""
        value = self.info.metavar or self.name.upper()
        return value if self.required else f"[{value}]"

    @property
    def row(self) -> tuple[str, str]:
        """Names with the value, and the meaning with the default."""
        if isinstance(self.info, ArgumentInfo):
            return f"`{escaped(self.info.metavar or self.name.upper())}`", self.meaning
        value = f" `{escaped(self.value)}`" if self.value else ""
        return ", ".join(f"`{name}`" for name in self.names) + value, self.meaning

    @property
    def names(self) -> list[str]:
        """Names of an option, the long one first; in annotations, Typer takes that for the default."""
        first, others = self.info.default, list(self.info.param_decls or ())
        return [first, *others] if isinstance(first, str) else others

    @property
    def value(self) -> str:
        """What follows an option; nothing after a switch."""
        choices = [one for one in (self.kind, *get_args(self.kind)) if isinstance(one, type)]
        first = choices[0] if get_origin(self.kind) in (None, UnionType) else str
        if first is bool:
            return ""
        if issubclass(first, Enum):
            return "|".join(str(one.value) for one in first)
        return self.info.metavar or {int: "N", float: "X", Path: "PATH"}.get(first, "TEXT")

    @property
    def meaning(self) -> str:
        """What it is for, and what holds without it."""
        words = plain(escaped(self.info.help or ""))
        if self.required:
            return f"{words} Required." if isinstance(self.info, OptionInfo) else words
        shown = getattr(self.default, "value", self.default)
        return words if shown is None or shown is False or shown == "" else f"{words} Default: `{shown}`."


def plain(text: str) -> str:
    """Turn the markup of the terminal into Markdown.

    >>> plain("Example: [b]multiutility studio DIR[/b]")
    'Example: `multiutility studio DIR`'
    """
    return re.sub(r"\[b\](.*?)\[/b\]", r"`\1`", text, flags=re.DOTALL)


def escaped(text: str) -> str:
    """Keep what is written in a cell of a table in it."""
    return text.replace("|", "\\|")
