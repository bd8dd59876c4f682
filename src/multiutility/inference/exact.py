"""Exact minimization: enumeration of small problems, mixed-integer programming for the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from multiutility.arrays import BoolArray, FloatArray, IndexArray, any_in_sets, owners
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.solver import Result, allowed_mask, checked_start, minimize_each
from multiutility.sizes import ROUNDING, Sizes

# Elements of the largest temporary array of an enumeration.
CHUNK_ELEMENTS = 1_000_000

# HiGHS stops at an absolute gap and at reduced costs of about 1e-6, whatever the unit of the costs: the
# largest cost is scaled to about 2 to this power, still far from the sizes (1e7 and more) that HiGHS itself
# warns about.
LARGEST_EXPONENT = 14

TIMED_OUT, INFEASIBLE = 1, 2


@dataclass(frozen=True)
class Exact:
    """The labeling of least energy among those that satisfy the constraints, covers and sizes included.

    Enumerates if there are at most ``max_enumerated`` allowed labelings. Otherwise solves, with HiGHS,
    ``min sum_ik unary[i, k] x[i, k] + sum_ek weights[e] d[e, k] + sum_s costs[s] z[s]`` over binary ``x``
    with ``sum_k x[i, k] = 1``, ``d[e, k] >= x[i, k] - x[j, k]`` for edge ``e = (i, j)``,
    ``z[s] >= x[i, label_s]`` for ``i`` in ``nodes_s``, and ``sum_i x[i, label] >= 1`` for each cover. Sizes
    of labels are linear in ``x``. A size term adds ``-gain_t d[t]``, whose distance d[t] from the range is at
    most that of one side, chosen by two more binary variables.

    ``Result.bound`` is the solver's lower bound, equal to the energy up to rounding unless ``time_limit``
    (seconds) ended the search; then the best labeling found is returned, or the start if that is better, and
    ``Result.timed_out`` is true.

    >>> energy = Energy([[0, 1], [2, 0], [0, 3]], edges=[[0, 1], [1, 2]], weights=[0.5, 0.5])
    >>> result = Exact().minimize(energy)
    >>> result.labels, result.energy, result.bound
    (array([0, 1, 0], dtype=int32), 1.0, 1.0)
    >>> Exact().minimize(energy, Constraints(covers=[([0, 2], 1)])).labels
    array([1, 1, 0], dtype=int32)
    """

    time_limit: float | None = None
    max_enumerated: int = 10_000

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        """Return the best labeling; raise ValueError if no labeling meets all covers and sizes."""
        constraints = Constraints() if constraints is None else constraints
        allowed = allowed_mask(energy, constraints)
        begin = None if start is None else checked_start(energy, allowed, start)
        # A single labeling is always enumerated: HiGHS takes no program without variables.
        if math.prod(allowed.sum(axis=1).tolist()) <= max(self.max_enumerated, 1):
            labels = enumerate_best(energy, constraints, allowed)
            if labels is None:
                raise infeasible(constraints, allowed)
            value = energy.evaluate(labels)
            return Result(labels, value, bound=value)
        return self._minimize_milp(energy, constraints, allowed, begin)

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        """Return the best labeling of each of the energies."""
        return minimize_each(self, energies, constraints, starts)

    def _minimize_milp(
        self, energy: Energy, constraints: Constraints, allowed: BoolArray, start: IndexArray | None
    ) -> Result:
        program = Program.build(energy, constraints, allowed)
        solution = program.solve(integral=True, time_limit=self.time_limit)
        if solution.status == INFEASIBLE:
            raise infeasible(constraints, allowed)
        found = [] if solution.x is None else [program.labels(solution.x)]
        if start is not None and constraints.satisfied(start):
            found.append(start)
        if not found:
            raise RuntimeError(f"no labeling found (time limit: {self.time_limit} s): {solution.message}")
        labels = min(found, key=energy.evaluate)
        value = energy.evaluate(labels)
        dual = solution.mip_dual_bound
        bound = min(value, program.value(-np.inf if dual is None else dual))
        return Result(labels, value, bound, timed_out=solution.status == TIMED_OUT)


def lp_bound(energy: Energy, constraints: Constraints | None = None) -> float:
    """Value of the linear relaxation of the program that ``Exact`` solves: a lower bound of every energy.

    Without subsets and covers it is the local-polytope relaxation, which for Potts edges has the value
    ``min unary . x + sum_e weights_e sum_k |x[i, k] - x[j, k]| / 2``.

    >>> lp_bound(Energy([[0, 1], [2, 0]], edges=[[0, 1]], weights=[1]))
    1.0
    """
    constraints = Constraints() if constraints is None else constraints
    allowed = allowed_mask(energy, constraints)
    if energy.n_nodes == 0:
        return energy.offset
    program = Program.build(energy, constraints, allowed)
    solution = program.solve(integral=False, time_limit=None)
    if solution.status == INFEASIBLE:
        raise infeasible(constraints, allowed)
    return program.value(solution.fun)


def enumerate_best(energy: Energy, constraints: Constraints, allowed: BoolArray) -> IndexArray | None:
    """Return the best feasible labeling, the first in lexicographic order among equals, or None."""
    best, least = None, np.inf
    width = energy.n_nodes + energy.n_edges + len(energy.subset_nodes) + len(constraints.cover_nodes)
    for labelings in enumerate_labelings(allowed, max(1, CHUNK_ELEMENTS // (width + 1))):
        wanted = constraints.cover_labels[owners(constraints.cover_starts)]
        hits = labelings[:, constraints.cover_nodes] == wanted
        feasible = any_in_sets(hits, constraints.cover_starts).all(axis=1)
        if len(constraints.sizes):
            far = constraints.sizes.distances(labelings)
            feasible &= (far <= ROUNDING * constraints.sizes.totals).all(axis=1)
        energies = np.where(feasible, energy.evaluate_many(labelings), np.inf)
        m = int(np.argmin(energies))
        if energies[m] < least:
            best, least = labelings[m], float(energies[m])
    return best


def enumerate_labelings(allowed: BoolArray, chunk: int) -> Iterator[IndexArray]:
    """All allowed labelings in lexicographic order, int32 [up to chunk, V] at a time."""
    counts = allowed.sum(axis=1)
    # Stable: the allowed labels of a node come first, in rising order.
    ranked = np.argsort(~allowed, axis=1, kind="stable").astype(np.int32)
    strides = np.append(np.cumprod(counts[::-1])[::-1], 1)[1:]
    total = math.prod(counts.tolist())
    for begin in range(0, total, chunk):
        index = np.arange(begin, min(begin + chunk, total))[:, np.newaxis]
        yield ranked[np.arange(len(counts)), index // strides % counts]


@dataclass(frozen=True)
class Program:
    """Linear program over (x [V * K], d [E * K], z [S], shortfalls [T], sides [2 T]).

    Its costs are >= 0, shifted and scaled. A shortfall is by how much a size is less far from its range than
    it could be; its sides say whether it is above or below.
    """

    costs: FloatArray
    upper: FloatArray
    matrix: Any
    row_lower: FloatArray
    row_upper: FloatArray
    allowed: BoolArray
    base: float
    exponent: int
    n_sizes: int

    @classmethod
    def build(cls, energy: Energy, constraints: Constraints, allowed: BoolArray) -> Program:
        """Program for the energy: ``value = base + 2 ** exponent * (costs . variables)``."""
        masked = np.where(allowed, energy.unary, np.inf)
        least = masked.min(axis=1)
        relative = np.where(allowed, masked - least[:, np.newaxis], 0.0)
        weights = np.repeat(energy.weights, energy.n_labels)
        n_sizes, farthest = len(energy.sizes), energy.sizes.farthest
        costs = np.concatenate(
            (relative.ravel(), weights, energy.subset_costs, energy.size_gains, np.zeros(2 * n_sizes))
        )
        # A power of two, added to the exponents: so scaling rounds nothing, not even the smallest of numbers.
        exponent = math.ceil(math.log2(costs.max() or 1.0)) - LARGEST_EXPONENT
        upper = np.ones(len(costs))
        upper[: allowed.size] = allowed.ravel()
        upper[len(upper) - 3 * n_sizes : len(upper) - 2 * n_sizes] = farthest
        blocks = [one_hot_rows(energy), edge_rows(energy), subset_rows(energy)]
        blocks.append(cover_rows(energy, constraints))
        row_lower = np.repeat([1.0, 0.0, 0.0, 1.0], [block.shape[0] for block in blocks])
        row_upper = np.repeat([1.0, np.inf, np.inf, np.inf], [block.shape[0] for block in blocks])
        far_rows, far_lower = distance_rows(energy)
        blocks += [size_rows(energy, constraints.sizes), far_rows]
        limits = constraints.sizes
        row_lower = np.concatenate((row_lower, in_parts(limits.low, limits), far_lower))
        row_upper = np.concatenate(
            (row_upper, in_parts(limits.high, limits), np.full(len(far_lower), np.inf))
        )
        base = energy.offset + float(least.sum()) - float(energy.size_gains @ farthest)
        matrix = vstack(blocks, format="csr")
        costs = np.ldexp(costs, -exponent)
        return cls(costs, upper, matrix, row_lower, row_upper, allowed, base, exponent, n_sizes)

    def solve(self, integral: bool, time_limit: float | None) -> OptimizeResult:
        """Run HiGHS; the solution is in the units of the scaled costs."""
        integrality = np.zeros(len(self.costs))
        integrality[: self.allowed.size] = integral
        integrality[len(integrality) - 2 * self.n_sizes :] = integral
        options: dict[str, Any] = {"mip_rel_gap": 0.0}
        if time_limit is not None:
            options["time_limit"] = time_limit
        return milp(
            self.costs,
            integrality=integrality,
            bounds=Bounds(0.0, self.upper),
            constraints=LinearConstraint(self.matrix, self.row_lower, self.row_upper),
            options=options,
        )

    def labels(self, variables: FloatArray) -> IndexArray:
        """Labeling of integral variables."""
        indicators = variables[: self.allowed.size].reshape(self.allowed.shape)
        return np.asarray(np.where(self.allowed, indicators, -1.0).argmax(axis=1), dtype=np.int32)

    def value(self, objective: float) -> float:
        """Energy of an objective, which is never negative."""
        return self.base + float(np.ldexp(max(float(objective), 0.0), self.exponent))


def sparse_rows(shape: tuple[int, int], *entries: tuple[float, NDArray[Any]]) -> csr_array:
    """Matrix whose row r has the value at the column columns[r], for each (value, columns) of the entries."""
    rows = np.tile(np.arange(shape[0]), len(entries))
    columns = np.concatenate([columns for _, columns in entries])
    values = np.repeat([value for value, _ in entries], shape[0])
    return csr_array((values, (rows, columns)), shape=shape)


def n_variables(energy: Energy) -> int:
    """Count all variables."""
    return n_plain(energy) + 3 * len(energy.sizes)


def n_plain(energy: Energy) -> int:
    """Count the variables x, d and z."""
    return (energy.n_nodes + energy.n_edges) * energy.n_labels + energy.n_subsets


def one_hot_rows(energy: Energy) -> csr_array:
    """``sum_k x[i, k]`` for each node."""
    indicators = np.arange(energy.unary.size)
    entries = (np.ones(energy.unary.size), (indicators // energy.n_labels, indicators))
    return csr_array(entries, shape=(energy.n_nodes, n_variables(energy)))


def edge_rows(energy: Energy) -> csr_array:
    """``d[e, k] - x[i, k] + x[j, k]`` for each edge and label.

    The opposite sign is not needed: since both ends sum to one, ``sum_k max(0, x[i, k] - x[j, k])`` is
    ``sum_k |x[i, k] - x[j, k]| / 2`` also in the relaxation.
    """
    n_rows = energy.n_edges * energy.n_labels
    ends = energy.edges.astype(np.int64)[:, :, np.newaxis] * energy.n_labels + np.arange(energy.n_labels)
    distances = energy.unary.size + np.arange(n_rows)
    first, second = ends[:, 0].ravel(), ends[:, 1].ravel()
    return sparse_rows((n_rows, n_variables(energy)), (1.0, distances), (-1.0, first), (1.0, second))


def subset_rows(energy: Energy) -> csr_array:
    """``z[s] - x[i, label_s]`` for each subset and each of its nodes."""
    owner = owners(energy.subset_starts)
    uses = n_plain(energy) - energy.n_subsets + owner
    members = energy.subset_nodes.astype(np.int64) * energy.n_labels + energy.subset_labels[owner]
    return sparse_rows((len(members), n_variables(energy)), (1.0, uses), (-1.0, members))


def cover_rows(energy: Energy, constraints: Constraints) -> csr_array:
    """``sum_i x[i, label]`` over the nodes of each cover."""
    rows = owners(constraints.cover_starts)
    columns = constraints.cover_nodes.astype(np.int64) * energy.n_labels + constraints.cover_labels[rows]
    shape = (constraints.n_covers, n_variables(energy))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def in_parts(values: FloatArray, sizes: Sizes) -> FloatArray:
    """Sizes [T] as parts of those of all nodes: tolerances of the program then mean the same in any unit."""
    return np.asarray(values / np.maximum(sizes.totals, np.finfo(float).tiny))


def size_rows(energy: Energy, sizes: Sizes) -> csr_array:
    """Sizes of labels, as parts of those of all nodes."""
    dense = np.zeros((len(sizes), n_variables(energy)))
    for t, label in enumerate(sizes.labels.tolist()):
        dense[t, label : energy.unary.size : energy.n_labels] = sizes.weights[t] / max(
            float(sizes.totals[t]), np.finfo(float).tiny
        )
    return csr_array(dense)


def distance_rows(energy: Energy) -> tuple[csr_array, FloatArray]:
    """Rows of the shortfalls of size terms, and the least values of these rows.

    With the largest distance D and the shortfall r, the distance ``D - r`` is at most that above the range,
    or anything if that side is not chosen, the same for below, and 0 if neither is:
    ``r + s - M above >= D + high - M``, ``r - s - M below >= D - low - M``, ``r + D above + D below >= D``.
    """
    sizes, n_sizes, first = energy.sizes, len(energy.sizes), n_plain(energy)
    own = np.arange(n_sizes)
    indicators = size_rows(energy, sizes).toarray() * sizes.totals[:, np.newaxis]
    rows, lower = [], []
    for sign, side, limit in ((1.0, 1, sizes.high), (-1.0, 2, -sizes.low)):
        enough = sizes.farthest + limit + (sizes.totals if sign < 0 else 0.0)
        block = sign * indicators
        block[own, first + own] = 1.0
        block[own, first + side * n_sizes + own] = -enough
        rows.append(block)
        lower.append(sizes.farthest + limit - enough)
    neither = np.zeros_like(indicators)
    neither[own, first + own] = 1.0
    for side in (1, 2):
        neither[own, first + side * n_sizes + own] = sizes.farthest
    return csr_array(np.concatenate((*rows, neither))), np.concatenate((*lower, sizes.farthest))


def best_pins(
    constraints: Constraints, allowed: BoolArray, losses: FloatArray
) -> tuple[IndexArray, IndexArray, NDArray[np.intp]]:
    """Nodes, their labels, and the covers these leave unmet: as few as possible, then at least loss [V, K].

    A node can meet many covers of one label, but no covers of different labels, so this is harder than a
    matching: it is solved as an integer program over the pairs of nodes and labels that occur in covers.

    >>> constraints = Constraints(covers=[([0, 1], 0), ([1], 1), ([1], 0)])
    >>> best_pins(constraints, np.ones((2, 2), dtype=bool), np.zeros((2, 2)))[2]
    array([1])
    """
    n_nodes, n_labels = allowed.shape
    owner = owners(constraints.cover_starts)
    pair = constraints.cover_nodes.astype(np.int64) * n_labels + constraints.cover_labels[owner]
    usable = allowed.ravel()[pair]
    pairs, column = np.unique(pair[usable], return_inverse=True)
    node, label = np.divmod(pairs, n_labels)
    n_pairs, n_covers = len(pairs), constraints.n_covers
    meets = csr_array((np.ones(len(column)), (owner[usable], column)), shape=(n_covers, n_pairs))
    picks = csr_array((np.ones(n_pairs), (node, np.arange(n_pairs))), shape=(n_nodes, n_pairs))
    # Every pin costs something, so that none is needless; all together cost less than one unmet cover.
    clipped = np.maximum(losses[node, label], 0.0)
    pin_costs = clipped / max(float(clipped.max(initial=0.0)), np.finfo(float).tiny) + 1e-3
    solution = milp(
        np.concatenate((pin_costs, np.full(n_covers, 2.0 * n_nodes))),
        integrality=np.repeat([1, 0], [n_pairs, n_covers]),
        bounds=Bounds(0.0, 1.0),
        constraints=[
            LinearConstraint(hstack((meets, eye_array(n_covers)), format="csr"), lb=1.0),
            LinearConstraint(hstack((picks, csr_array((n_nodes, n_covers))), format="csr"), ub=1.0),
        ],
        options={"mip_rel_gap": 0.0},
    )
    chosen = solution.x[:n_pairs] > 0.5
    unmet = np.flatnonzero(solution.x[n_pairs:] > 0.5)
    return node[chosen].astype(np.int32), label[chosen].astype(np.int32), unmet


def infeasible(constraints: Constraints, allowed: BoolArray) -> ValueError:
    """Make the error that names the covers which cannot be met, or else the sizes."""
    unmet = best_pins(constraints, allowed, np.zeros(allowed.shape))[2]
    if not len(unmet):
        labels = ", ".join(f"sizes[{t}] (label {k})" for t, k in enumerate(constraints.sizes.labels))
        return ValueError(f"no allowed labeling meets all covers and sizes together: {labels}")
    named = ", ".join(f"covers[{c}] (label {constraints.cover_labels[c]})" for c in unmet)
    return ValueError(f"no allowed labeling meets all covers: cannot meet {named} together with the others")
