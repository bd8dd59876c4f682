"""Dual variables, and steps that raise the dual objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import FloatArray
from multiutility.learning.optimizers.bundle import Bundle
from multiutility.learning.optimizers.planes import ascend_parabola, slot_of
from multiutility.learning.optimizers.risk import Risk, Violation


class Dual:
    """Dual variables of a risk.

    Block n is a mixture of planes, ``A_n = C_n (onehot(anchor) - sum_y a_y onehot(y))`` [V, K], ``b_n`` [e]
    and ``l_n``, see ``Bundle``. With ``u = sum_n (A_n^T X_n, b_n)``, the weights are u with its negative
    pairwise part cut off, and the dual objective is ``sum_n l_n - |w|^2 / 2``: the multipliers of the
    constraints on w have a closed form.

    ``company`` says how many others may do the same with blocks of their own, at the same time: ``sum`` then
    changes by so much more than the blocks, as if all of them had done what these have.
    """

    def __init__(self, risk: Risk, n_slots: int, company: float = 1.0) -> None:
        self.risk = risk
        self.company = company
        self.bundle = Bundle(risk, n_slots)
        self.sum: FloatArray = np.zeros(risk.layout.n_weights)

    def arrays(self) -> Arrays:
        """Return all variables as arrays."""
        return {**self.bundle.arrays(), "sum": self.sum}

    @classmethod
    def from_arrays(cls, risk: Risk, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return variables as they were, of the risk as it was anchored then."""
        dual = cls(risk, arrays["coefficients"].shape[1])
        dual.bundle.restore(arrays)
        dual.sum[...] = arrays["sum"]
        return dual

    @property
    def n_blocks(self) -> int:
        """Number of blocks, N."""
        return len(self.risk.costs)

    @property
    def unary(self) -> FloatArray:
        """The part of u that has no sign, [K D]: a view."""
        return self.risk.layout.unary(self.sum)

    @property
    def pairwise(self) -> FloatArray:
        """The part of u whose negative values are cut off, [e]: a view."""
        return self.risk.layout.pairwise(self.sum)

    @property
    def weights(self) -> FloatArray:
        """Weights w: u with its pairwise part projected."""
        return self.risk.layout.projected(self.sum)

    @property
    def objective(self) -> float:
        """The dual objective."""
        weights, bundle = self.weights, self.bundle
        return float(np.vdot(bundle.coefficients, bundle.losses) - weights @ weights / 2)

    def gradients(self, block: int, scores: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Slopes of the dual in the coefficients of a block, [n_slots], at weights with these scores."""
        bundle, edges = self.bundle, self.risk.layout.pairwise(weights)
        inside = bundle.values(block, scores) + bundle.pairwise[block] @ edges
        return np.asarray(bundle.losses[block] - inside)

    def step(
        self, blocks: Sequence[int], violations: Sequence[Violation], weights: FloatArray, n_steps: int
    ) -> FloatArray:
        """Raise the dual by the blocks, given violations at ``weights``; return the blocks' gaps before that.

        Each block takes in its most violated plane and improves its mixture. All of them then move, one after
        another, as far as the dual rises.
        """
        for n, found in zip(blocks, violations, strict=True):
            self.bundle.add(n, found.plane)
        inside = self.exchange(blocks, [found.scores for found in violations], weights, n_steps)
        return np.asarray(self.risk.costs[list(blocks)] * [found.hinge for found in violations] - inside)

    def exchange(
        self, blocks: Sequence[int], scores: Sequence[NDArray[Any]], weights: FloatArray, n_steps: int
    ) -> FloatArray:
        """Raise the dual by the planes that the blocks have, given scores at ``weights``.

        Returns their hinges before that, as the mixtures of planes see them, [B].
        """
        pairs = zip(blocks, scores, strict=True)
        gradients = np.array([self.gradients(n, found, weights) for n, found in pairs])
        present = self.bundle.coefficients[list(blocks)]
        self.move(blocks, self.bundle.improve(blocks, gradients, n_steps, self.company) - present)
        return np.asarray((present * gradients).sum(axis=1))

    def move(self, blocks: Sequence[int], changes: FloatArray) -> None:
        """Change the coefficients of the blocks by parts in [0, 1] of ``changes`` [B, n_slots].

        The parts are chosen one after another, each by an exact line search at the current weights, and then
        once more: the dual never falls. All that they need of the features is one product for each block.
        """
        batch, bundle = list(blocks), self.bundle
        lifted = self._lifted(blocks, changes)
        pairwise = (changes[:, np.newaxis] @ bundle.pairwise[batch])[:, 0]
        slopes = (changes * bundle.losses[batch]).sum(axis=1)
        slopes -= lifted @ self.unary.astype(lifted.dtype)
        gram = self.company * (lifted @ lifted.T).astype(np.float64)
        # Of |max(0, v + c t p)|^2 / c, with company c, the root of c goes to both terms.
        root = np.sqrt(self.company)
        steps = ascend(slopes, gram, self.pairwise / root, root * pairwise)
        self.unary[...] += (self.company * steps).astype(lifted.dtype) @ lifted
        self.pairwise[...] += self.company * (steps @ pairwise)
        bundle.coefficients[batch] += steps[:, np.newaxis] * changes

    def _lifted(self, blocks: Sequence[int], coefficients: FloatArray) -> FloatArray:
        """Combinations of the blocks' planes in feature space, [B, K D], in the features' precision."""
        layout = self.risk.layout
        lifted = np.empty((len(blocks), layout.n_labels, layout.n_features), dtype=self.risk.dtype)
        for row, n, mix in zip(lifted, blocks, coefficients, strict=True):
            self.risk.lift(n, self.bundle.matrix(n, mix, lifted.dtype), row)
        return lifted.reshape(len(blocks), layout.n_unary)

    def refresh(self) -> None:
        """Compute u anew from the blocks, to be rid of rounding errors that add up over many steps."""
        bundle = self.bundle
        np.maximum(bundle.coefficients, 0, out=bundle.coefficients)
        bundle.coefficients /= bundle.coefficients.sum(axis=1, keepdims=True)
        self.pairwise[...] = np.einsum("np,npe->e", bundle.coefficients, bundle.pairwise)
        self.unary[...] = 0
        for n in range(self.n_blocks):
            self.unary[...] += self._lifted([n], bundle.coefficients[[n]])[0]

    def recenter(self, risk: Risk) -> None:
        """Take over a risk whose anchors have changed."""
        changed = self.shift(risk)
        self.refresh()
        self.approach(changed)

    def shift(self, risk: Risk) -> list[int]:
        """Measure the blocks from other anchors; return those whose anchor has changed.

        Mixtures of shifted planes are still feasible, but their sum has to be computed anew.
        """
        self.risk = self.bundle.risk = risk
        changed = [n for n, anchor in enumerate(self.bundle.anchors) if anchor is not risk.anchor(n)]
        for n in changed:
            self.bundle.recenter(n, risk.anchor(n))
            self.bundle.add(n, risk.anchor(n))
        return changed

    def carried(self, risk: Risk, origins: Sequence[int | None]) -> Dual:
        """Return variables of another risk, whose block n was block ``origins[n]`` here, or begins anew.

        For what the old blocks must have kept see ``Bundle.carry``. All that they are is feasible there, too.
        """
        other = Dual(risk, self.bundle.coefficients.shape[1], self.company)
        other.bundle.carry(self.bundle, origins)
        other.refresh()
        return other

    def approach(self, changed: Sequence[int]) -> None:
        """Move shifted blocks toward the planes of their anchors, which may be better than their mixtures."""
        for n in changed:
            change = -self.bundle.coefficients[[n]]
            change[0, slot_of(self.bundle.slots(n), self.risk.anchor(n).labels)] += 1
            self.move([n], change)


def ascend(
    slopes: FloatArray, gram: FloatArray, pairwise: FloatArray, directions: FloatArray, n_rounds: int = 3
) -> FloatArray:
    """Steps in [0, 1] along B directions, by exact line searches one after another, some rounds of them.

    ``slopes`` [B] and ``gram`` [B, B] are those of the weights that have no sign; the weights that must not
    be negative start at ``pairwise`` [e], before projection, and have ``directions`` [B, e].
    """
    active = pairwise > 0
    inside = directions[:, active]
    steps = ascend_parabola(slopes - inside @ pairwise[active], gram + inside @ inside.T, n_rounds)
    # Most often no weight changes sign on the way, so that the function is a parabola.
    if np.array_equal(pairwise + steps @ directions > 0, active):
        return steps
    steps, slopes, pairwise = np.zeros(len(slopes)), slopes.astype(np.float64), pairwise.copy()
    for _ in range(n_rounds):
        for b, old in enumerate(steps.tolist()):
            pairwise -= old * directions[b]
            steps[b] = line_search(slopes[b] + old * gram[b, b], gram[b, b], pairwise, directions[b])
            slopes -= (steps[b] - old) * gram[b]
            pairwise += steps[b] * directions[b]
    return steps


def line_search(slope: float, curvature: float, pairwise: FloatArray, direction: FloatArray) -> float:
    """Maximize ``slope t - curvature t^2 / 2 - |max(0, pairwise + t direction)|^2 / 2`` over t in [0, 1].

    The derivative falls, linearly between breakpoints, one for each element of ``pairwise``.

    >>> line_search(1.0, 2.0, np.array([-1.0]), np.array([4.0]))
    0.2777777777777778
    """
    moving = direction != 0
    breaks = -pairwise[moving] / direction[moving]
    knots = np.concatenate(([0.0], np.sort(breaks[(breaks > 0) & (breaks < 1)]), [1.0]))
    positive = np.maximum(pairwise + knots[:, np.newaxis] * direction, 0)
    derivative = slope - knots * curvature - positive @ direction
    if derivative[0] <= 0:
        return 0.0
    if derivative[-1] >= 0:
        return 1.0
    after = int(np.argmax(derivative <= 0))
    fall = derivative[after - 1] - derivative[after]
    return float(knots[after - 1] + (knots[after] - knots[after - 1]) * derivative[after - 1] / fall)
