"""Attempts in forked processes under a watchdog: one that hangs or crashes is a failure like any other."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

import numpy as np

FORK = multiprocessing.get_context("fork")
# A worker makes what it attacks (datasets, models, undisturbed runs) before its first attempt.
PATIENCE_TO_BEGIN = 180.0


@dataclass
class Outcome:
    """What came of an attempt: counts by name, what failed, and the largest ratio of times."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def check(self, condition: bool, failure: str) -> None:
        """Note a failure unless the condition holds."""
        if not condition:
            self.failures.append(failure)


Attempt: TypeAlias = Callable[[np.random.Generator], Outcome]


@dataclass(frozen=True)
class Part:
    """A kind of attack: ``begin(folder)`` makes what is attacked, and returns the attempt.

    ``share`` is its part of the time, ``short`` how many attempts the tests make, and ``patience`` after how
    many seconds an attempt counts as hanging.
    """

    name: str
    begin: Callable[[Path], Attempt]
    share: float
    short: int
    patience: float


@dataclass
class Tally:
    """All outcomes of a part; failures by the number of the attempt."""

    attempts: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0

    def add(self, number: int | None, outcome: Outcome) -> None:
        """Count an outcome; without a number, of making what is attacked."""
        self.attempts += number is not None
        self.counts += outcome.counts
        self.failures += [(number or 0, failure) for failure in outcome.failures]
        self.slowest = max(self.slowest, outcome.slowest)


def generator(part: str, seed: int, number: int) -> np.random.Generator:
    """Return all the randomness of an attempt: the same whoever makes it, and whatever was before."""
    return np.random.default_rng([zlib.crc32(part.encode()), seed, number])


def serve(part: Part, seed: int, folder: Path, connection: Connection) -> None:
    """Make attempts, by number, until there are none left."""
    # Its own session: whatever it leaves behind is found, and ended, by its number.
    os.setsid()
    log = (folder / "worker.log").open("a", buffering=1)
    sys.stdout = sys.stderr = log
    for stream in (1, 2):  # of native code
        os.dup2(log.fileno(), stream)
    faulthandler.enable(log)
    attempt = part.begin(folder)
    connection.send(Outcome())
    while (number := connection.recv()) is not None:
        try:
            outcome = attempt(generator(part.name, seed, number))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
            traceback.print_exc()
            outcome = Outcome(failures=[said])
        connection.send(outcome)


class Worker:
    """A process that makes attempts, one at a time; ``number`` is None until what it attacks is made."""

    def __init__(self, part: Part, seed: int, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.connection, other = FORK.Pipe()
        self.number: int | None = None
        self.due = time.monotonic() + PATIENCE_TO_BEGIN
        self._patience = part.patience
        self._log = folder / "worker.log"
        self._process: BaseProcess = FORK.Process(target=serve, args=(part, seed, folder, other))
        self._process.start()
        other.close()

    def ask(self, number: int) -> None:
        """Let it make an attempt."""
        self.number, self.due = number, time.monotonic() + self._patience
        self.connection.send(number)

    def outcome(self) -> Outcome:
        """Return what came of it, once there is something to read or time is up."""
        if not self.connection.poll():
            self.end()
            return Outcome(failures=["it hangs: no answer in time"])
        try:
            found: Outcome = self.connection.recv()
        except EOFError:
            self._process.join()
            code, said = self._process.exitcode or 0, self._log.read_text(errors="replace")
            self.end()
            how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            return Outcome(failures=["; ".join([how, *last_words(said)])])
        return found

    def end(self) -> None:
        """End the process, and what it has started."""
        self.connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        self._process.kill()
        self._process.join()


def last_words(said: str) -> list[str]:
    """Return where a process was when it died, or what it said last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    crashed = [n for n, line in enumerate(lines) if line.startswith("Fatal Python error")]
    return [line for line in lines[crashed[-1] :] if line.startswith("File ")][:1] if crashed else lines[-1:]


def run(part: Part, seed: int, numbers: Iterator[int], folder: Path, n_workers: int) -> Tally:
    """Make the attempts of these numbers, several at a time."""
    tally, begin, places = Tally(), time.monotonic(), (folder / str(n) for n in count())
    workers = [Worker(part, seed, next(places)) for _ in range(n_workers)]
    while workers:
        for worker in ready(workers):
            number, outcome = worker.number, worker.outcome()
            tally.add(number, outcome)
            following = None if worker.connection.closed else next(numbers, None)
            if following is not None:
                worker.ask(following)
                continue
            workers.remove(worker)
            # One that could not begin would not begin another time.
            if worker.connection.closed and number is not None:
                workers.append(Worker(part, seed, next(places)))
            worker.end()
    tally.seconds = time.monotonic() - begin
    return tally


def ready(workers: Sequence[Worker]) -> list[Worker]:
    """Wait for workers that have something to say, or whose time is up."""
    patience = min(worker.due for worker in workers) - time.monotonic()
    spoken = wait([worker.connection for worker in workers], max(0.0, patience))
    now = time.monotonic()
    return [worker for worker in workers if worker.connection in spoken or now > worker.due]
