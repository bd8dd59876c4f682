"""Processes of this machine, which end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class WorkerError(ValueError):
    """A process that was to do some of the work is gone, or had no memory for it; says what to do."""


def in_processes(
    function: Callable[[T], R], items: Sequence[T], n_processes: int, begin: Callable[..., None], *given: Any
) -> Generator[tuple[int, R], None, None]:
    """Yield numbers of items with what a function makes of them, as it comes, from some processes.

    Each calls ``begin`` with what it is ``given`` before anything else. All end with this process, however it
    ends, and at once if anything fails, or the caller closes the iterator; what is finished by then is
    yielded before.
    """
    # Not by forking: threads of the libraries would be lost.
    context = multiprocessing.get_context("spawn")
    # Nobody ever writes to it. Its other end is closed by the system if this process is killed, too.
    lifeline, held = context.Pipe(duplex=False)
    with lifeline, held:
        pool = ProcessPoolExecutor(n_processes, context, start, (lifeline, begin, *given))
        try:
            yield from in_turn(pool, function, items, n_processes)
        except (BrokenProcessPool, MemoryError) as error:
            what = f"one of {n_processes} worker processes has ended, most likely as memory ran out"
            fix = "what is finished is kept: go on with fewer at a time (--jobs 1)"
            raise WorkerError(f"{what}; {fix}") from error
        finally:
            # Those at work need not finish: nobody takes their results.
            held.close()
            pool.shutdown(cancel_futures=True)


def in_turn(
    pool: ProcessPoolExecutor, function: Callable[[T], R], items: Sequence[T], n_processes: int
) -> Iterator[tuple[int, R]]:
    """Yield numbers of items with results; none waits in the pool, where it cannot be called off."""
    coming = enumerate(items)
    running = {pool.submit(function, item): number for number, item in islice(coming, n_processes)}
    while running:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        ended = [(running.pop(future), future) for future in done]
        # What is finished comes first: an error ends it all.
        for number, future in sorted(ended, key=lambda one: (one[1].exception() is not None, one[0])):
            yield number, future.result()
        running.update({pool.submit(function, item): n for n, item in islice(coming, len(done))})


def start(lifeline: Connection, begin: Callable[..., None], *given: Any) -> None:
    """Begin in a new process."""

    def watch() -> None:
        lifeline.poll(None)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    # Ctrl-C goes to all processes of a terminal; the one that started them tells of it, and ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    begin(*given)
