"""Live mode: a resident learner, told of every change, and started again if it dies."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.images import read_mask
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.processes import last_lines

Phase: TypeAlias = Literal["off", "starting", "learning", "ready", "again", "failed"]

# Seconds before a learner that has died is started again, and how often in a row without a picture.
PAUSE, TRIES = 0.5, 3


class Live:
    """The switch, the process behind it, and how it stands.

    All that the process knows is in files, or can be learned from them: if it dies, another takes over.
    """

    def __init__(self, places: Places, worker: str = "multiutility.studio.live_worker") -> None:
        self._places = places
        self._worker = worker
        self._options = Options()
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._closing = False
        self._state: dict[str, Any] = {"phase": "off"}
        self._number = 0
        self._open: str | None = None
        self._deaths = 0

    @property
    def on(self) -> bool:
        """Whether it is switched on."""
        return self._state["phase"] not in ("off", "failed")

    def state(self) -> dict[str, Any]:
        """Return how it stands, as JSON: the phase, the last picture with its time, and what went wrong."""
        return {**self._state, "on": self.on, "now": time.time()}

    async def start(self, options: Options) -> None:
        """Switch it on; it stays on until it is switched off, or dies too often."""
        if self.on:
            return
        self._options, self._deaths = options, 0
        await self._set("starting", picture=None, text="", skipped=[])
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Switch it off: the process ends, and what it has written stays."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None
        await self._end()
        await self._set("off", picture=None, text="")

    async def farewell(self) -> None:
        """End all streams of events: the server waits for them when it closes."""
        async with self._changed:
            self._closing = True
            self._changed.notify_all()

    async def open(self, name: str) -> None:
        """Take note of the picture that is looked at: it is predicted first."""
        self._open = name
        await self._tell({"open": name})

    async def changed(self) -> None:
        """Look what has been written in the folder, and learn from it."""
        if self.on:
            await self._tell({"open": self._open})

    def picture(self, name: str) -> NDArray[np.uint8]:
        """Return the prediction of the open picture; raises ``LookupError`` if it is of another one."""
        shown = self._state.get("picture")
        if shown is None or shown["name"] != name:
            raise LookupError(f"{name}: there is no live prediction")
        return read_mask(self._places.live / f"{shown['turn']}.png")

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Yield how it stands, now and whenever that changes."""
        seen = -1
        while True:
            async with self._changed:
                await self._changed.wait_for(partial(self._is_new, seen))
            if self._closing:
                return
            seen = self._number
            yield self.state()

    def _is_new(self, seen: int) -> bool:
        return self._closing or self._number != seen

    async def _set(self, phase: Phase, **more: Any) -> None:
        async with self._changed:
            self._state = {**self._state, "phase": phase, **more}
            self._number += 1
            self._changed.notify_all()

    async def _keep(self) -> None:
        """Run the process, and run it again if it dies."""
        while True:
            try:
                errors = await self._follow()
            except OSError as error:
                errors = [str(error)]
            self._process = None
            self._deaths += 1
            text = errors[-1] if errors else "it has ended without a word"
            if self._deaths > TRIES:
                await self._set("failed", text=f"The live learner has ended {self._deaths} times: {text}")
                return
            told = "The live learner has ended, and is started again; nothing is lost."
            await self._set("again", text=told, picture=None, stage=None, skipped=[])
            await asyncio.sleep(PAUSE)

    async def _follow(self) -> list[str]:
        """Start the process and take note of what it tells until it ends; return its last words."""
        self._places.own.mkdir(exist_ok=True)
        command = (sys.executable, "-m", self._worker, str(self._places.folder.resolve()))
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, json.dumps(self._options.to_json()), stdin=pipe, stdout=pipe, stderr=pipe, limit=2**20
        )
        self._process = process
        assert process.stdout is not None  # both are pipes
        assert process.stderr is not None
        errors = asyncio.create_task(last_lines(process.stderr))
        if self._open is not None:
            await self._tell({"open": self._open})
        async for line in process.stdout:
            await self._take(json.loads(line))
        await process.wait()
        return await errors

    async def _take(self, event: dict[str, Any]) -> None:
        kind = event.pop("type")
        if kind == "picture":
            self._deaths = 0
            await self._set("ready" if event["final"] else "learning", picture=event, text="", stage=None)
        elif kind == "stage":
            phase: Phase = "learning" if event["stage"] != "predicting" else "ready"
            await self._set(phase, stage=event)
        elif kind == "anew":
            # What was shown is of other labels.
            await self._set("learning", picture=None, text=event["text"], stage=None)
        elif kind == "skipped":
            await self._set(self._state["phase"], skipped=[*self._state["skipped"], *event["files"]])
        elif kind == "mended":
            left = [one for one in self._state["skipped"] if one["image"] not in event["images"]]
            await self._set(self._state["phase"], skipped=left)
        elif kind in ("error", "note"):
            await self._set(self._state["phase"], text=event["text"])
        elif kind == "model":
            await self._set(self._state["phase"], model=time.time())

    async def _tell(self, order: dict[str, Any]) -> None:
        """Send an order; if the process has just died, the next one reads all there is from the files."""
        process = self._process
        if process is None or process.stdin is None or process.returncode is not None:
            return
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            return

    async def _end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._process = None
