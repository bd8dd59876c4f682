"""Commands killed at random moments: run again, they end with the same bytes, and nothing is left over."""

from __future__ import annotations

import os
import shutil
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np

from attacks.commands import COMMANDS, Bench, Command, Contents, Ended, contents, differences
from attacks.runner import Attempt, Outcome, Part
from multiutility.outputs import MANIFEST

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {
    signal.SIGKILL: {0, -signal.SIGKILL},
    signal.SIGTERM: {0, -signal.SIGTERM, 128 + signal.SIGTERM},
    signal.SIGINT: {0, 128 + signal.SIGINT},
}
"""Exit codes after a signal; it may come too late."""

GRACE = 10.0
"""Seconds in which processes that a command has started may end after it."""

NOTES = b"not of any command"
BAD_INPUT = 2


def begin(folder: Path) -> Attempt:
    """Make datasets and a model; commands run undisturbed when they are first chosen."""
    bench = Bench(folder)
    undisturbed: dict[str, tuple[Contents, float]] = {}

    def attempt(rng: np.random.Generator) -> Outcome:
        command = COMMANDS[int(rng.integers(len(COMMANDS)))]
        if command.name not in undisturbed:
            clear(bench)
            ended = bench.run(bench.words(command))
            if ended.code != 0:
                return Outcome(failures=[f"{command.name}: undisturbed, {ended}"])
            undisturbed[command.name] = results(bench), ended.seconds
        return Attack(bench, command, *undisturbed[command.name]).run(rng)

    return attempt


def clear(bench: Bench) -> None:
    """Leave nothing in the folder of results but a file of the user's."""
    shutil.rmtree(bench.place, ignore_errors=True)
    bench.place.mkdir()
    (bench.place / "notes.txt").write_bytes(NOTES)


def results(bench: Bench) -> Contents:
    """Return what is in the folder of results; lines of manifests come in any order."""
    found = contents(bench.place)
    for name, content in found.items():
        if Path(name).name == MANIFEST and isinstance(content, bytes):
            found[name] = b"".join(sorted(content.splitlines(keepends=True)))
    return found


class Attack:
    """Kills of one command, and what is there afterwards."""

    def __init__(self, bench: Bench, command: Command, wanted: Contents, seconds: float) -> None:
        self.bench, self.command, self.wanted, self.seconds = bench, command, wanted, seconds
        self.outcome, self.said = Outcome(), command.name

    def run(self, rng: np.random.Generator) -> Outcome:
        """Kill the command some times, and let it go on to its end."""
        clear(self.bench)
        inputs = contents(self.bench.inputs)
        for n in range(int(rng.integers(1, 4))):
            self.kill(self.bench.words(self.command) + (self.command.resume.split() if n else []), rng)
        words = self.bench.words(self.command) + self.command.resume.split()
        ended = self.bench.run(words)
        found = results(self.bench)
        # A command that was killed after its last step need not make anew what is there.
        done = ended.code == BAD_INPUT and found == self.wanted
        self.check(ended.code == 0 or done, f"run again, exit code {ended.code}: {ended.said[-300:]}")
        self.check("Traceback" not in ended.said, f"run again, a traceback: {ended.said[-300:]}")
        different = differences(found, self.wanted, self.bench.place)
        self.check(not different, f"run again: {', '.join(different[:4])} ({len(different)} files)")
        changed = differences(contents(self.bench.inputs), inputs, self.bench.inputs)
        self.check(not changed, f"inputs: {', '.join(changed[:4])}")
        return self.outcome

    def kill(self, words: list[str], rng: np.random.Generator) -> None:
        """Run the command, and send it a signal some time."""
        number = SIGNALS[int(rng.integers(len(SIGNALS)))]
        moment = float(rng.uniform(0, 1.05 * self.seconds))
        self.said += f", {number.name} after {moment:.2f} of {self.seconds:.2f} s"
        session: list[int] = []
        ended = self.bench.run(words, partial(send, number, moment, session))
        self.outcome.counts["kills" if ended.code else "too late"] += 1
        self.check_end(ended, number)
        left = remaining(session[0])
        self.check(not left, f"{len(left)} processes are left")
        for process in left:
            os.kill(process, signal.SIGKILL)

    def check_end(self, ended: Ended, number: signal.Signals) -> None:
        """Check how a command that was killed has ended."""
        finished = ended.code == BAD_INPUT and results(self.bench) == self.wanted
        expected = ended.code in CODES[number] or finished
        self.check(expected, f"exit code {ended.code}: {ended.said[-300:]}")
        self.check("Traceback" not in ended.said, f"a traceback: {ended.said[-300:]}")
        notes = self.bench.place / "notes.txt"
        self.check(notes.exists() and notes.read_bytes() == NOTES, "a file of the user's is gone")

    def check(self, condition: bool, failure: str) -> None:
        """Note a failure, with what led to it."""
        self.outcome.check(condition, f"{self.said}: {failure}")


def send(number: signal.Signals, moment: float, session: list[int], process: int) -> None:
    """Send a signal after some time: Ctrl-C reaches all processes of a terminal, others only the one."""
    session.append(process)
    time.sleep(0.005 + moment)
    if number == signal.SIGINT:
        os.killpg(process, number)
    else:
        os.kill(process, number)


def remaining(session: int) -> list[int]:
    """Return the processes of a session that do not end by themselves."""
    end = time.monotonic() + GRACE
    while (left := members(session)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def members(session: int) -> list[int]:
    """Return the processes of a session that are alive."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(state[3]) == session and state[0] != "Z":
                found.append(int(folder.name))
    return found


PART = Part("kills", begin, share=0.3, short=2, patience=240)
