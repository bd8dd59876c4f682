"""Small quadratic programs over a simplex, by an active-set method."""

from __future__ import annotations

import numpy as np

from multiutility.arrays import BoolArray, FloatArray


def maximize_on_simplex(gram: FloatArray, linear: FloatArray, on_simplex: BoolArray) -> FloatArray:
    """Maximize ``linear . z - z gram z / 2`` over z >= 0 whose elements ``on_simplex`` add up to 1.

    ``gram`` [m, m] is positive semidefinite; for a few hundred variables. An element enters if the objective
    rises with it and leaves when it reaches zero; in between, the problem is a linear system.

    >>> gram, linear = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0])
    >>> maximize_on_simplex(gram, linear, np.array([True, True]))
    array([0.33333333, 0.66666667])
    >>> maximize_on_simplex(gram, linear, np.array([True, False]))
    array([1., 1.])
    """
    # Equal planes make the system singular; so little changes nothing else.
    gram = gram + np.eye(len(gram)) * 1e-12 * max(1e-300, float(np.trace(gram)) / len(gram))
    found = np.zeros(len(linear))
    values = np.where(on_simplex, linear - gram.diagonal() / 2, -np.inf)
    found[values.argmax()] = 1.0
    support = found > 0
    tolerance = 1e-12 * max(1e-300, float(np.abs(linear).max()))
    for _ in range(20 * len(linear)):
        found, support, level = descend(gram, linear, on_simplex, found, support)
        slopes = linear - gram @ found - level * on_simplex
        entering = int(np.where(support, -np.inf, slopes).argmax())
        if support[entering] or slopes[entering] <= tolerance:
            break
        support[entering] = True
    return found


def descend(
    gram: FloatArray, linear: FloatArray, on_simplex: BoolArray, found: FloatArray, support: BoolArray
) -> tuple[FloatArray, BoolArray, float]:
    """Solve on the support, which elements leave that reach zero; also return the constraint's multiplier."""
    support = support.copy()
    # Ends: the support loses an element each time.
    while True:
        goal, level = stationary(gram, linear, on_simplex, support)
        falling = support & (goal < 0)
        if not falling.any():
            return goal, support, level
        parts = np.where(falling, found / np.where(falling, found - goal, 1), np.inf)
        leaving = int(parts.argmin())
        found = found + min(1.0, parts[leaving]) * (goal - found)
        found[leaving], support[leaving] = 0.0, False


def stationary(
    gram: FloatArray, linear: FloatArray, on_simplex: BoolArray, support: BoolArray
) -> tuple[FloatArray, float]:
    """Return the stationary point whose elements outside the support are zero, and the multiplier."""
    n = int(support.sum())
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = gram[np.ix_(support, support)]
    system[:n, n] = system[n, :n] = on_simplex[support]
    solution = np.linalg.solve(system, np.append(linear[support], 1.0))
    point = np.zeros(len(linear))
    point[support] = solution[:n]
    return point, float(solution[n])
