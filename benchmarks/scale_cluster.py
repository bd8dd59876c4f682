"""Rows of scale.py about a cluster: two worker processes against one, and bytes through the scheduler.

Scheduler and workers are processes of their own on this machine. What these and the driver say to the former
goes through a proxy that counts bytes; what workers say to each other does not.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from learning import COST, SIFT_FLOW, THREADS, Row
from multiutility.learning import SSVM
from multiutility.learning.cluster.sharded import ShardedFrankWolfe
from multiutility.learning.optimizers.solution import Record
from multiutility.memory import ArrayCache, NoLimit
from multiutility.parallel.dask import Cluster
from scale import problems_in, written
from training_sets import TrainingSet

N_IMAGES, QUICK_IMAGES = 512, 64
N_SHARDS = 8
PASSES = 6
FASTER = 1.7
PART_OF_FEATURES = 0.1
HOST = "127.0.0.1"
MEGABYTE = 1e6


@dataclass
class Meter:
    """Bytes to and from the scheduler, and when passes ended."""

    sent: int = 0
    received: int = 0
    times: list[float] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def __call__(self, _record: Record) -> None:
        """Take note of a pass."""
        self.times.append(time.perf_counter())
        self.totals.append(self.sent + self.received)

    def seconds(self) -> float:
        """Seconds of a pass; the first one reads the features."""
        return float(np.median(np.diff(self.times)))

    def n_bytes(self) -> float:
        """Bytes of a pass, in the mean: some fetch dual variables, most do not."""
        return float(np.mean(np.diff(self.totals)))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, meter: Meter, sent: bool) -> None:
    """Pass on what one side says."""
    while data := await reader.read(2**16):
        if sent:
            meter.sent += len(data)
        else:
            meter.received += len(data)
        writer.write(data)
        await writer.drain()
    writer.close()


@contextmanager
def proxy(port: int, meter: Meter) -> Iterator[int]:
    """A port that leads to another one, with the bytes counted."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(HOST, port)
        both = pump(reader, back, meter, True), pump(there, writer, meter, False)
        await asyncio.gather(*both, return_exceptions=True)

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(connect, HOST, 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


@contextmanager
def process(*arguments: str) -> Iterator[None]:
    """A Python process that sees the modules of benchmarks, until the context ends."""
    here = str(Path(__file__).parent)
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", *arguments]
    # A worker has one core, as those that Dask's nannies start: they set the same.
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}
    found = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        found.terminate()
        found.wait()


@contextmanager
def machines(n_workers: int, meter: Meter) -> Iterator[Cluster]:
    """A cluster of processes, of one thread each."""
    with ExitStack() as stack:
        port, quiet = free_port(), "--dashboard-address=127.0.0.1:0"
        stack.enter_context(
            process("distributed.cli.dask_scheduler", "--host", HOST, "--port", str(port), quiet)
        )
        address = f"tcp://{HOST}:{stack.enter_context(proxy(port, meter))}"
        wait_for(port)
        for _ in range(n_workers):
            options = ("--nthreads", "1", "--no-nanny", quiet, "--memory-limit", "0")
            stack.enter_context(process("distributed.cli.dask_worker", address, *options))
        yield stack.enter_context(Cluster(address, N_SHARDS))


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise OSError(f"nobody listens at port {port}")


def passes_of(path: Path, training_set: TrainingSet, n_workers: int) -> Meter:
    """Learn in a few passes on so many workers."""
    meter, problems = Meter(), problems_in(path, training_set, ArrayCache(NoLimit()))
    few = ShardedFrankWolfe(PASSES, check_every=PASSES + 1, average=False)
    with machines(n_workers, meter) as cluster, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cost = COST * training_set.n_instances
        SSVM(cost, tol=1e-6, optimizer=few, random_state=0, executor=cluster, callback=meter).fit(*problems)
    return meter


def cluster_rows(quick: bool, scratch: Path | None) -> list[Row]:
    """Two workers against one, and what goes through the scheduler against all features."""
    training_set = replace(SIFT_FLOW, n_instances=QUICK_IMAGES if quick else N_IMAGES)
    with written(training_set, scratch) as path:
        alone, both = (passes_of(path, training_set, n_workers) for n_workers in (1, 2))
    speed = Row("one pass on a cluster, 2 workers", "1 worker", unit="s", target=1 / FASTER)
    speed.ours, speed.other = both.seconds(), alone.seconds()
    speed.note = f"{training_set.name}, {N_SHARDS} shards: {1 / speed.ratio:.2f} times faster"
    weights = 8 * training_set.n_labels * training_set.n_features
    traffic = Row("through the scheduler in one pass", "all features", unit="MB", target=PART_OF_FEATURES)
    traffic.ours, traffic.other = both.n_bytes() / MEGABYTE, training_set.n_bytes / MEGABYTE
    traffic.note = f"of which weights are {weights / MEGABYTE:.1f} MB"
    return [speed, traffic]


if __name__ == "__main__":
    for row in cluster_rows("--quick" in sys.argv, None):
        print(row.line())
