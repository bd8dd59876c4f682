"""The training job: told as it goes, cancelled, failed, interrupted; and nothing outlives the studio."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import studio_worker
from multiutility.datasets.folder import DatasetFolder
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.training import BusyError, Event, Training
from multiutility.studio.worker import held_out, training_images

PATIENCE = 30


@pytest.fixture(autouse=True)
def own_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(studio_worker.__file__).parent))


def training(folder: Path) -> Training:
    return Training(Places(folder), worker="studio_worker")


async def until_ended(job: Training, last: str = "") -> list[tuple[str, Event]]:
    """Return all events up to the state that ends a training."""
    found: list[tuple[str, Event]] = []

    async def follow(events: AsyncIterator[tuple[str, Event]]) -> None:
        async for name, event in events:
            found.append((name, event))
            if event["type"] == "state" and event["status"] not in {"running", "none"}:
                return

    await asyncio.wait_for(follow(job.events(last)), PATIENCE)
    return found


def test_events_come_in_order_and_can_be_taken_up(folder: Path) -> None:
    async def run() -> None:
        job = training(folder)
        await job.start(Options(superpixels=studio_worker.MODEL))
        assert job.running
        with pytest.raises(BusyError):
            await job.start(Options())
        events = await until_ended(job)
        assert [event["type"] for _, event in events] == ["state", "stage", "model", "state"]
        assert job.state()["status"] == "done"
        names = [name for name, _ in events]
        assert [name for name, _ in await until_ended(job, names[1])] == names[2:]
        assert [name for name, _ in await until_ended(job, "other:1")] == names
        # What a studio that is started later knows.
        assert await until_ended(training(folder)) == events

    asyncio.run(run())


@pytest.mark.parametrize(
    ("what", "message"), [(studio_worker.FAIL, "no image has a cow"), (studio_worker.CRASH, "out of luck")]
)
def test_failures_are_told(folder: Path, what: int, message: str) -> None:
    async def run() -> None:
        job = training(folder)
        await job.start(Options(superpixels=what))
        await until_ended(job)
        assert job.state()["status"] == "failed"
        assert message in job.state()["message"]
        await job.start(Options(superpixels=studio_worker.MODEL))
        assert [event["type"] for _, event in await until_ended(job)] == ["state", "stage", "model", "state"]

    asyncio.run(run())


async def started(job: Training, folder: Path) -> int:
    """Start a training that takes long, and return the number of its process when it is at work."""
    await job.start(Options(superpixels=studio_worker.WAIT))
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        await asyncio.sleep(0.02)
    return int((folder / "pid").read_text())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_cancelled(folder: Path) -> None:
    async def run() -> None:
        job = training(folder)
        pid = await started(job, folder)
        await job.cancel()
        assert job.state()["status"] == "cancelled"
        assert not alive(pid)

    asyncio.run(run())


def test_interrupted_and_offered_again(folder: Path) -> None:
    async def run() -> None:
        job = training(folder)
        pid = await started(job, folder)
        await job.close()
        assert not alive(pid)
        later = training(folder)
        state = later.state()
        assert (state["status"], state["options"]["superpixels"]) == ("interrupted", studio_worker.WAIT)
        assert (await until_ended(later))[-1][1]["status"] == "interrupted"
        await later.start(Options(superpixels=studio_worker.MODEL, resume=True))
        assert (await until_ended(later))[-1][1]["status"] == "done"

    asyncio.run(run())


def test_the_process_ends_with_the_studio(folder: Path) -> None:
    # What it waits for is its standard input, which a killed studio cannot keep open.
    command = [
        sys.executable,
        "-m",
        "multiutility.studio.worker",
        str(folder),
        json.dumps({"features": "paper"}),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 1
    assert not (folder / "studio" / "model.safetensors").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {"features": "best"},
        {"superpixels": 0},
        {"superpixels": "9"},
        {"superpixels": True},
        {"C": 1},
    ],
)
def test_options_are_checked(wrong: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        Options.from_json(wrong)


def test_options_round_trip() -> None:
    options = Options("paper", 30, hold_out=True)
    assert Options.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_held_out_images_are_stable_and_never_all(folder: Path) -> None:
    dataset = DatasetFolder(folder)
    assert held_out(dataset) == []  # the only mask is learned from
    part = training_images(dataset, Options(hold_out=True))
    assert part.names == dataset.names
