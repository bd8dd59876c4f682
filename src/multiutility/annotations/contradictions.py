"""Annotations that cannot be: what is out of range, and marks that contradict each other or the boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multiutility.arrays import check_range, check_values, index_array

if TYPE_CHECKING:
    from multiutility.annotations.joint import Joint


def check_consistency(joint: Joint) -> None:
    """Raise if a label is out of range, nothing is annotated, or marks contradict each other or the boxes."""
    for term in joint.terms:
        term.check(joint.n_labels)
    other = [] if joint.other is None else [joint.other]
    check_range(index_array(other, "other"), "other", joint.n_labels, "labels")
    if not any(len(term.labels) for term in joint.terms):
        raise ValueError("no tags, boxes or seeds: leave out instances without an annotation")
    for name, sizes in (("areas", joint.areas), ("shares", joint.shares)):
        check_range(index_array(list(sizes), name), name, joint.n_labels, "labels")
        check_values(
            np.array(list(sizes.values()), dtype=np.float64), f"{name}.values()", "sizes", minimum=0.0
        )
    if 0 in joint.shares.values():
        raise ValueError("shares must be > 0: leave out labels whose share is not known")
    for term in joint.terms:
        for other_term in joint.terms:
            both = sorted(set(term.absent).intersection(other_term.labels))
            if both:
                what = f"{term.name} say that label {both[0]} is not there, but {other_term.name} name it"
                raise ValueError(f"{what}: remove one of both")
    check_marks(joint)


def check_marks(joint: Joint) -> None:
    """Raise if a mark is outside all homes of its label, or in the node of a mark of another label."""
    homes: dict[int, set[int]] = {}
    for home in joint.homes:
        homes.setdefault(home.label, set()).update(home.nodes.tolist())
    labels: dict[int, int] = {}
    for term in joint.terms:
        for m, mark in enumerate(term.marks):
            place = f"{term.name}[{m}] is in node {mark.node}"
            if mark.node not in homes.get(mark.label, (mark.node,)):
                raise ValueError(f"{place}: outside all boxes of its label, {mark.label}")
            if labels.setdefault(mark.node, mark.label) != mark.label:
                both = f"{labels[mark.node]} and {mark.label}"
                raise ValueError(f"{place}, which has {term.name} of two labels: {both}")
