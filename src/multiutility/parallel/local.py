"""Threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from multiutility.parallel.executor import Handle

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Value(Generic[T]):
    """A value that is here."""

    value: T

    def result(self) -> T:
        """Return the value."""
        return self.value


class Threads:
    """Runs functions in threads of this process, one after another if there is to be only one.

    What takes long must let go of Python's lock, as products of matrices do.

    >>> with Threads(2) as executor:
    ...     total = executor.call(sum, executor.put([1, 2]))
    ...     executor.call(pow, total, 2).result()
    9
    """

    def __init__(self, n_jobs: int = 1, n_shards: int = 32) -> None:
        self.n_shards = n_shards
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Estimators are copied with their parameters; the threads stay the same.
        return self

    def close(self) -> None:
        """End the threads; what has not begun is left undone."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def put(self, value: T) -> Handle[T]:
        """Return a handle of a value."""
        return Value(value)

    def call(self, function: Callable[..., T], *arguments: Any) -> Handle[T]:
        """Return a handle of what a function makes of arguments; those that are handles stand for values."""
        if self._pool is None:
            return Value(run(function, arguments))
        # A value that is waited for is of an earlier call, which has begun: threads take calls in turn.
        return self._pool.submit(run, function, arguments)

    def get(self, handles: Sequence[Handle[T]]) -> list[T]:
        """Wait for the values, and return them."""
        return [handle.result() for handle in handles]

    def keep(self, handles: Sequence[Handle[T]]) -> list[Handle[T]]:
        """Return the handles: nothing is ever lost."""
        return list(handles)


def run(function: Callable[..., T], arguments: Sequence[Any]) -> T:
    """Call a function with the values of handles."""
    return function(*(one.result() if isinstance(one, Value | Future) else one for one in arguments))
