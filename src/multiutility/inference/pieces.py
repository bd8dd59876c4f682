"""Size terms around solvers that know none: each is the least of three linear pieces, which are unary costs.

A size term, ``-gain max(0, s - high, low - s)``, is the minimum of 0, ``-gain (s - high)`` and
``-gain (low - s)``, and the size s is a sum over nodes. With a piece chosen for each term, the energy is
nowhere below the true one, and equal to it where the sizes are as the pieces say. So the least over all
choices of pieces is the minimum: exact for a solver that is, with one solution for each choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import BoolArray, FloatArray, IndexArray
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.solver import Result, Search, ask

# Pieces: the size is below its range, in it, or above.
BELOW, WITHIN, ABOVE = -1, 0, 1
# Choices that are all tried. Where there are more, one term after another changes its piece while that helps.
MOST_CHOICES = 27


def linear(energy: Energy, pieces: Sequence[int]) -> Energy:
    """Energy with a linear piece in place of each size term.

    >>> energy = Energy([[0, 0], [0, 0]], sizes=[([1, 2], 1, 0.0, 1.0, 5.0)])
    >>> [linear(energy, [piece]).evaluate([1, 1]) for piece in (WITHIN, ABOVE)], energy.evaluate([1, 1])
    ([0.0, -10.0], -10.0)
    """
    unary, offset = energy.unary.copy(), energy.offset
    for t, piece in enumerate(pieces):
        sizes, gain = energy.sizes, energy.size_gains[t]
        unary[:, sizes.labels[t]] -= piece * gain * sizes.weights[t]
        offset += gain * (sizes.high[t] if piece == ABOVE else -sizes.low[t] if piece == BELOW else 0.0)
    return energy.without_sizes(unary, float(offset))


def pieces_of(energy: Energy, labels: ArrayLike) -> tuple[int, ...]:
    """Pieces that the sizes in a labeling [V] are in."""
    sizes = energy.sizes.of(np.asarray(labels)[np.newaxis])[0]
    above, below = sizes > energy.sizes.high, sizes < energy.sizes.low
    return tuple((ABOVE * above + BELOW * below).tolist())


def by_pieces(energy: Energy, constraints: Constraints | None, start: ArrayLike | None) -> Search[Result]:
    """Search for a labeling of low energy, never above that of the start, by solutions without size terms.

    It ends where the solution for the pieces of its own sizes, from there on, is no better.
    """
    if not len(energy.sizes):
        return (yield from ask(energy, constraints, start))
    if 3 ** len(energy.sizes) <= MOST_CHOICES:
        choices = list(product((WITHIN, BELOW, ABOVE), repeat=len(energy.sizes)))
        answers = yield [(linear(energy, pieces), constraints, start) for pieces in choices]
        found = list(answers)
    else:
        found = yield from one_by_one(energy, constraints, start)
    best = min(found, key=lambda answer: energy.evaluate(answer.labels))
    while True:
        again = yield from ask(linear(energy, pieces_of(energy, best.labels)), constraints, best.labels)
        found.append(again)
        if not energy.evaluate(again.labels) < energy.evaluate(best.labels):
            break
        best = again
    return gathered(energy, best.labels, found)


def one_by_one(
    energy: Energy, constraints: Constraints | None, start: ArrayLike | None
) -> Search[list[Result]]:
    """Change the piece of one term after another while the energy falls."""
    pieces = (WITHIN,) * len(energy.sizes) if start is None else pieces_of(energy, start)
    found = [(yield from ask(linear(energy, pieces), constraints, start))]
    best = found[0]
    for t, piece in product(range(len(pieces)), (BELOW, WITHIN, ABOVE)):
        now = pieces_of(energy, best.labels)
        if piece == now[t]:
            continue
        tried = (*now[:t], piece, *now[t + 1 :])
        found.append((yield from ask(linear(energy, tried), constraints, best.labels)))
        best = min(best, found[-1], key=lambda answer: energy.evaluate(answer.labels))
    return found


def gathered(energy: Energy, labels: IndexArray, answers: Sequence[Result]) -> Result:
    """Result with these labels, and the work of all answers; a bound only if all choices have one."""
    n_choices = 3 ** len(energy.sizes)
    bounds = [answer.bound for answer in answers[:n_choices] if answer.bound is not None]
    return Result(
        labels,
        energy.evaluate(labels),
        bound=min(bounds) if n_choices <= MOST_CHOICES and len(bounds) == n_choices else None,
        moves=sum(answer.moves for answer in answers),
        flows=sum(answer.flows for answer in answers),
        timed_out=any(answer.timed_out for answer in answers),
    )


def size_rises(energy: Energy, labels: IndexArray) -> Iterator[tuple[int, BoolArray, FloatArray]]:
    """Label of each size term, nodes that have it, and how much it rises [V] if a node gets or loses it."""
    for t, label in enumerate(energy.sizes.labels.tolist()):
        weights = energy.sizes.weights[t]
        has = labels == label
        before = float(weights[has].sum())
        after = before + np.where(has, -weights, weights)
        low, high = energy.sizes.low[t], energy.sizes.high[t]
        far = np.maximum(np.maximum(np.append(after, before) - high, low - np.append(after, before)), 0.0)
        yield label, has, -energy.size_gains[t] * (far[:-1] - far[-1])
