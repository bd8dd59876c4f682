"""The standing attack of ``benchmarks/attack.py``: that it sees what fails, and a short form of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attacks.runner import Attempt, Outcome, Part, run

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked on Windows"),
    # Threads of libraries that wait for work do no harm to processes that do not use them.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "attack.py"


def misbehave(folder: Path) -> Attempt:
    """Attempts that end well or badly, in the order of their numbers; they tell them apart by a file."""
    ways = folder.parent / "ways"

    def attempt(rng: np.random.Generator) -> Outcome:
        way = ways.read_text().split()[0]
        ways.write_text(ways.read_text()[len(way) + 1 :])
        if way == "hang":
            time.sleep(600)
        if way == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if way == "raise":
            raise LookupError("not there")
        outcome = Outcome(slowest=2.5)
        outcome.counts[way] += 1
        outcome.check(way != "wrong", f"wrong {rng.integers(10) < 10}")
        return outcome

    return attempt


def test_hangs_crashes_and_errors_are_failures(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "ways").write_text("good hang crash raise wrong good")
    part = Part("fake", misbehave, share=1, short=1, patience=1.5)
    tally = run(part, 0, iter(range(6)), tmp_path / "part", n_workers=1)
    assert tally.attempts == 6
    assert dict(tally.counts) == {"good": 2, "wrong": 1}
    assert tally.slowest == 2.5
    said = dict(tally.failures)
    assert [*said] == [1, 2, 3, 4]
    assert "hangs" in said[1]
    assert "SIGSEGV" in said[2]
    assert said[3].startswith("LookupError: not there (test_attack.py:")
    assert said[4] == "wrong True"


def cannot_begin(_folder: Path) -> Attempt:
    raise RuntimeError("no disk")


def test_what_cannot_be_attacked_is_a_failure(tmp_path: Path) -> None:
    part = Part("fake", cannot_begin, share=1, short=1, patience=1)
    tally = run(part, 0, iter(range(3)), tmp_path / "part", n_workers=2)
    assert tally.attempts == 0
    assert len(tally.failures) == 2
    assert "no disk" in tally.failures[0][1]


def test_a_short_attack_finds_nothing() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--seed", "1"]
    parts = ["--only", "energies", "--only", "formats", "--only", "flips"]
    done = subprocess.run([*command, *parts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 failures") == 3
