"""Covers and sizes around any solver: covers by pinpointing, sizes by prices of labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multiutility.arrays import BoolArray, FloatArray, IndexArray, any_in_sets, owners
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.exact import best_pins
from multiutility.inference.pieces import size_rises
from multiutility.inference.prices import priced
from multiutility.inference.solver import Result, Search, Solver, aligned, allowed_mask, ask, drive

# What a label of a node costs more than another, [V, K], from an energy, the allowed labels and a labeling.
Loss: TypeAlias = Callable[[Energy, BoolArray, IndexArray], FloatArray]

Candidates: TypeAlias = Literal["cover", "label"]


class UnmetCoverWarning(UserWarning):
    """Some covers cannot be met, alone or together with the others."""


class UnmetSizeWarning(UnmetCoverWarning):
    """Some sizes were not met."""


def unary_loss(energy: Energy, allowed: BoolArray, _labels: IndexArray) -> FloatArray:
    """How much more each label costs than the best allowed label of the node, by unary costs alone, [V, K].

    >>> unary_loss(Energy([[1, 4, 0]]), np.array([[True, True, False]]), np.array([0], dtype=np.int32))
    array([[ 0.,  3., -1.]])
    """
    least = np.where(allowed, energy.unary, np.inf).min(axis=1, keepdims=True)
    return np.asarray(energy.unary - least, dtype=np.float64)


def flip_loss(energy: Energy, _allowed: BoolArray, labels: IndexArray) -> FloatArray:
    """How much the energy rises if the node alone changes its label, [V, K].

    >>> energy = Energy([[1, 4], [0, 0]], edges=[[0, 1]], weights=[2])
    >>> flip_loss(energy, np.ones((2, 2), dtype=bool), np.array([0, 0], dtype=np.int32))
    array([[0., 5.],
           [0., 2.]])
    """
    n_nodes, n_labels = energy.unary.shape
    edges = energy.edges.astype(np.int64)
    neighbor_labels = edges * n_labels + labels[edges[:, ::-1]]
    agreement = np.bincount(neighbor_labels.ravel(), np.repeat(energy.weights, 2), energy.unary.size)
    owner = owners(energy.subset_starts)
    wanted = energy.subset_labels[owner]
    uses = labels[energy.subset_nodes] == wanted
    others = np.bincount(owner, uses, energy.n_subsets)[owner] - uses
    members = energy.subset_nodes.astype(np.int64) * n_labels + wanted
    alone = np.bincount(members, energy.subset_costs[owner] * (others == 0), energy.unary.size)
    costs = energy.unary + (alone - agreement).reshape(n_nodes, n_labels)
    for label, has, rises in size_rises(energy, labels):
        costs[:, label] += np.where(has, -rises, rises)
    return costs - costs[np.arange(n_nodes), labels][:, np.newaxis]


@dataclass(frozen=True, repr=False)
class Pinpoint:
    """Meets covers and sizes around a solver that cannot (Lempitsky et al. 2009, adapted to many labels).

    Solves without the covers; then, until all are met, takes the open cover ``(nodes, k)`` and its node ``i``
    of the least loss, pins the node to ``k`` and solves again from the last labels. At the end, pins that no
    cover depends on are released if that lowers the energy. Each step pins one more node, so the search ends.

    A node meets covers of one label only, so a pin may block a later cover: then all pins are chosen anew,
    jointly, by a small integer program. A cover is thus reported, in ``Result.unmet`` and with an
    ``UnmetCoverWarning``, only if it cannot be met together with the others, and as few as possible are.
    ``Result.bound`` is that of the first solve. The start is returned if it is better than what was found.

    Sizes come first: each label that is too large or too small gets a price for each unit of its size, see
    ``prices``, and covers are then met at these prices. Nodes are not divisible, so that a size may jump over
    its range: sizes that were not met are reported, in ``Result.missed`` and with an ``UnmetSizeWarning``.

    ``candidates="label"`` takes the node from all covers of the label instead of the open one alone. It comes
    nearest to the paper, which takes it from the whole box: covers do not tell which of them form a box.
    The loss is the rise of the energy if the node alone changes its label; ``loss=unary_loss`` counts unary
    costs only, as the paper does, and ends in higher energies.

    >>> from multiutility.inference.reference import Reference
    >>> energy = Energy([[0, 5], [0, 2], [0, 4]], edges=[[0, 1], [1, 2]], weights=[1, 1])
    >>> Pinpoint(Reference()).minimize(energy, Constraints(covers=[([0, 1, 2], 1)])).labels
    array([0, 1, 0], dtype=int32)
    """

    solver: Solver
    candidates: Candidates = "cover"
    loss: Loss = flip_loss

    def __post_init__(self) -> None:
        if self.candidates not in ("cover", "label"):
            raise ValueError(f"candidates is {self.candidates!r}: expected 'cover' or 'label'")

    def __repr__(self) -> str:
        # The same in every process: keys of checkpoints are made of it.
        loss = getattr(self.loss, "__qualname__", repr(self.loss))
        return f"{type(self).__name__}({self.solver!r}, candidates={self.candidates!r}, loss={loss})"

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        """Return a labeling of low energy that meets all covers that can be met, and sizes if it can."""
        return self.minimize_many([energy], [constraints], [start])[0]

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        """Return what ``minimize`` does for each energy; a round solves all unfinished ones in one batch."""
        constraints = aligned(constraints, len(energies), "constraints")
        starts = aligned(starts, len(energies), "starts")
        limits = [Constraints() if limit is None else limit for limit in constraints]
        problems = zip(energies, limits, starts, strict=True)
        searches = [pinpoint(*problem, self.candidates, self.loss) for problem in problems]
        results = drive(searches, self.solver.minimize_many)
        for p, (limit, result) in enumerate(zip(limits, results, strict=True)):
            warn_unmet(p, limit, result)
        return results


def pinpoint(
    energy: Energy, constraints: Constraints, start: ArrayLike | None, candidates: Candidates, loss: Loss
) -> Search[Result]:
    """Search for a labeling that meets the covers and sizes."""
    allowed = allowed_mask(energy, constraints)
    answers, prices = yield from priced(energy, constraints, start)
    mask, hopeless = allowed, unreachable(constraints, allowed)
    # Ends: every pin takes labels away that the mask allowed, but for the one time that it begins anew.
    while True:
        labels = answers[-1].labels
        open_covers = np.setdiff1d(constraints.unmet(labels), hopeless)
        if not len(open_covers):
            break
        losses = loss(prices, allowed, labels)
        pin = cheapest_pin(constraints, open_covers, labels, mask, losses, candidates=candidates)
        if pin is None:
            # Some pin blocks a cover: these pins meet all covers that can be met, so this happens once.
            nodes, values, hopeless = best_pins(constraints, allowed, losses)
            mask = pinned(allowed, nodes, values)
        else:
            nodes, values = pin
            mask = pinned(mask, nodes, values)
        begin = labels.copy()
        begin[nodes] = values
        answers.append((yield from ask(prices, Constraints(mask), begin)))
    needless = (mask != allowed).any(axis=1) & ~needed(constraints, labels)
    if needless.any():
        mask = np.where(needless[:, np.newaxis], allowed, mask)
        answers.append((yield from ask(prices, Constraints(mask), labels)))
    return conclude(energy, constraints, start, answers)


def unreachable(constraints: Constraints, allowed: BoolArray) -> NDArray[np.intp]:
    """Covers none of whose nodes may take the label."""
    wanted = constraints.cover_labels[owners(constraints.cover_starts)]
    return np.flatnonzero(~any_in_sets(allowed[constraints.cover_nodes, wanted], constraints.cover_starts))


def cheapest_pin(
    constraints: Constraints,
    open_covers: NDArray[np.intp],
    labels: IndexArray,
    mask: BoolArray,
    losses: FloatArray,
    *,
    candidates: Candidates,
) -> tuple[IndexArray, IndexArray] | None:
    """Node [1] and label [1] of the least loss; None if an open cover has no node left."""
    owner = owners(constraints.cover_starts)
    nodes, wanted = constraints.cover_nodes, constraints.cover_labels[owner]
    free = mask[nodes, wanted] & (labels[nodes] != wanted)
    if not any_in_sets(free, constraints.cover_starts)[open_covers].all():
        return None
    if candidates == "cover":
        free &= np.isin(owner, open_covers)
    else:
        free &= np.isin(wanted, constraints.cover_labels[open_covers])
    best = np.where(free, losses[nodes, wanted], np.inf).argmin()
    return nodes[[best]], wanted[[best]]


def pinned(mask: BoolArray, nodes: IndexArray, labels: IndexArray) -> BoolArray:
    """Return the mask with one label left for each of the nodes."""
    fixed = mask.copy()
    fixed[nodes] = False
    fixed[nodes, labels] = True
    return fixed


def needed(constraints: Constraints, labels: IndexArray) -> BoolArray:
    """Nodes that alone meet some cover, bool [V]."""
    owner = owners(constraints.cover_starts)
    hits = labels[constraints.cover_nodes] == constraints.cover_labels[owner]
    count = np.bincount(owner, hits, minlength=constraints.n_covers)
    alone = np.zeros(len(labels), dtype=np.bool_)
    alone[constraints.cover_nodes[hits & (count[owner] == 1)]] = True
    return alone


def conclude(
    energy: Energy, constraints: Constraints, start: ArrayLike | None, answers: Sequence[Result]
) -> Result:
    """Return the best labeling: fewest unmet covers and sizes, then least energy; with the work of all."""
    labelings = [answer.labels for answer in answers]
    if start is not None:
        labelings.append(np.array(start, dtype=np.int32))
    # Reversed: of equals, the last answer.
    labels = min(reversed(labelings), key=lambda y: (constraints.n_failed(y), energy.evaluate(y)))
    return Result(
        labels,
        energy.evaluate(labels),
        bound=answers[0].bound,
        moves=sum(answer.moves for answer in answers),
        flows=sum(answer.flows for answer in answers),
        unmet=tuple(constraints.unmet(labels).tolist()),
        timed_out=any(answer.timed_out for answer in answers),
        missed=tuple(constraints.missed(labels).tolist()),
    )


def warn_unmet(problem: int, constraints: Constraints, result: Result) -> None:
    """Warn of covers that cannot be met, and of sizes that were not, naming them."""
    if result.unmet:
        named = ", ".join(f"covers[{c}] (label {constraints.cover_labels[c]})" for c in result.unmet)
        warnings.warn(f"problem {problem}: cannot meet {named}", UnmetCoverWarning, stacklevel=3)
    if result.missed:
        named = ", ".join(f"sizes[{t}] (label {constraints.sizes.labels[t]})" for t in result.missed)
        warnings.warn(f"problem {problem}: did not meet {named}", UnmetSizeWarning, stacklevel=3)
