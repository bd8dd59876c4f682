"""Functions for processes; as a program, starts some in the way that is asked for, and waits to be killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from multiutility.parallel.dask import Cluster
from multiutility.parallel.processes import in_processes

FOREVER = 120.0


def pause(place: str, seconds: float = FOREVER) -> int:
    """Note the number of this process in a folder, and wait."""
    (Path(place) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return os.getpid()


def nothing() -> None:
    """Begin."""


def until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until something holds, but not for ever."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def finish_or_die(item: tuple[str, str]) -> int:
    """Finish, wait, or die as if by the system once another process has finished something."""
    what, place = item
    if what != "die":
        return pause(place, 0.0 if what == "finish" else FOREVER)
    if until(lambda: bool(os.listdir(place))):
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


def want_memory(_item: int) -> int:
    """Have no memory left."""
    raise MemoryError


def raise_value_error(item: int) -> int:
    """Find something wrong."""
    raise ValueError(f"item {item} is bad")


def main() -> None:
    """Start two processes."""
    kind, place = sys.argv[1:]
    if kind == "processes":
        list(in_processes(pause, [place] * 2, 2, nothing))
    else:
        with Cluster("local:2") as cluster:
            cluster.get([cluster.call(pause, place) for _ in range(2)])


if __name__ == "__main__":
    main()
