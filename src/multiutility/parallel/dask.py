"""A cluster of Dask (``dask.distributed``), which the extra ``cluster`` installs."""

# ruff: noqa: PLC0415 -- Dask is asked for only by those who use it.
from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from multiutility.parallel.executor import Handle

if TYPE_CHECKING:
    from distributed import Client, LocalCluster, Scheduler

T = TypeVar("T")

# How many workers may die while they are at the same function, before it is taken for their murderer.
ALLOWED_FAILURES = 1000
# How often a function is tried that raises an error, as one that reads a file over a network may.
RETRIES = 3
# Seconds to wait for a cluster.
TIMEOUT = 30


class ClusterError(ValueError):
    """A cluster that cannot be used: says why, and what to do."""


class Cluster:
    """Runs functions on a Dask cluster; workers may join it, leave it or be killed at any time.

    Parameters
    ----------
    where : str
        Address of a scheduler, such as ``tcp://host:8786``, or ``local:N``, which starts N worker processes
        on this machine.
    n_shards : int
        Shards of the data in learning, at most: as many workers can be at work at a time, and results depend
        on it, but not on the number of workers.

    Attributes
    ----------
    address : str
        Address of the scheduler.

    What functions need is sent to workers anew if one that had it is lost; what was lost is computed again.
    Functions and values are sent as Dask does it, by ``pickle``: use it in networks that you trust, or with
    the certificates of Dask's configuration.
    """

    def __init__(self, where: str, n_shards: int = 16) -> None:
        if n_shards < 1:
            raise ValueError(f"n_shards is {n_shards}: expected at least 1")
        self.n_shards = n_shards
        self._local, self._client = connected(where)
        self.address = where if self._local is None else str(self._local.scheduler_address)
        self._client.run_on_scheduler(be_patient)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Estimators are copied with their parameters; the cluster stays the same.
        return self

    def close(self) -> None:
        """Let go of the cluster; one that was started here ends."""
        self._client.close()
        if self._local is not None:
            self._local.close()

    def put(self, value: T) -> Handle[T]:
        """Return a handle of a value, which the scheduler keeps: it is not lost with a worker."""
        with warnings.catch_warnings():
            # Data that is in memory has to take this way once; all else is small.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.call(identity, value)

    def call(self, function: Callable[..., T], *arguments: Any) -> Handle[T]:
        """Return a handle of what a function makes of arguments; those that are handles stand for values."""
        handle: Handle[T] = self._client.submit(function, *arguments, pure=False, retries=RETRIES)
        return handle

    def get(self, handles: Sequence[Handle[T]]) -> list[T]:
        """Wait for the values, and return them."""
        return list(self._client.gather(list(handles)))

    def keep(self, handles: Sequence[Handle[T]]) -> list[Handle[T]]:
        """Return handles of the same values, which need not be computed again if a worker is lost."""
        return [self.put(value) for value in self.get(handles)]


def identity(value: T) -> T:
    """Return the value."""
    return value


def be_patient(dask_scheduler: Scheduler) -> None:
    """Let a scheduler go on however many workers die."""
    dask_scheduler.allowed_failures = max(dask_scheduler.allowed_failures, ALLOWED_FAILURES)


def connected(where: str) -> tuple[LocalCluster | None, Client]:
    """Return a cluster, if it was started here, and the connection to it."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ClusterError("clusters need Dask: pip install 'multiutility[cluster]'") from None
    n_workers = local_workers(where)
    if n_workers is None:
        try:
            return None, Client(where, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            fix = "start one by `dask scheduler`, or use local:2"
            raise ClusterError(f"{where}: there is no scheduler ({error}); {fix}") from error
    # A port that is free for the pages on what it does: the usual one may be that of another cluster.
    options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    local = LocalCluster(n_workers=n_workers, **options)
    return local, Client(local, set_as_default=False)


def local_workers(where: str) -> int | None:
    """Return the number of workers to start; None for the address of a scheduler.

    >>> local_workers("local:2"), local_workers("tcp://10.0.0.1:8786")
    (2, None)
    """
    found = re.fullmatch(r"local(?::(\d+))?", where)
    if found is not None:
        number = int(found[1]) if found[1] else os.cpu_count() or 1
        if number >= 1:
            return number
    elif "://" in where:
        return None
    raise ClusterError(f"{where!r} is no cluster: expected local:N, or an address such as tcp://host:8786")
