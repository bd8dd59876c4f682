"""Sizes of labels around solvers that know none: a price for each unit of a label's size.

The Lagrangian of sizes within their ranges is ``E(y) + sum_t price_t s_t(y)``, whose prices are unary costs.
The size of a label falls as its price rises, so that the price is found by bisection, label by label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from multiutility.arrays import FloatArray
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference.solver import Result, Search, ask

# Rounds over all labels, and steps for one of them: to find a price that is too high, and between two prices.
ROUNDS, DOUBLINGS, HALVINGS = 3, 24, 16


def with_prices(energy: Energy, constraints: Constraints, prices: FloatArray) -> Energy:
    """Energy plus the price [T] of each size.

    >>> limits = Constraints(sizes=[([1, 2], 1, 0.0, 1.0)])
    >>> with_prices(Energy([[0, 0], [0, 0]]), limits, np.array([3.0])).unary.tolist()
    [[0.0, 3.0], [0.0, 6.0]]
    """
    unary = energy.unary.copy()
    np.add.at(unary.T, constraints.sizes.labels, prices[:, np.newaxis] * constraints.sizes.weights)
    return energy.with_costs(unary, energy.weights, energy.offset)


def priced(
    energy: Energy, constraints: Constraints, start: ArrayLike | None
) -> Search[tuple[list[Result], Energy]]:
    """Search for prices that bring all sizes into their ranges; return all answers, and the energy with them.

    The first answer is without prices. The last is at those of the energy that is returned: those with the
    fewest sizes outside of their ranges, of all that were tried.
    """
    limits = Constraints(constraints.allowed)
    answers = [(yield from ask(energy, limits, start))]
    prices = np.zeros(len(constraints.sizes))
    tried = [prices]
    for _ in range(ROUNDS):
        if not len(constraints.sizes.missed(answers[-1].labels)):
            break
        for t in range(len(prices)):
            yield from price_of(t, energy, constraints, limits, answers, tried)
    best = min(range(len(answers)), key=lambda a: distance(constraints, answers[a]))
    if best < len(answers) - 1:
        answers.append(answers[best])
    return answers, with_prices(energy, constraints, tried[best]) if best else energy


def price_of(
    t: int,
    energy: Energy,
    constraints: Constraints,
    limits: Constraints,
    answers: list[Result],
    tried: list[FloatArray],
) -> Search[None]:
    """Move the price of one size, from the last answer on, until the size is in its range, if it can be."""
    sizes = constraints.sizes
    first, step = tried[-1], unit(energy, sizes.weights[t])
    lower = upper = None
    for _ in range(DOUBLINGS + HALVINGS):
        size = float(sizes.of(answers[-1].labels[np.newaxis])[0, t])
        if sizes.low[t] <= size <= sizes.high[t]:
            return
        price = float(tried[-1][t])
        if size > sizes.high[t]:
            lower = price
        else:
            upper = price
        if lower is not None and upper is not None:
            price = (lower + upper) / 2
        else:
            price += step if upper is None else -step
            step *= 2
        prices = first.copy()
        prices[t] = price
        tried.append(prices)
        again = yield from ask(with_prices(energy, constraints, prices), limits, None)
        answers.append(again)


def unit(energy: Energy, weights: FloatArray) -> float:
    """A price that matters to few nodes: a small part of what labels differ by, for each unit of size."""
    spread = float(np.ptp(energy.unary, axis=1).mean()) if energy.n_nodes else 0.0
    size = float(weights.mean()) if len(weights) else 0.0
    return 1e-3 * spread / size if spread > 0 and size > 0 else 1e-3


def distance(constraints: Constraints, answer: Result) -> tuple[int, float]:
    """How many sizes of an answer are outside of their ranges, and by how much in relation to all nodes."""
    sizes = constraints.sizes
    far = sizes.distances(answer.labels[np.newaxis])[0]
    return len(sizes.missed(answer.labels)), float((far / np.maximum(sizes.totals, 1e-300)).sum())
