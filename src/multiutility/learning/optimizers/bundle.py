"""Blocks of the dual as convex combinations of planes, in node space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multiutility.array_file import Arrays
from multiutility.arrays import BoolArray, FloatArray, IndexArray, check_range
from multiutility.learning.optimizers.planes import (
    Slots,
    combine_slots,
    exchange,
    slot_of,
    slot_products,
    swapped,
)
from multiutility.learning.optimizers.risk import Plane, Risk
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
        make_room(sum(sizes) * (8 * layout.n_labels + 4 * n_slots) + 8 * n_blocks * n_slots * (n_slots + 8))
        self.coefficients: FloatArray = np.zeros(shape)
        self.losses: FloatArray = np.zeros(shape)
        self.pairwise: FloatArray = np.zeros((*shape, layout.n_pairwise))
        self.gram: FloatArray = np.zeros((*shape, n_slots))
        self.used: BoolArray = np.zeros(shape, dtype=np.bool_)
        self.coefficients[:, REST], self.used[:, REST] = 1.0, True
        self.losses[:, REST] = risk.costs * [anchor.loss for anchor in self.anchors]
        self.rest: list[FloatArray] = [np.zeros((size, layout.n_labels)) for size in sizes]
        self.labels: list[IndexArray] = [np.zeros((n_slots, size), dtype=np.int32) for size in sizes]

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

    def slots(self, block: int) -> Slots:
        """Return the matrices of a block's slots."""
        cost = float(self.risk.costs[block])
        return Slots(self.rest[block], self.labels[block], self.anchors[block].labels, self.used[block], cost)

    def values(self, block: int, nodes: NDArray[Any]) -> FloatArray:
        """Products ``<M, nodes>`` of all slots' matrices with a matrix on the nodes [V, K]: [n_slots]."""
        return slot_products(self.slots(block), nodes)

    def matrix(self, block: int, coefficients: FloatArray, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the combination of the slots' matrices, [V, K]."""
        return combine_slots(self.slots(block), coefficients, dtype)

    def add(self, block: int, plane: Plane) -> None:
        """Give the plane a slot, with coefficient zero, unless it has one."""
        if slot_of(self.slots(block), plane.labels) != REST:
            return
        slot, cost = self._free_slot(block), self.risk.costs[block]
        self.labels[block][slot] = plane.labels
        self.used[block, slot] = True
        self.losses[block, slot] = cost * plane.loss
        self.pairwise[block, slot] = cost * (self.anchors[block].pairwise - plane.pairwise)
        products = cost * self.values(block, self.risk.swap(block, self.anchors[block], plane))
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
        n_labels = self.risk.layout.n_labels
        shift: FloatArray = cost * swapped(anchor.labels, old.labels, n_labels, np.float64)
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
