"""Fits that can be interrupted: what was done is noted, and a second fit takes it from the notes."""

from __future__ import annotations

import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays, part, prefixed
from multiutility.arrays import FloatArray
from multiutility.files import remove_leftovers
from multiutility.learning.checkpoint.file import (
    CheckpointError,
    CheckpointWarning,
    read_checkpoint,
    write_checkpoint,
)
from multiutility.learning.optimizers.risk import Remembering
from multiutility.learning.optimizers.solution import Callback, Optimizer, Record, Run, Solution, ignore
from multiutility.memory import make_room

R = TypeVar("R", bound=Remembering)
S = TypeVar("S")

# Seconds between checkpoints, at least; they must not take more than one part in so many of the time.
EVERY = 30.0
SHARE = 20
# As many times the size of a checkpoint are in memory while it is written.
COPIES = 3
# What goes wrong if arrays are not those of the fit that they are said to be of.
MISFITS = (LookupError, TypeError, ValueError)


class Journal:
    """The steps of a fit with their results, in a file; without a path, none is kept.

    The same fit always takes the same steps in the same order. Those that take long, or leave behind what
    later ones depend on, are noted. A fit that finds a file runs through its program from the beginning, but
    has the results of such steps from there, until it comes to the one that was under way: this one goes on
    from the state that was kept of it. So it does not matter when the file was written.
    """

    def __init__(self, path: Path | None = None, key: str = "") -> None:
        self._path = path
        self._key = key
        self._steps: list[Arrays] = []
        self._next = 0
        self._live: Arrays | None = None
        self._due = time.monotonic() + EVERY
        if path is not None:
            if not path.resolve().parent.is_dir():
                raise ValueError(f"{path}: its folder does not exist; make it, or give another")
            remove_leftovers(path)
            if path.exists():
                self._steps, self._live = read_checkpoint(path, key)

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self._path is not None and time.monotonic() >= self._due

    def recall(self) -> Arrays | None:
        """Return the result of the next step, if it was done before; otherwise it has to be noted."""
        if self._next == len(self._steps):
            return None
        self._next += 1
        return self._steps[self._next - 1]

    def note(self, result: Arrays) -> None:
        """Keep the result of a step, until the next checkpoint in memory only."""
        if self._live is not None:
            raise self.misfit("its steps are others")
        if self._path is not None:
            self._steps.append(result)
            self._next += 1

    def values(self, compute: Callable[[], FloatArray]) -> FloatArray:
        """Return what a step computes, or has computed before."""
        known = self.recall()
        if known is None:
            known = {"values": compute()}
            self.note(known)
        if "values" not in known:
            raise self.misfit("its steps are others")
        return np.asarray(known["values"])

    def take_live(self) -> Arrays | None:
        """Return the state of the step that was under way, once, if this is the one."""
        live, self._live = self._live, None
        return live

    def save(self, live: Arrays) -> None:
        """Write a checkpoint in the midst of a step; where that fails, the last one is still good."""
        if self._path is None:
            return
        begin = time.monotonic()
        # It is put together in memory, of which caches of features may have taken all that they are allowed.
        make_room(COPIES * sum(array.nbytes for arrays in (live, *self._steps) for array in arrays.values()))
        try:
            write_checkpoint(self._path, self._key, self._steps, live)
        except OSError as error:
            what = f"{self._path}: cannot be written: {error.strerror or error}"
            warnings.warn(f"{what}; learning goes on without", CheckpointWarning, stacklevel=2)
        end = time.monotonic()
        self._due = end + max(EVERY, SHARE * (end - begin))

    def misfit(self, what: str) -> CheckpointError:
        """Error for a checkpoint that is not of this fit, though it says so."""
        return CheckpointError(self._path or Path(), f"does not fit what is learned ({what})")


class Chain(Generic[R, S]):
    """The state of an optimizer, from one problem to the next that starts from it.

    While results are taken from notes, there is none: ``risk`` tells how to restore it.
    """

    def __init__(self, number: int, risk: R) -> None:
        self.number = number
        self.risk = risk
        self.state: S | None = None


class Journaled(Generic[R, S]):
    """An optimizer whose solutions, and what it is at work on, are kept in a journal."""

    def __init__(self, optimizer: Optimizer[R, S], journal: Journal) -> None:
        self.optimizer = optimizer
        self.journal = journal
        self._n_chains = 0
        # Weak: of chains that nobody can start from any more, nothing has to be kept.
        self._chains: weakref.WeakValueDictionary[int, Chain[R, S]] = weakref.WeakValueDictionary()

    def minimize(
        self,
        risk: R,
        tolerance: float,
        start: Chain[R, S] | None = None,
        random_state: np.random.RandomState | None = None,
        callback: Callback = ignore,
    ) -> Solution[Chain[R, S]]:
        """Minimize as the optimizer does, unless that was done before."""
        rng = np.random.RandomState(0) if random_state is None else random_state
        chain = self._new_chain(risk) if start is None else start
        chain.risk = risk
        known = self.journal.recall()
        if known is not None:
            return self._repeated(known, chain, rng, callback)
        records: list[Record] = []
        run = self._run(chain, tolerance, rng, partial(tell_both, records, callback))
        while not run.finished:
            run.advance()
            if self.journal.due:
                self.journal.save(self._live(chain, run, rng, records))
        found = run.solution()
        chain.state = found.state
        self.journal.note({**packed(found), **prefixed("random", random_arrays(rng)), **table(records)})
        return Solution(found.weights, found.primal, found.dual, chain, found.converged)

    def _new_chain(self, risk: R) -> Chain[R, S]:
        chain: Chain[R, S] = Chain(self._n_chains, risk)
        self._n_chains += 1
        self._chains[chain.number] = chain
        return chain

    def _repeated(
        self, known: Arrays, chain: Chain[R, S], rng: np.random.RandomState, callback: Callback
    ) -> Solution[Chain[R, S]]:
        """Return a solution from the notes; the callback is told again."""
        try:
            primal, dual, converged = known["numbers"].tolist()
            for record in records_of(known):
                callback(record)
            set_random_arrays(rng, part(known, "random"))
            return Solution(known["weights"], primal, dual, chain, bool(converged))
        except MISFITS as error:
            raise self.journal.misfit(str(error)) from error

    def _run(
        self, chain: Chain[R, S], tolerance: float, rng: np.random.RandomState, callback: Callback
    ) -> Run[S]:
        live = self.journal.take_live()
        if live is None:
            return self.optimizer.begin(chain.risk, tolerance, chain.state, rng, callback)
        try:
            for other in list(self._chains.values()):
                kept = part(live, f"chain{other.number}")
                if kept:
                    other.risk.remember(part(kept, "memory"))
                    other.state = self.optimizer.unpack(other.risk, part(kept, "state"))
            if chain.state is None:
                raise ValueError("it was at work on something else")
            set_random_arrays(rng, part(live, "random"))
            for record in records_of(live):
                callback(record)
            return self.optimizer.resume(chain.risk, tolerance, chain.state, part(live, "run"), rng, callback)
        except MISFITS as error:
            raise self.journal.misfit(str(error)) from error

    def _live(
        self, chain: Chain[R, S], run: Run[S], rng: np.random.RandomState, records: Sequence[Record]
    ) -> Arrays:
        """Return all that it takes to go on, by this problem and by later ones."""
        live = {**table(records), **prefixed("run", run.arrays()), **prefixed("random", random_arrays(rng))}
        for other in list(self._chains.values()):
            state = run.state if other is chain else other.state
            if state is not None:
                kept = prefixed("state", self.optimizer.pack(state)) | prefixed("memory", other.risk.memory())
                live.update(prefixed(f"chain{other.number}", kept))
        return live


def tell_both(records: list[Record], callback: Callback, record: Record) -> None:
    """Keep a record, and pass it on."""
    records.append(record)
    callback(record)


def packed(solution: Solution[Any]) -> Arrays:
    """Return a solution but for its state."""
    numbers = np.array([solution.primal, solution.dual, solution.converged], dtype=np.float64)
    return {"weights": solution.weights, "numbers": numbers}


def table(records: Sequence[Record]) -> Arrays:
    """Return records as an array [n, 5]."""
    rows = [(r.passes, r.primal, r.dual, r.seconds, r.exact) for r in records]
    return {"records": np.array(rows, dtype=np.float64).reshape(-1, 5)}


def records_of(arrays: Arrays) -> list[Record]:
    """Return the records of an array."""
    rows: NDArray[Any] = arrays["records"]
    return [Record(int(n), primal, dual, s, bool(exact)) for n, primal, dual, s, exact in rows.tolist()]


def random_arrays(rng: np.random.RandomState) -> Arrays:
    """Return the state of random numbers."""
    _, key, *rest = rng.get_state()
    return {"key": np.asarray(key, dtype=np.uint32), "rest": np.array(rest, dtype=np.float64)}


def set_random_arrays(rng: np.random.RandomState, arrays: Arrays) -> None:
    """Go on with random numbers from a state."""
    place, has_normal, normal = arrays["rest"].tolist()
    rng.set_state(("MT19937", arrays["key"], int(place), int(has_normal), normal))
