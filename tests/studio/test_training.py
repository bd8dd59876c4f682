"""The training job: told as it goes, cancelled, failed, interrupted; and nothing outlives the studio."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

import studio_worker
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder, NewSample, write_dataset
from multiutility.kinds import PixelAnnotation
from multiutility.studio.held_out import held_out, training_images
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.studio.training import BusyError, Event, Training

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
    async with asyncio.timeout(PATIENCE):
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


@pytest.mark.parametrize(("n_masks", "expected"), [(0, 0), (1, 0), (2, 1), (5, 1), (9, 2), (40, 8)])
def test_one_of_five_masks_is_held_out_whatever_the_names(
    tmp_path: Path, n_masks: int, expected: int
) -> None:
    pixels = np.ones((2, 3), np.uint8)
    image = np.zeros((2, 3, 3), np.uint8)
    for prefix in ("IMG_", "photo ", "x"):
        names = [f"{prefix}{n}" for n in range(n_masks + 1)]
        annotations = [*[PixelAnnotation(mask=pixels)] * n_masks, PixelAnnotation()]
        samples = [NewSample(name, image, one) for name, one in zip(names, annotations, strict=True)]
        write_dataset(tmp_path / prefix.strip(), Classes.from_names(["sky"]), samples)
        dataset = DatasetFolder(tmp_path / prefix.strip())
        chosen = held_out(dataset)
        assert len(chosen) == expected
        part = training_images(dataset, Options(hold_out=True))
        assert sorted({*part.names, *chosen}) == sorted(names)
        assert not set(part.names) & set(chosen)
        # A mask more moves no more than one of them.
        assert len(set(chosen) - set(held_out(dataset.select(names[1:])))) <= 1


def test_files_that_cannot_be_read_are_skipped_and_named(folder: Path) -> None:
    for n in range(3):
        shutil.copy(folder / "images" / "two.png", folder / "images" / f"more {n}.png")
    (folder / "images" / "bad.png").write_bytes(b"no picture")
    cut = (folder / "images" / "two.png").read_bytes()
    (folder / "images" / "cut.png").write_bytes(cut[: len(cut) // 2])
    with (folder / "tags.csv").open("a") as file:
        file.write("cut,sky\nmore 0,grass\n")
    Places(folder).own.mkdir()
    command = [sys.executable, "-m", "multiutility.studio.worker", str(folder), '{"features": "paper"}']
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        events = [json.loads(line) for line in process.stdout]
        assert (process.wait(PATIENCE), events[-1]) == (0, {"type": "done"})
    skipped = [one for event in events if event["type"] == "skipped" for one in event["files"]]
    assert [one["image"] for one in skipped] == ["bad", "cut"]
    assert skipped[1]["why"].startswith("images/cut.png: cannot be read")
    (model,) = (event for event in events if event["type"] == "model")
    assert model["n_images"] == 3
    assert Places(folder).read_facts()["learned"] == ["more 0", "one", "two"]
    assert len(list((folder / "studio" / "predictions").glob("*/masks/*.png"))) == 6
