"""Blocks of the dual as convex combinations of planes, in node space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import BoolArray, FloatArray, IndexArray, check_range
from multiutility.learning.optimizers.risk import Plane, Risk, cells
from multiutility.memory import make_room

# The slot of a block that holds the mixture of all planes without a slot of their own.
REST = 0
# Arrays of a bundle that have a row for each block.
TABLES = ("coefficients", "losses", "pairwise", "gram", "used")


class Bundle:
    """A mixture of planes for each block of a risk.

    A plane y of block n is the matrix ``M_y = C_n (onehot(anchor) - onehot(y))`` on the nodes [V, K], the
    vector ``p_y = C_n (pairwise(anchor) - pairwise(y))`` [e] and the loss ``C_n loss(y)``. Each block keeps
    some planes with their coefficients, in slots, and the mixture of all others in the first slot. Products
    of planes in feature space, ``<M_y, X X^T M_z>``, are kept too, so that coefficients can be improved
    without features. At first each block is its anchor's plane, which is zero.
    """

    def __init__(self, risk: Risk, n_slots: int) -> None:
        n_blocks, shape, layout = len(risk.costs), (len(risk.costs), n_slots), risk.layout
        self.risk = risk
        self.anchors = [risk.anchor(n) for n in range(n_blocks)]
        sizes = [len(anchor.labels) for anchor in self.anchors]
        # Caches of features look at the memory when these are read only, and here none is.
        make_room(sum(sizes) * (8 * layout.n_labels + 12 * n_slots) + 8 * n_blocks * n_slots * (n_slots + 8))
        self.coefficients: FloatArray = np.zeros(shape)
        self.losses: FloatArray = np.zeros(shape)
        self.pairwise: FloatArray = np.zeros((*shape, layout.n_pairwise))
        self.gram: FloatArray = np.zeros((*shape, n_slots))
        self.used: BoolArray = np.zeros(shape, dtype=np.bool_)
        self.coefficients[:, REST], self.used[:, REST] = 1.0, True
        self.losses[:, REST] = risk.costs * [anchor.loss for anchor in self.anchors]
        self.rest: list[FloatArray] = [np.zeros((size, layout.n_labels)) for size in sizes]
        self.labels: list[IndexArray] = [np.zeros((n_slots, size), dtype=np.int32) for size in sizes]
        self.cells: list[NDArray[np.int64]] = [np.zeros((n_slots, size), dtype=np.int64) for size in sizes]

    def arrays(self) -> Arrays:
        """Return the mixtures as arrays, those of all blocks together."""
        arrays: Arrays = {name: getattr(self, name) for name in TABLES}
        return {**arrays, "rest": np.concatenate(self.rest), "labels": np.concatenate(self.labels, axis=1)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over mixtures of a bundle of the same risk, anchored as this one is."""
        for name in TABLES:
            getattr(self, name)[...] = arrays[name]
        check_range(arrays["labels"], "labels", self.risk.layout.n_labels, "labels")
        ends = np.cumsum([len(rest) for rest in self.rest])
        first = 0
        for block, last in enumerate(ends.tolist()):
            self.rest[block][...] = arrays["rest"][first:last]
            self.labels[block][...] = arrays["labels"][:, first:last]
            self.cells[block][...] = cells(self.labels[block], self.risk.layout.n_labels)
            first = last

    def carry(self, other: Bundle, origins: Sequence[int | None]) -> None:
        """Take over mixtures of a bundle whose block ``origins[n]`` is block n here; None stays as it is.

        Such blocks have the same anchors and losses. Their costs may differ, by which all of a block scales,
        and there may be more labels here.
        """
        for block, origin in enumerate(origins):
            if origin is None:
                continue
            scale = self.risk.costs[block] / other.risk.costs[origin]
            self.coefficients[block], self.used[block] = other.coefficients[origin], other.used[origin]
            self.losses[block] = scale * other.losses[origin]
            self.pairwise[block] = scale * other.pairwise[origin]
            self.gram[block] = scale**2 * other.gram[origin]
            self.rest[block][:, : other.rest[origin].shape[1]] = scale * other.rest[origin]
            self.labels[block][...] = other.labels[origin]
            self.cells[block][...] = cells(self.labels[block], self.risk.layout.n_labels)

    def values(self, block: int, nodes: NDArray[Any]) -> FloatArray:
        """Products ``<M, nodes>`` of all slots' matrices with a matrix on the nodes [V, K]: [n_slots]."""
        sums = nodes.take(self.cells[block]).sum(axis=1, dtype=np.float64)
        anchor = nodes.take(self.anchors[block].cells).sum(dtype=np.float64)
        products: FloatArray = self.risk.costs[block] * (anchor - sums)
        products[~self.used[block]] = 0
        products[REST] = np.vdot(self.rest[block], nodes)
        return products

    def matrix(self, block: int, coefficients: FloatArray) -> FloatArray:
        """Return the combination of the slots' matrices, [V, K]."""
        matrix: FloatArray = coefficients[REST] * self.rest[block]
        flat, places = matrix.reshape(-1), self.cells[block]
        amounts = self.risk.costs[block] * coefficients
        for slot in np.flatnonzero(coefficients[REST + 1 :]).tolist():
            flat[places[slot + REST + 1]] -= amounts[slot + REST + 1]
        flat[self.anchors[block].cells] += amounts[REST + 1 :].sum()
        return matrix

    def add(self, block: int, plane: Plane) -> None:
        """Give the plane a slot, with coefficient zero, unless it has one."""
        known = (self.labels[block] == plane.labels).all(axis=1) & self.used[block]
        if known[REST + 1 :].any():
            return
        slot = self._free_slot(block)
        self.labels[block][slot] = plane.labels
        self.cells[block][slot] = plane.cells
        self.used[block, slot] = True
        self.losses[block, slot] = self.risk.costs[block] * plane.loss
        self.pairwise[block, slot] = self.risk.costs[block] * (self.anchors[block].pairwise - plane.pairwise)
        image = self.risk.kernel(block, difference(self.anchors[block], plane, self.rest[block].shape))
        products = self.risk.costs[block] * self.values(block, image)
        self.gram[block, slot] = self.gram[block, :, slot] = products

    def _free_slot(self, block: int) -> int:
        """Return a free slot; if there is none, the plane of the least coefficient goes to the rest."""
        used, coefficients = self.used[block], self.coefficients[block]
        if not used.all():
            return int(np.argmin(used))
        slot = int(coefficients[REST + 1 :].argmin()) + REST + 1
        total = coefficients[REST] + coefficients[slot]
        if coefficients[slot] > 0:
            mix = np.eye(len(used))
            mix[REST, [REST, slot]] = coefficients[[REST, slot]] / total
            self.rest[block] = self.matrix(block, mix[REST])
            self.losses[block] = mix @ self.losses[block]
            self.pairwise[block] = mix @ self.pairwise[block]
            self.gram[block] = mix @ self.gram[block] @ mix.T
        coefficients[[REST, slot]] = total, 0.0
        used[slot] = False
        return slot

    def recenter(self, block: int, anchor: Plane) -> FloatArray:
        """Measure the block from another labeling; return by how much its matrix [V, K] has changed."""
        old, cost = self.anchors[block], self.risk.costs[block]
        shift: FloatArray = cost * difference(anchor, old, self.rest[block].shape)
        image = self.risk.kernel(block, shift)
        products = np.where(self.used[block], self.values(block, image), 0.0)
        both = np.outer(self.used[block], self.used[block])
        self.gram[block] += both * (products + products[:, np.newaxis] + np.vdot(shift, image))
        self.pairwise[block, self.used[block]] += cost * (anchor.pairwise - old.pairwise)
        self.rest[block] = self.rest[block] + shift
        self.anchors[block] = anchor
        return shift

    def improve(
        self, blocks: Sequence[int], gradients: FloatArray, n_steps: int, company: float = 1.0
    ) -> FloatArray:
        """Return better coefficients of the blocks, [B, n_slots], for gradients at the present ones.

        The pairwise part of the weights is taken as if it were not projected, which is a lower bound of the
        dual: a maximum of the bound is no loss. ``company`` is that of ``Dual``.
        """
        batch = list(blocks)
        pairwise = self.pairwise[batch]
        gram = company * (self.gram[batch] + pairwise @ pairwise.transpose(0, 2, 1))
        return exchange(self.coefficients[batch], gradients, gram, self.used[batch], n_steps)


