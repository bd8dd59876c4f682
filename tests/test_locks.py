"""Places that one process at a time works on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from multiutility import locks
from multiutility.locks import HeldError, LockWarning, holding

HOLD = """
import sys, time
from pathlib import Path
from multiutility.locks import holding
with holding(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_holds_a_place_until_it_ends_however_it_does(tmp_path: Path) -> None:
    path = tmp_path / "model"
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(HeldError, match=rf"model: process {other.pid} is writing it; wait"),
            holding(path),
        ):
            pass
        with holding(tmp_path / "another"):
            pass
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    with holding(path), pytest.raises(HeldError, match=f"process {os.getpid()} "), holding(path):
        pass
    with holding(path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_is_never_a_file_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".model.lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"\.model\.lock"), holding(tmp_path / "model"):
        pass
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_lock_that_was_removed_meanwhile_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, calls = locks.take, []

    def removed(file: IO[bytes]) -> None:
        take(file)
        calls.append(file)
        if len(calls) == 1:
            (tmp_path / ".model.lock").unlink()

    monkeypatch.setattr(locks, "take", removed)
    with holding(tmp_path / "model"):
        assert len(calls) == 2
        assert (tmp_path / ".model.lock").read_text() == f"{os.getpid()}\n"


def test_disks_without_locks_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(locks, "take", refused)
    with pytest.warns(LockWarning, match=r"cannot be locked \(No locks available\)"), holding(tmp_path / "m"):
        pass
