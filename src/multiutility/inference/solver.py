"""What every solver promises, and the checks they share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import BoolArray, IndexArray, checked_labels
from multiutility.constraints import Constraints
from multiutility.energy import Energy

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """A labeling, its energy, and what was done to find it.

    ``labels`` is int32 [V]; ``bound``, if known, is at most the energy of every labeling that satisfies the
    constraints; ``moves`` and ``flows`` count expansion moves and max-flow computations; ``unmet`` has the
    indices of the covers that could not be met, ``missed`` those of sizes; ``timed_out`` says that a time
    limit ended the search.

    >>> result = Result(np.array([0, 1], dtype=np.int32), energy=2.5, bound=2.0)
    >>> result.labels, result.energy - result.bound, result.timed_out
    (array([0, 1], dtype=int32), 0.5, False)
    """

    labels: IndexArray
    energy: float
    bound: float | None = None
    moves: int = 0
    flows: int = 0
    unmet: tuple[int, ...] = ()
    timed_out: bool = False
    missed: tuple[int, ...] = ()


# A search asks for labelings, each of an energy under constraints from a start, and ends with what it found.
Request: TypeAlias = tuple[Energy, Constraints | None, ArrayLike | None]
Search: TypeAlias = Generator[list[Request], list[Result], T]


def ask(energy: Energy, constraints: Constraints | None, start: ArrayLike | None) -> Search[Result]:
    """Ask for one labeling."""
    (answer,) = yield [(energy, constraints, start)]
    return answer


def drive(searches: Sequence[Search[T]], solve: Callable[..., list[Result]]) -> list[T]:
    """Run searches to their ends; a round solves what all unfinished ones ask for in one batch."""
    finished: dict[int, T] = {}
    asked = {p: next(search) for p, search in enumerate(searches)}
    while asked:
        requests = [one for some in asked.values() for one in some]
        answers = solve(*(list(column) for column in zip(*requests, strict=True)))
        rounds, first, asked = asked, 0, {}
        for p, some in rounds.items():
            own, first = answers[first : first + len(some)], first + len(some)
            try:
                asked[p] = searches[p].send(own)
            except StopIteration as stop:
                finished[p] = stop.value
    return [finished[p] for p in range(len(searches))]


class Solver(Protocol):
    """Minimizes an energy over the labelings that satisfy the constraints."""

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        """Return a labeling of low energy; ``start`` [V] is a labeling of allowed labels to begin with."""

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        """Return the result of ``minimize`` for each of the energies."""


def allowed_mask(energy: Energy, constraints: Constraints | None) -> BoolArray:
    """Labels allowed for each node, bool [V, K], of constraints that fit the energy."""
    if constraints is not None:
        constraints.validate_for(energy.n_nodes, energy.n_labels)
        if constraints.allowed is not None:
            return constraints.allowed
    return np.ones((energy.n_nodes, energy.n_labels), dtype=np.bool_)


def reject_covers(constraints: Constraints | None, solver: str) -> None:
    """Raise if there are covers or sizes: for solvers that cannot meet them."""
    if constraints is None:
        return
    for what, there in (("covers", constraints.has_covers), ("sizes", len(constraints.sizes) > 0)):
        if there:
            raise ValueError(f"{solver} cannot meet {what}: use Pinpoint({solver}()) or Exact()")


def reject_sizes(energy: Energy) -> None:
    """Raise if there are size terms: for single expansion moves, which do not know them."""
    if len(energy.sizes):
        raise ValueError("expansion moves do not know size terms: use a solver's minimize")


def checked_start(energy: Energy, allowed: BoolArray, start: ArrayLike) -> IndexArray:
    """Return the start as a new int32 array [V]; raise unless all its labels are allowed."""
    labels = checked_labels(start, energy.n_nodes, energy.n_labels, "start").astype(np.int32)
    forbidden = ~allowed[np.arange(len(labels)), labels]
    if forbidden.any():
        i = int(np.argmax(forbidden))
        raise ValueError(f"start[{i}] is {labels[i]}: this label is not allowed for node {i}")
    return labels


def cheapest_labels(energy: Energy, allowed: BoolArray) -> IndexArray:
    """Return the allowed label of least unary cost for each node, int32 [V]."""
    costs = np.where(allowed, energy.unary, np.inf)
    return np.asarray(costs.argmin(axis=1), dtype=np.int32)


def minimize_each(
    solver: Solver,
    energies: Sequence[Energy],
    constraints: Sequence[Constraints | None] | None = None,
    starts: Sequence[ArrayLike | None] | None = None,
) -> list[Result]:
    """``minimize_many`` of solvers that take one problem at a time."""
    constraints = aligned(constraints, len(energies), "constraints")
    starts = aligned(starts, len(energies), "starts")
    problems = zip(energies, constraints, starts, strict=True)
    return [solver.minimize(energy, constraint, start) for energy, constraint, start in problems]


def all_finished(results: list[Result]) -> list[Result]:
    """Return the results; raise if a time limit ended one: what is learned must not depend on the machine.

    >>> len(all_finished([Result(np.zeros(1, dtype=np.int32), energy=0.0)]))
    1
    """
    if any(result.timed_out for result in results):
        raise ValueError("the solver's time_limit ended a search: learning needs a solver without one")
    return results


def aligned(values: Sequence[T | None] | None, n: int, name: str) -> Sequence[T | None]:
    """Return the values, one for each of the energies; None stands for none at all."""
    if values is None:
        return [None] * n
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} elements: expected {n}, one for each energy")
    return values
