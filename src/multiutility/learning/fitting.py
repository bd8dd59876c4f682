"""One fit under way: what it works with, how it minimizes, and what it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from multiutility.arrays import FloatArray
from multiutility.inference import Expansion, Pinpoint, Solver
from multiutility.learning.checkpoint.journal import Journal, Journaled
from multiutility.learning.cluster.backends import Backend, LocalBackend, ShardedBackend
from multiutility.learning.examples import Example, slack_costs
from multiutility.learning.optimizers.solution import Callback, Minimizer, Optimizer, Record, Solution, ignore
from multiutility.learning.starts.start import proposed
from multiutility.memory import n_bytes
from multiutility.parallel import Executor

# Part of a limit of memory that products of features may take.
KERNEL_SHARE = 4
# Relative gap at which a first model, of the full labelings alone, is good enough.
ROUGH = 0.1
# The same where its opinion is one of several.
LOOSE = 0.2


@dataclass(frozen=True, eq=False)
class Resources:
    """What is no part of a model: who computes it and with how much, what is kept, and who is told."""

    n_jobs: int
    memory_limit: int | str | None
    executor: Executor | None
    checkpoint: str | Path | None
    callback: Callback | None
    verbose: int

    @classmethod
    def of(cls, estimator: object) -> Self:
        """Take them from the parameters of an estimator, which have the same names."""
        return cls(**{name: getattr(estimator, name) for name in cls.names()})

    @classmethod
    def names(cls) -> list[str]:
        """Names of the parameters that results do not depend on."""
        return [field.name for field in fields(cls)]

    def solver(self, given: Solver | None) -> Solver:
        """Return the solver that is given, or the usual one; executors run several at once."""
        if given is not None:
            return given
        return Expansion(n_jobs=self.n_jobs if self.executor is None else 1)

    def backend(self, solver: Solver, imputer: Solver | None) -> Backend:
        """Return who does what takes long: this process, or the executor."""
        limit = np.inf if self.memory_limit is None else n_bytes(self.memory_limit) / KERNEL_SHARE
        agreeing = Pinpoint(solver) if imputer is None else imputer
        if self.executor is None:
            return LocalBackend(solver, agreeing, self.n_jobs, limit)
        return ShardedBackend(self.executor, solver, agreeing, limit)

    def tell(self, record: Record) -> None:
        """Tell whoever wants to know of a pass."""
        if self.verbose:
            mark = "" if record.exact else "~"
            print(
                f"iteration {record.iteration} pass {record.passes}: primal {mark}{record.primal:.6g} "
                f"dual {record.dual:.6g} gap {mark}{record.relative_gap:.2%} after {record.seconds:.1f} s"
            )
        if self.callback is not None:
            self.callback(record)


class Fitting:
    """A fit under way: its backend, its minimizer with a journal, random numbers, and the records so far.

    ``parameters`` are all that the result depends on besides the examples: the key of a checkpoint.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        resources: Resources,
        backend: Backend,
        optimizer: Optimizer[Any, Any] | None,
        random_state: int | np.random.RandomState | None,
        parameters: Mapping[str, str],
    ) -> None:
        self.random_state = check_random_state(random_state)
        self.records: list[Record] = []
        self.backend = backend
        self.journal = Journal()
        self._resources = resources
        chosen = backend.optimizer() if optimizer is None else optimizer
        self._optimizer = chosen
        self.minimizer: Minimizer[Any, Any] = chosen
        if resources.checkpoint is not None:
            if not isinstance(random_state, int | np.integer):
                raise ValueError(f"random_state is {random_state}: checkpoints need a whole number")
            key = backend.key(examples, {**parameters, "optimizer": repr(chosen)})
            self.journal = Journal(Path(resources.checkpoint), key)
            self.minimizer = Journaled(chosen, self.journal)

    def solve(self, examples: Sequence[Example], costs: FloatArray, tolerance: float) -> Solution[Any]:
        """Minimize the risk of examples, measured from what their annotations propose."""
        return self.minimize(self.backend.risk(examples, costs, proposed(examples)), tolerance)

    def minimize(self, risk: Any, tolerance: float) -> Solution[Any]:
        """Minimize a risk of the backend."""
        return self.minimizer.minimize(risk, tolerance, None, self.random_state, self.note)

    def full_weights(self, examples: Sequence[Example], C: float, tol: float) -> FloatArray:  # noqa: N803
        """Weights of the SSVM on the full labelings among the examples."""
        full = [one.without_open_nodes() for one in examples if one.annotation.strong]
        return self.solve(full, slack_costs(full, C, 1.0), max(tol, ROUGH)).weights

    def rough_weights(self, examples: Sequence[Example], costs: FloatArray) -> FloatArray:
        """Weights of a loose solution, which leaves no trace but these: later steps are the same without."""
        return self.journal.values(lambda: self._rough_solution(examples, costs).weights)

    def _rough_solution(self, examples: Sequence[Example], costs: FloatArray) -> Solution[Any]:
        risk = self.backend.risk(examples, costs, proposed(examples))
        return self._optimizer.minimize(risk, LOOSE, None, np.random.RandomState(0), ignore)

    def note(self, record: Record) -> None:
        """Keep the record of a pass, and pass it on."""
        self.records.append(record)
        self._resources.tell(record)

    def curve(self) -> NDArray[Any]:
        """Return the records as a structured array."""
        names = [("iteration", int), ("passes", int), ("primal", float), ("dual", float), ("gap", float)]
        rows = [(r.iteration, r.passes, r.primal, r.dual, r.gap, r.seconds, r.exact) for r in self.records]
        return np.array(rows, dtype=[*names, ("seconds", float), ("exact", bool)])


def one_blas_thread() -> AbstractContextManager[Any]:
    """Products of one instance are too small to share: threads cost more than they give."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits
