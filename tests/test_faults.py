"""Processes killed, disks full or read-only, folders shared: nothing is lost or half written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from multiutility.outputs import MANIFEST
from toy import write_mixed, write_toy

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked on Windows")

KILLED = -signal.SIGKILL
REPLACE = "multiutility.files:os.replace"
PASS = "multiutility.learning.optimizers.frank_wolfe:FrankWolfeRun.advance"


class Worker:
    """A process that runs commands in others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        here = Path(__file__).parent
        path = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "MULTIUTILITY_CACHE": str(folder / "cache")}
        # Processes with threads should not be forked; those of a library that waits for work do no harm.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", str(here / "fault_worker.py")]
        # Disks that only the worker sees, where that is allowed.
        self.can_mount = may_mount(folder)
        isolated = ["unshare", "--mount", "--map-root-user", *command] if self.can_mount else command
        self.process = subprocess.Popen(
            isolated, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def start(self, *jobs: dict[str, Any]) -> list[int]:
        """Start processes, and return their numbers."""
        assert self.process.stdin is not None
        given = [{**job, "log": str(self.folder / f"log{n}")} for n, job in enumerate(jobs)]
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout is not None
        return list(json.loads(self.process.stdout.readline()))

    def codes(self) -> list[int]:
        """Wait for processes, and return their exit codes."""
        assert self.process.stdout is not None
        return list(json.loads(self.process.stdout.readline()))

    def run(self, *arguments: Any, **options: Any) -> int:
        self.start(job(*arguments, **options))
        return self.codes()[0]

    def told(self, stream: str = "stderr", n: int = 0) -> str:
        return " ".join((self.folder / f"log{n}.{stream}").read_text().split())

    def seen(self, path: Path) -> Path:
        """The path as the worker sees it, with its disks."""
        return Path(f"/proc/{self.process.pid}/root{path}")


def names_in(folder: Path) -> set[str]:
    """All that is in a folder, hidden things too, but for the manifest."""
    return {*os.listdir(folder)} - {MANIFEST}


def may_mount(folder: Path) -> bool:
    """Whether one may have disks of one's own."""
    if shutil.which("unshare") is None:
        return False
    mount = ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", str(folder)]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


def job(*arguments: Any, **options: Any) -> dict[str, Any]:
    return {"arguments": [str(one) for one in arguments], **options}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    found = Worker(tmp_path_factory.mktemp("worker"))
    with found.process:  # closes the pipes, so that it ends
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    return write_mixed(place / "mixed", write_toy(place / "toy", n_train=6, n_validation=1)).path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def undisturbed(worker: Worker, folder: Path, store: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("undisturbed") / "m.safetensors"
    assert worker.run(*training(folder, store, out)) == 0, worker.told()
    assert names_in(out.parent) == {out.name}
    return out.read_bytes()


def training(folder: Path, store: Path, out: Path) -> tuple[Any, ...]:
    return ("train", folder, "--store", store, "--out", out, "--C", 5, "--alpha", 1, "--jobs", 1)


MOMENTS: dict[str, tuple[str, int, bool]] = {
    "features": ("multiutility.vision.features.preset:FittedPreset.prepare", 3, False),
    "first pass": (PASS, 1, True),
    "a pass": (PASS, 12, False),
    "a later pass": (PASS, 40, True),
    "half of a checkpoint": ("halfway", 9, False),
    "before a checkpoint is there": (REPLACE, 7, False),
    "after a checkpoint is there": (REPLACE, 16, True),
    "before the model is there": ("multiutility.vision.segmenter:write_model", 1, False),
    "after the model is there": ("multiutility.vision.segmenter:write_model", 1, True),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_training_that_was_killed_goes_on_to_the_same_model(
    name: str, worker: Worker, folder: Path, store: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    out, place = tmp_path / "m.safetensors", tmp_path / "store" if name == "features" else store
    command = training(folder, place, out)
    assert worker.run(*command, kill=[MOMENTS[name]]) == KILLED
    assert not out.exists() or out.read_bytes() == undisturbed
    shown = {name for name in os.listdir(tmp_path) if not name.startswith(".")}
    assert shown <= {"m.safetensors", "m.safetensors.checkpoint", "store"}
    assert ("m.safetensors.checkpoint" in shown) == (name not in ("features", "first pass"))
    assert worker.run(*command, "--resume") == 0, worker.told()
    assert out.read_bytes() == undisturbed
    assert names_in(tmp_path) <= {"m.safetensors", "store"}


def test_training_that_is_killed_again_and_again_goes_on(
    worker: Worker, folder: Path, store: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "m.safetensors"
    command = (*training(folder, store, out), "--resume")
    moments = [
        (PASS, 9, True),
        ("halfway", 5, False),
        (PASS, 13, False),
        (REPLACE, 4, True),
        ("halfway", 2, False),
    ]
    for moment in moments:
        assert worker.run(*command, kill=[moment]) == KILLED
    assert worker.run(*command) == 0, worker.told()
    assert out.read_bytes() == undisturbed
    assert names_in(tmp_path) == {out.name}


def test_training_killed_from_outside_goes_on(
    worker: Worker, folder: Path, store: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "m.safetensors"
    checkpoint = tmp_path / "m.safetensors.checkpoint"
    command = training(folder, store, out)
    (child,) = worker.start(job(*command))
    end = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    assert worker.codes() == [KILLED]
    assert worker.run(*command) == 2
    assert "m.safetensors.checkpoint: left by a training that was interrupted; add --resume" in worker.told()
    assert worker.run(*command, "--resume") == 0, worker.told()
    assert out.read_bytes() == undisturbed


def test_one_training_at_a_time_writes_a_model(
    worker: Worker, folder: Path, store: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    out, checkpoint = tmp_path / "m.safetensors", tmp_path / "m.safetensors.checkpoint"
    command = training(folder, store, out)
    # Slow, so that both are there when there is a checkpoint.
    children = worker.start(job(*command, slow=[PASS]), job(*command, before=[wait_for(checkpoint)]))
    codes = worker.codes()
    assert codes == [0, 2]
    assert f"{out}: process {children[0]} is writing it; wait" in worker.told(n=1)
    assert out.read_bytes() == undisturbed
    assert names_in(tmp_path) == {out.name}


def wait_for(path: Path) -> list[str]:
    """Command that ends when there is a file."""
    return ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.02; done', str(path)]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder that are not hidden."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_preparation_that_was_killed_goes_on(worker: Worker, folder: Path, tmp_path: Path) -> None:
    command = ("prepare", folder, "--jobs", 1, "--store")
    assert worker.run(*command, tmp_path / "whole") == 0, worker.told()
    for moment in (("halfway", 1, False), (REPLACE, 3, False), (REPLACE, 2, True), ("halfway", 2, False)):
        assert worker.run(*command, tmp_path / "store", kill=[moment]) == KILLED
        found = contents(tmp_path / "store")
        assert found.items() < contents(tmp_path / "whole").items()
    assert worker.run(*command, tmp_path / "store") == 0, worker.told()
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_two_processes_prepare_the_same_store(worker: Worker, folder: Path, tmp_path: Path) -> None:
    command = ("prepare", folder, "--jobs", 2, "--store")
    assert worker.run(*command, tmp_path / "alone") == 0
    # Slow, so that they are at the same files at the same time.
    worker.start(*[job(*command, tmp_path / "shared", slow=[REPLACE])] * 3)
    assert worker.codes() == [0, 0, 0]
    assert contents(tmp_path / "shared") == contents(tmp_path / "alone")
    assert all("damaged" not in worker.told(n=n) for n in range(3))


@pytest.fixture(scope="module")
def model(undisturbed: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    path.write_bytes(undisturbed)
    return path


def test_prediction_that_was_killed_goes_on(
    worker: Worker, folder: Path, model: Path, tmp_path: Path
) -> None:
    command = ("predict", model, folder, "--overlay", "--scores", "--coco", "--jobs", 1, "--json", "--out")
    assert worker.run(*command, tmp_path / "whole") == 0, worker.told()
    whole = contents(tmp_path / "whole")
    for moment in ((REPLACE, 6, False), (REPLACE, 8, True)):
        assert worker.run(*command, tmp_path / "out", "--resume", kill=[moment]) == KILLED
        found = contents(tmp_path / "out")
        assert {"classes.csv"} < found.keys()
        assert found.items() < whole.items()
    assert worker.run(*command, tmp_path / "out", "--resume") == 0, worker.told()
    assert contents(tmp_path / "out") == whole
    made = json.loads((worker.folder / "log0.stdout").read_text())["n_images"]
    assert made == 6 - 1 - 2  # before the first end, and before the second


def test_results_of_another_model_are_not_taken_for_those_of_this_one(
    worker: Worker, folder: Path, model: Path, tmp_path: Path
) -> None:
    command = ("predict", model, folder, "--overlay", "--scores", "--jobs", 1, "--overwrite", "--out")
    assert worker.run(*command, tmp_path / "whole") == 0, worker.told()
    for part in ("overlay", "scores"):
        (tmp_path / "out" / part).mkdir(parents=True)
        for path in (tmp_path / "whole" / part).iterdir():
            (tmp_path / "out" / part / path.name).write_bytes(b"of another model")
    for n in (2, 3, 4):
        assert worker.run(*command, tmp_path / "out", "--resume", kill=[(REPLACE, n, True)]) == KILLED
    assert worker.run(*command, tmp_path / "out", "--resume") == 0, worker.told()
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


EXPORTS = {
    "an image": ("multiutility.datasets.writing:os.link", 3, True),
    "a file": (REPLACE, 1, False),
    "the folder": ("multiutility.files:Path.rename", 1, False),
    "after": ("multiutility.files:Path.rename", 1, True),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_that_was_killed_is_not_there_or_whole(
    name: str, worker: Worker, folder: Path, tmp_path: Path
) -> None:
    commands = {
        "coco": ("convert", folder, "--to", "coco"),
        "weak": ("weaken", folder, "--keep-masks", 1),
    }
    for kind, (command, first, *options) in commands.items():
        out = tmp_path / kind
        assert worker.run(command, first, out, *options, kill=[EXPORTS[name]]) == KILLED
        assert out.exists() == (name == "after")
        assert all(hidden.startswith(".") for hidden in os.listdir(tmp_path) if hidden not in commands)
        if name != "after":
            assert worker.run(command, first, out, *options) == 0, worker.told()
            assert names_in(tmp_path) <= commands.keys()  # what was left is gone
        assert worker.run(command, first, tmp_path / "again", *options) == 0
        assert contents(out) == contents(tmp_path / "again")
        shutil.rmtree(tmp_path / "again")


def test_an_export_that_is_asked_to_end_leaves_nothing(worker: Worker, folder: Path, tmp_path: Path) -> None:
    for command in (
        ("convert", folder, tmp_path / "coco", "--to", "coco"),
        ("weaken", folder, tmp_path / "weak"),
    ):
        (child,) = worker.start(job(*command, slow=["multiutility.datasets.writing:os.link"] * 6))
        end = time.monotonic() + 60
        while not list(tmp_path.glob(".*/images/*")) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(child, signal.SIGTERM)
        assert worker.codes() == [143]
        assert "Nothing is left half written" in worker.told()
        assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_whole_is_not_there(
    worker: Worker, folder: Path, store: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "m.safetensors"
    out.write_bytes(b"old")
    command = (*training(folder, store, out), "--overwrite")
    assert worker.run(*command, file_size=len(undisturbed) // 2) == 2
    told = worker.told()
    assert f"{out}: file too large" in told.lower()
    assert "m.safetensors.checkpoint: cannot be written: File too large; learning goes on without" in told
    assert "Traceback" not in told
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {out.name: b"old"}
    assert worker.run(*command) == 0
    assert out.read_bytes() == undisturbed


@pytest.fixture
def mounting(worker: Worker) -> Worker:
    if not worker.can_mount:
        pytest.skip("disks cannot be mounted here (unshare --mount --map-root-user)")
    return worker


def full_disk(path: Path, size: int = 4) -> list[list[str]]:
    """Commands that make a disk of some KB at a place, and fill all or some of it."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", str(path)]
    return [mount, ["sh", "-c", 'echo full > "$0/filler"', str(path)]]


def test_full_disks_are_told_and_leave_nothing_half_written(
    mounting: Worker, folder: Path, store: Path, model: Path, tmp_path: Path
) -> None:
    worker = mounting
    commands = {
        "train": training(folder, store, tmp_path / "train" / "m.safetensors"),
        "prepare": ("prepare", folder, "--store", tmp_path / "prepare" / "store"),
        "predict": ("predict", model, folder, "--scores", "--overlay", "--out", tmp_path / "predict" / "out"),
        "convert": ("convert", folder, tmp_path / "convert" / "out", "--to", "voc"),
        "weaken": ("weaken", folder, tmp_path / "weaken" / "out"),
        "roomy": ("weaken", folder, tmp_path / "roomy" / "out"),
        "rooms": ("convert", folder, tmp_path / "rooms" / "out", "--to", "labelme"),
    }
    for name, command in commands.items():
        place = tmp_path / name
        # Where there is some room, it is the images that have none.
        assert worker.run(*command, before=full_disk(place, 40 if name.startswith("room") else 4)) == 2, name
        assert "no space left on device" in worker.told().lower()
        assert f"Error: {place}" in worker.told()
        assert "Traceback" not in worker.told()
        left = [path for path in worker.seen(place).rglob("*") if path.suffix == ".tmp"]
        assert left == []
    assert not worker.seen(tmp_path / "train" / "m.safetensors").exists()
    assert not worker.seen(tmp_path / "convert" / "out").exists()


def test_outputs_that_are_read_only_are_told_before_the_work(
    mounting: Worker, folder: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    before = [
        ["mount", "--bind", str(tmp_path / "out"), str(tmp_path / "out")],
        ["mount", "-o", "remount,ro,bind", str(tmp_path / "out")],
    ]
    never = [("multiutility.vision.features.preset:FittedPreset.prepare", 1, False)]
    commands = (
        training(folder, tmp_path / "store", tmp_path / "out" / "m.safetensors"),
        ("predict", model, folder, "--out", tmp_path / "out"),
        ("predict", model, folder, "--out", tmp_path / "out" / "new"),
        ("prepare", folder, "--store", tmp_path / "out"),
        ("convert", folder, tmp_path / "out" / "coco", "--to", "coco"),
        ("weaken", folder, tmp_path / "out" / "weak"),
    )
    for n, command in enumerate(commands):
        assert mounting.run(*command, before=[] if n else before, kill=never) == 2, command
        told = mounting.told()
        assert "cannot be written to" in told or "read-only file system" in told.lower()
        assert str(tmp_path / "out") in told
        assert "Traceback" not in told
    assert os.listdir(tmp_path / "out") == []