def difference(first: Plane, second: Plane, shape: tuple[int, ...]) -> FloatArray:
    """``onehot(first) - onehot(second)``, [V, K]."""
    matrix = np.zeros(shape)
    flat = matrix.reshape(-1)
    flat[first.cells] += 1
    flat[second.cells] -= 1
    return matrix


def exchange(
    coefficients: FloatArray, gradients: FloatArray, gram: FloatArray, used: BoolArray, n_steps: int
) -> FloatArray:
    """Maximize ``gradients . d - d gram d / 2`` over coefficients + d on the simplex, for each of B problems.

    Each step moves weight from the coefficient of the least gradient to that of the largest (pairwise
    Frank-Wolfe). Arrays are [B, P] and [B, P, P]; coefficients that are not ``used`` stay zero.

    >>> gram = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> exchange(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), gram, np.ones((1, 2), dtype=bool), 5)
    array([[0.5, 0.5]])
    """
    mixed, gradients = coefficients.copy(), np.where(used, gradients, -np.inf)
    rows, first = np.arange(len(mixed)), np.inf
    for _ in range(n_steps):
        up, down = gradients.argmax(axis=1), np.where(mixed > 0, gradients, np.inf).argmin(axis=1)
        slope = gradients[rows, up] - gradients[rows, down]
        first = min(first, float(slope.max()))
        if slope.max() <= 1e-3 * first:
            break
        change = gram[rows, :, up] - gram[rows, :, down]
        curvature = change[rows, up] - change[rows, down]
        step = np.divide(slope, curvature, out=np.full(len(slope), np.inf), where=curvature > 0)
        step = np.minimum(step, mixed[rows, down])
        mixed[rows, down] -= step
        mixed[rows, up] += step
        gradients -= step[:, np.newaxis] * change
    return mixed
