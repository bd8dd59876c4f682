"""Import, export and prediction of a folder from the page: commands of the command line, one at a time."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from multiutility.datasets.formats import FORMATS
from multiutility.studio.answers import read_json_body
from multiutility.studio.marks import mapping
from multiutility.studio.places import Places
from multiutility.studio.processes import end, last_lines
from multiutility.studio.training import BusyError

# Tables of what is left out are not broken into short lines: the page does that.
COLUMNS = "1000"


class Commands:
    """Runs what ``multiutility convert`` and ``multiutility predict`` do, and tells what they say.

    They decide what may be written, as they always do: files of others never are.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._process: asyncio.subprocess.Process | None = None
        self._follower: asyncio.Task[None] | None = None
        self._state: dict[str, Any] = {"status": "none"}

    def routes(self) -> list[Route]:
        """Return all addresses."""
        return [
            Route("/api/commands", self.state),
            Route("/api/commands", self.start, methods=["POST"]),
            Route("/api/commands", self.cancel, methods=["DELETE"]),
        ]

    async def state(self, _request: Request) -> Response:
        """How the last command stands, and what there is to choose."""
        formats = [
            {"name": name, "help": one.help, "writes": one.write is not None, "images": one.takes_images}
            for name, one in FORMATS.items()
        ]
        home = str(self._places.folder.resolve().parent)
        return JSONResponse({**self._state, "formats": formats, "home": home})

    async def start(self, request: Request) -> Response:
        """Start a command."""
        data = await read_json_body(request)
        if self._state["status"] == "running":
            raise BusyError("a command is under way: wait for it, or cancel it")
        words = words_of(data, self._places)
        self._state = {"status": "running", "what": data["what"], "place": words[-1]}
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "multiutility.cli", *words)
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "COLUMNS": COLUMNS},
        )
        self._follower = asyncio.create_task(self._follow(self._process))
        return JSONResponse(self._state, 202)

    async def cancel(self, _request: Request) -> Response:
        """End the command; nothing is left half written."""
        await self.close()
        return JSONResponse(self._state)

    async def close(self) -> None:
        """End the command, if there is one."""
        if self._process is None or self._follower is None or self._state["status"] != "running":
            return
        self._state["status"] = "cancelled"
        await end(self._process, self._follower)

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # it is a pipe
        lines = await last_lines(process.stdout)
        code = await process.wait()
        status = "done" if code == 0 else "failed"
        if self._state["status"] == "cancelled":
            status = "cancelled"
        self._state = {**self._state, "status": status, "lines": lines}


def words_of(data: Any, places: Places) -> list[str]:
    """Return the command that a page asks for, with the place of its results last; raises ``ValueError``."""
    what = mapping(data, ("what", "place"))["what"]
    home = places.folder.resolve().parent
    out = place_of(data, "place", home)
    if what == "export":
        name = format_of(data, writes=True)
        lossy = ["--lossy"] if data.get("lossy") is True else []
        return ["convert", "--to", name, "--skip-bad", *lossy, str(places.folder.resolve()), out]
    if what == "import":
        images = ["--images", place_of(data, "images", home)] if data.get("images") else []
        source = place_of(data, "source", home)
        return ["convert", *images, "--skip-bad", format_of(data, writes=False), source, out]
    if what == "predict":
        model, source = str(places.model.resolve()), place_of(data, "source", home)
        return ["predict", "--overlay", "--skip-bad", model, source, "--out", out]
    raise ValueError(f"{what!r} is nothing that can be done: expected export, import or predict")


def place_of(data: Any, key: str, home: Path) -> str:
    """Return a path of this machine that a page names, from where the dataset folder is."""
    text = mapping(data, (key,))[key]
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(f"{key}: expected a folder or file of this machine")
    return str(home / Path(text.strip()).expanduser())


def format_of(data: Any, writes: bool) -> str:
    """Return the name of a format that a page names."""
    name = mapping(data, ("format",))["format"]
    if name not in FORMATS or (writes and FORMATS[name].write is None):
        raise ValueError(f"{name!r} is no format to {'export to' if writes else 'import'}")
    return str(name)
