"""Training in a process of its own, followed by whoever looks, and offered again if it was interrupted."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from multiutility.datasets.tables import write_text
from multiutility.studio.options import Options
from multiutility.studio.places import DAMAGES, Places, read_json, record, set_aside, write_json
from multiutility.studio.processes import end, last_lines

Event: TypeAlias = dict[str, Any]
Status: TypeAlias = Literal["none", "running", "done", "failed", "cancelled", "interrupted"]


class BusyError(RuntimeError):
    """Training is under way already."""


class Training:
    """One training at a time: its options, how it stands, and all that it has told so far.

    State and events are in files: after the studio was killed in the middle, a new one finds the job
    ``interrupted``. Features that were computed are kept in the store, so that doing it again is faster.
    """

    def __init__(self, places: Places, worker: str = "multiutility.studio.worker") -> None:
        self._places = places
        self._worker = worker
        self._job: dict[str, Any] = read_json(places.job, {"status": "none"}, checked_job)
        self._events = read_events(places)
        if self._job["status"] == "running":
            self._job["status"] = "interrupted"
            self._events.append({"type": "state", **self._job})
        self._process: asyncio.subprocess.Process | None = None
        self._follower: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._closing = False

    @property
    def running(self) -> bool:
        """Whether a process is at work."""
        return bool(self._job["status"] == "running")

    def state(self) -> dict[str, Any]:
        """Return how the last training stands, as JSON."""
        return {**self._job, "n_events": len(self._events)}

    def progress(self) -> dict[str, Any]:
        """Return how the last training stands, and which stage it has come to, for a line on every page."""
        stages = (event for event in reversed(self._events) if event["type"] == "stage")
        return {"status": self._job["status"], "stage": next(stages, None) if self.running else None}

    async def start(self, options: Options) -> None:
        """Start a process; raises ``BusyError`` if there is one."""
        if self.running:
            raise BusyError("training is under way: wait for it, or cancel it")
        self._job = {"status": "running"}  # at once: another request may come while the process starts
        self._places.own.mkdir(exist_ok=True)
        command = (sys.executable, "-m", self._worker, str(self._places.folder.resolve()))
        pipe = asyncio.subprocess.PIPE
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, json.dumps(options.to_json()), stdin=pipe, stdout=pipe, stderr=pipe, limit=2**20
            )
        except OSError as error:
            self._job = {"status": "failed", "message": f"the training process does not start: {error}"}
            raise
        self._events = []
        self._places.events.write_text("", "utf-8")
        begun = {"id": secrets.token_hex(6), "options": options.to_json(), "started": time.time()}
        await self._set("running", **begun)
        self._follower = asyncio.create_task(self._follow(self._process))

    async def cancel(self) -> None:
        """End the process; a model that it has written already stays."""
        if self._process is None or self._follower is None or not self.running:
            return
        has_model = any(event["type"] == "model" for event in self._events)
        self._job["status"] = "done" if has_model else "cancelled"
        await end(self._process, self._follower)

    async def dismiss(self) -> None:
        """Forget an interrupted or failed training."""
        if not self.running:
            await self._set("none")

    async def farewell(self) -> None:
        """End all streams of events: the server waits for them when it closes."""
        async with self._changed:
            self._closing = True
            self._changed.notify_all()

    async def close(self) -> None:
        """End the process without a trace: the job stays as interrupted, to be offered again."""
        if self._process is not None and self._follower is not None and self.running:
            self._follower.cancel()
            self._process.kill()
            await self._process.wait()

    async def events(self, last: str = "") -> AsyncIterator[tuple[str, Event]]:
        """Yield events with their names: of the past first, but only those after ``last``, then new ones."""
        job, place = self._job.get("id", ""), 0
        if last.startswith(f"{job}:") and last.removeprefix(f"{job}:").isdecimal():
            place = int(last.removeprefix(f"{job}:")) + 1
        while True:
            async with self._changed:
                await self._changed.wait_for(partial(self._has_more, job, place))
            if self._closing:
                return
            if job != self._job.get("id", ""):
                job, place = self._job.get("id", ""), 0
            for number in range(place, len(self._events)):
                yield f"{job}:{number}", self._events[number]
            place = len(self._events)

    def _has_more(self, job: str, place: int) -> bool:
        return self._closing or job != self._job.get("id", "") or place < len(self._events)

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # both are pipes
        assert process.stderr is not None
        errors = asyncio.create_task(last_lines(process.stderr))
        async for line in process.stdout:
            await self._add(json.loads(line))
        code, lines = await process.wait(), await errors
        told = [event["text"] for event in self._events if event["type"] == "error"]
        status: Status = self._job["status"]
        if status == "running":
            status = "done" if code == 0 else "failed"
        message = told[-1] if told else "\n".join(lines)
        await self._set(status, **({"message": message} if status == "failed" else {}), finished=time.time())

    async def _set(self, status: Status, **more: Any) -> None:
        kept = (
            {} if "id" in more else {k: v for k, v in self._job.items() if k in ("id", "options", "started")}
        )
        self._job = {"status": status, **kept, **more}
        write_json(self._places.job, self._job)
        await self._add({"type": "state", **self._job})

    async def _add(self, event: Event) -> None:
        with self._places.events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        async with self._changed:
            self._events.append(event)
            self._changed.notify_all()


def checked_job(data: Any) -> dict[str, Any]:
    """Return how a training stands; raise if it cannot be."""
    job = record(data)
    if job.get("status") not in get_args(Status):
        raise ValueError(f"its status is {job.get('status')!r}")
    if not isinstance(job.get("id", ""), str):
        raise TypeError("its id is no text")
    if "options" in job:
        Options.from_json(job["options"])
    return job


def checked_event(line: str) -> Event:
    """Return the event of a line; raise if there is none."""
    event = record(json.loads(line))
    if not isinstance(event.get("type"), str) or (event["type"] == "error" and "text" not in event):
        raise ValueError(f"{line!r} is no event")
    return event


def read_events(places: Places) -> list[Event]:
    """Return the events of the last training; none if the file is damaged, which is then set aside."""
    try:
        text = places.events.read_text("utf-8")
        *whole, rest = text.split("\n")
        events = [checked_event(line) for line in whole]
    except FileNotFoundError:
        return []
    except DAMAGES as error:
        set_aside(places.events, error)
        return []
    if rest:
        # Cut off when the power went: the next event must not become a part of this line.
        write_text(places.events, text.removesuffix(rest))
    return events
