"""What runs functions, on one machine or on many."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Values that are put together at once.
FAN = 8


class Handle(Protocol[T_co]):
    """A value that is somewhere, or will be."""

    def result(self) -> T_co:
        """Wait for the value, and return it."""


class Executor(Protocol):
    """Runs functions where their arguments are.

    Functions must be pure: what they are given stays as it is, and the same arguments give the same result,
    bit for bit. Then it does not matter where they run, nor how often.
    """

    @property
    def n_shards(self) -> int:
        """Number of parts, at most, that data should be cut into; results may depend on it."""

    def put(self, value: T) -> Handle[T]:
        """Return a handle of a value, for functions that run elsewhere."""

    def call(self, function: Callable[..., T], *arguments: Any) -> Handle[T]:
        """Return a handle of what a function makes of arguments; those that are handles stand for values."""

    def get(self, handles: Sequence[Handle[T]]) -> list[T]:
        """Wait for the values, and return them."""

    def keep(self, handles: Sequence[Handle[T]]) -> list[Handle[T]]:
        """Return handles of the same values, which need not be computed again if something is lost."""


def put_together(executor: Executor, merge: Callable[..., T], handles: Sequence[Handle[T]]) -> Handle[T]:
    """Return a handle of ``merge`` of all values, a few at a time.

    Which ones depends on their number only, so that sums have the same rounding errors everywhere.

    >>> from multiutility.parallel import Threads
    >>> with Threads(2) as executor:
    ...     letters = [executor.put(letter) for letter in "structured"]
    ...     put_together(executor, lambda *some: "".join(some), letters).result()
    'structured'
    """
    if len(handles) == 1:
        return handles[0]
    groups = [handles[first : first + FAN] for first in range(0, len(handles), FAN)]
    merged = [group[0] if len(group) == 1 else executor.call(merge, *group) for group in groups]
    return put_together(executor, merge, merged)


def in_order(executor: Executor, calls: Iterable[tuple[Any, ...]], n_waiting: int) -> Iterator[Any]:
    """Yield the results of calls, given as functions with their arguments; only so many wait at a time.

    >>> from multiutility.parallel import Threads
    >>> with Threads(2) as executor:
    ...     list(in_order(executor, ((pow, n, 2) for n in range(5)), n_waiting=2))
    [0, 1, 4, 9, 16]
    """
    coming = iter(calls)
    waiting = deque(executor.call(*call) for call in islice(coming, n_waiting))
    while waiting:
        (result,) = executor.get([waiting.popleft()])
        waiting.extend(executor.call(*call) for call in islice(coming, 1))
        yield result


def parts(values: Sequence[T], n_parts: int, least: int = 1) -> list[Sequence[T]]:
    """Cut a sequence into at most ``n_parts`` of about the same length, of at least ``least`` values each.

    >>> parts("abcdefg", 3)
    ['abc', 'de', 'fg']
    >>> parts("abcdefg", 3, least=4)
    ['abcdefg']
    """
    n_parts = max(1, min(n_parts, len(values) // least))
    size, more = divmod(len(values), n_parts)
    ends = [size * (n + 1) + min(n + 1, more) for n in range(n_parts)]
    return [values[first:last] for first, last in zip([0, *ends], ends, strict=False)]
