"""Live mode: every change is learned from at once, and a learner that dies loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import live_worker
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import read_mask
from multiutility.studio.annotations import Annotations
from multiutility.studio.live import Live
from multiutility.studio.options import Options
from multiutility.studio.places import Places
from multiutility.vision.model_file import read_model
from studio_cases import SIZE, horizon, packed, scribbled

PATIENCE = 120


async def until(live: Live, what: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the first state that is as wanted."""

    async def follow() -> dict[str, Any]:
        async for state in live.events():
            if what(state):
                return state
        raise AssertionError("it has ended")

    return await asyncio.wait_for(follow(), PATIENCE)


def waited(client: httpx.Client, what: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask until the state is as wanted."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        state: dict[str, Any] = client.get("/api/live").json()
        if what(state):
            return state
        time.sleep(0.05)
    raise AssertionError(f"not in time: {state}")


def shown(state: dict[str, Any], name: str, after: int = 0) -> bool:
    picture = state.get("picture")
    return bool(picture and picture["name"] == name and picture["turn"] > after and picture["final"])


def learned_from(state: dict[str, Any]) -> int:
    return int(state["picture"]["n_images"])


def test_changes_are_learned_from_at_once(client: httpx.Client, folder: Path) -> None:
    assert client.get("/api/live").json()["phase"] == "off"
    assert client.put("/api/live/open", json={"name": "two"}).status_code == 200
    assert client.put("/api/live/open", json={"name": "none"}).status_code == 404
    assert client.put("/api/live", json={"on": True}).json()["on"]
    refused = client.post("/api/training", json={})
    assert refused.status_code == 409
    assert "Live is on" in refused.json()["error"]
    first = waited(client, lambda state: shown(state, "two") and "model" in state)
    assert first["picture"]["n_images"] == 2
    before = (folder / "studio" / "model.safetensors").stat().st_mtime_ns
    # A third picture, which has had nothing so far, and is the open one from now on.
    client.put("/api/live/open", json={"name": "drei ü"})
    waited(client, lambda state: shown(state, "drei ü", first["picture"]["turn"]))
    version = client.get("/api/images/drei ü").json()["versions"]["scribbles"]
    where = "/api/images/drei ü/scribbles"
    client.put(where, content=packed(scribbled()), headers={"if-match": version}).raise_for_status()
    learned = waited(client, lambda state: bool(state["picture"]) and state["picture"]["n_images"] == 3)
    last = waited(client, lambda state: shown(state, "drei ü", learned["picture"]["turn"] - 1))
    values = np.frombuffer(client.get("/api/images/drei ü/live").content, np.uint8)
    assert values.shape == (SIZE[0] * SIZE[1],)
    kept = read_mask(folder / "studio" / "live" / f"{last['picture']['turn']}.png")
    assert np.array_equal(values.reshape(SIZE), kept)
    assert client.get("/api/images/one/live").status_code == 404
    # All pages have the model of now.
    end = time.monotonic() + PATIENCE
    while (folder / "studio" / "model.safetensors").stat().st_mtime_ns == before:
        assert time.monotonic() < end
        time.sleep(0.05)
    read_model(folder / "studio" / "model.safetensors")
    assert client.put("/api/live", json={"on": False}).json() == {
        **client.get("/api/live").json(),
        "phase": "off",
        "on": False,
        "now": pytest.approx(time.time(), abs=PATIENCE),
    }
    assert client.get("/api/images/drei ü/live").status_code == 404


def test_a_learner_that_is_killed_comes_back_with_all_that_is_saved(folder: Path) -> None:
    async def run() -> None:
        live = Live(Places(folder))
        await live.open("two")
        await live.start(Options())
        await until(live, lambda state: shown(state, "two"))
        assert live._process is not None
        os.kill(live._process.pid, signal.SIGKILL)
        dead = await until(live, lambda state: state["phase"] == "again")
        assert "nothing is lost" in dead["text"]
        assert dead["picture"] is None
        annotations = Annotations(folder)
        version = annotations.pixel_state("drei ü", "mask").version
        annotations.write_pixels("drei ü", "mask", horizon(), version)
        await live.changed()
        back = await until(live, lambda state: shown(state, "two"))
        if back["picture"]["n_images"] == 2:  # it had looked before that was written
            await live.changed()
            back = await until(
                live, lambda state: bool(state["picture"]) and state["picture"]["n_images"] == 3
            )
        assert back["picture"]["n_images"] == 3
        await live.stop()

    asyncio.run(run())


def written(folder: Path, name: str, mask: Any) -> None:
    """Write a mask as the page does."""
    annotations = Annotations(folder)
    annotations.write_pixels(name, "mask", mask, annotations.pixel_state(name, "mask").version)


def test_images_that_cannot_be_read_are_skipped_until_they_can(folder: Path) -> None:
    places = Places(folder)
    broken, later = (DatasetFolder(folder)[name].path for name in ("one", "drei ü"))
    whole = broken.read_bytes()
    written(folder, "drei ü", horizon())
    broken.write_bytes(whole[:60])

    async def run() -> None:
        live = Live(places)
        await live.open("two")
        await live.start(Options())
        first = await until(live, lambda state: shown(state, "two") and "model" in state)
        assert (learned_from(first), [one["image"] for one in first["skipped"]]) == (2, ["one"])
        broken.write_bytes(whole)
        await live.changed()
        second = await until(live, lambda state: shown(state, "two") and learned_from(state) == 3)
        assert second["skipped"] == []
        # Those that are gone are not learned from any more.
        later.unlink()
        await live.changed()
        third = await until(live, lambda state: shown(state, "two") and learned_from(state) == 2)
        assert third["skipped"] == []
        await live.stop()

    asyncio.run(run())


def test_changes_of_labels_are_followed(client: httpx.Client, folder: Path) -> None:
    client.put("/api/live/open", json={"name": "two"})
    client.put("/api/live", json={"on": True})
    first = waited(client, lambda state: shown(state, "two"))
    client.post("/api/classes", json={"name": "tree", "kind": "thing"}).raise_for_status()
    more = waited(client, lambda state: shown(state, "two", first["picture"]["turn"] + 1))
    names = [one["name"] for one in client.get("/api/dataset").json()["classes"]]
    assert names == ["grass", "sky", "cow", "tree"]
    # Another order: the mask has other values, and what was shown is of the labels of before.
    classes = client.get("/api/dataset").json()
    wanted = [{**one, "of": [one["name"]]} for one in reversed(classes["classes"])]
    before = read_mask(folder / "masks" / "two.png")
    client.put("/api/classes", json={"classes": wanted, "version": classes["classes_version"]})
    waited(client, lambda state: state["picture"] is None and "learned anew" in state["text"])
    assert client.get("/api/images/two/live").status_code == 404
    last = waited(client, lambda state: shown(state, "two", more["picture"]["turn"]))
    assert last["text"] == ""
    values = np.frombuffer(client.get("/api/images/two/live").content, np.uint8).reshape(SIZE)
    assert np.array_equal(read_mask(folder / "masks" / "two.png"), 5 - before)
    assert set(np.unique(values)) <= {2, 3, 4}  # cow, sky, grass
    client.put("/api/live", json={"on": False})


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PYTHONPATH", str(Path(live_worker.__file__).parent))
    return "live_worker"


def test_one_that_dies_again_and_again_is_given_up(folder: Path, stand_in: str) -> None:
    async def run() -> None:
        live = Live(Places(folder), stand_in)
        await live.start(Options(superpixels=live_worker.ALWAYS))
        failed = await until(live, lambda state: state["phase"] == "failed")
        assert "out of luck" in failed["text"]
        assert not live.on

    asyncio.run(run())


def test_orders_reach_the_learner_that_was_started_again(folder: Path, stand_in: str) -> None:
    async def run() -> None:
        live = Live(Places(folder), stand_in)
        await live.open("one")
        await live.start(Options(superpixels=live_worker.ONCE))
        await until(live, lambda state: state["phase"] == "again")
        await until(live, lambda state: bool(state["picture"]) and state["picture"]["turn"] == 2)
        await live.changed()
        end = time.monotonic() + PATIENCE
        while len((folder / "orders").read_text().splitlines()) < 2 and time.monotonic() < end:
            await asyncio.sleep(0.02)
        orders = [json.loads(line) for line in (folder / "orders").read_text().splitlines()]
        assert orders == [{"open": "one"}, {"open": "one"}]
        await live.stop()

    asyncio.run(run())


def test_it_ends_with_the_studio(folder: Path) -> None:
    command = [sys.executable, "-m", "multiutility.studio.live_worker", str(folder), "{}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
