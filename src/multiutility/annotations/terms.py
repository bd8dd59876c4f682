"""All terms of one instance: what they say together about its labels, and about where these may be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np

from multiutility.annotations.box import Box
from multiutility.annotations.boxed import Boxed
from multiutility.annotations.partition import Partition
from multiutility.annotations.seed import Seed
from multiutility.annotations.seeded import Seeded
from multiutility.annotations.term import Home, Mark, Says, Term
from multiutility.arrays import BoolArray, FloatArray, check_range
from multiutility.problem import LabelingProblem


@dataclass(frozen=True, eq=False, repr=False)
class Terms:
    """Terms of one instance, of any kinds; ``Joint`` has their loss, and says what the fields mean."""

    terms: tuple[Term, ...]
    n_labels: int
    other: int | None
    complete: bool | None

    @property
    def tags(self) -> tuple[int, ...]:
        """All tags."""
        return tuple(label for term in self.terms if term.says == "tagged" for label in term.labels)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """All boxes."""
        return tuple(box for term in self.terms if isinstance(term, Boxed) for box in term.boxes)

    @property
    def seeds(self) -> tuple[Seed, ...]:
        """All seeds."""
        return tuple(seed for term in self.terms if isinstance(term, Seeded) for seed in term.seeds)

    @property
    def box_areas(self) -> dict[int, float]:
        """Area of the union of the boxes of each label, where it was told."""
        return {k: a for term in self.terms if isinstance(term, Boxed) for k, a in term.areas.items()}

    @property
    def marks(self) -> list[Mark]:
        """Nodes whose labels are certain: seeds, and marks of other terms."""
        return [mark for term in self.terms for mark in term.marks]

    @property
    def homes(self) -> list[Home]:
        """Where labels are that are nowhere else: boxes, and homes of other terms."""
        return [home for term in self.terms for home in term.homes]

    @cached_property
    def partition(self) -> Partition:
        """What is known about each label."""
        named: dict[Says, list[int]] = {one: [] for one in get_args(Says)}
        for term in self.terms:
            named[term.says] += term.labels
        tags, boxes, seeds, there, opened = named.values()
        complete = self.complete
        if complete is None and any(term.complete for term in self.terms):
            complete = True
        absent = [label for term in self.terms for label in term.absent]
        known = (there, opened if any(term.says == "open" for term in self.terms) else None, absent)
        return Partition.of(tags, boxes, seeds, self.n_labels, self.other, complete, *known)

    @property
    def parts(self) -> dict[int, float]:
        """Sizes of labels that terms know, as parts of the size of all nodes."""
        return {label: part for term in self.terms for label, part in term.parts.items()}

    @property
    def open(self) -> bool:
        """Whether labels may be there that tags do not name."""
        return any(term.says == "open" for term in self.terms) and bool(self.partition.unknown)

    @property
    def chances(self) -> FloatArray:
        """How likely each label is there, [K]: 1 if it is named, or nobody knows; 0 if it is absent."""
        chances = np.ones(self.n_labels)
        chances[list(self.partition.absent)] = 0.0
        unknown = list(self.partition.unknown)
        for term in self.terms:
            if term.chances is not None:
                chances[unknown] = term.chances[unknown]
        return chances

    def outside(self, problem: LabelingProblem) -> BoolArray:
        """Nodes of no box, V_0, bool [V]."""
        outside = np.ones(problem.n_nodes, dtype=np.bool_)
        for term in self.terms:
            for h, home in enumerate(term.homes):
                check_range(home.nodes, f"{term.name}[{h}].nodes", problem.n_nodes, "nodes")
                outside[home.nodes] = False
        return outside

    def housed(self, problem: LabelingProblem) -> FloatArray:
        """How likely each node can have each label for its homes [V, K]; 0 where there are none."""
        housed = np.zeros((problem.n_nodes, self.n_labels))
        for home in self.homes:
            housed[home.nodes, home.label] = np.maximum(housed[home.nodes, home.label], home.reached)
        return housed

    def reach(self, problem: LabelingProblem) -> FloatArray:
        """How likely each node can have each label [V, K]: less than 1 near the sides of loose boxes."""
        reach = self.housed(problem)
        return np.where(reach > 0, reach, 1.0)

    def possible(self, problem: LabelingProblem) -> BoolArray:
        """Labels that some of each node may have, bool [V, K]: a seed tells of its own place only."""
        for term in self.terms:
            nodes = np.array([mark.node for mark in term.marks])
            check_range(nodes, f"nodes of {term.name}", problem.n_nodes, "nodes")
        possible = np.zeros((problem.n_nodes, self.n_labels), dtype=np.bool_)
        possible[:, self.partition.anywhere] = True
        if self.outside(problem).any() and not self.partition.anywhere:
            raise ValueError("no label is left for the nodes outside the boxes: add tags")
        for home in self.homes:
            possible[home.nodes, home.label] = True
        return possible

    def allowed(self, problem: LabelingProblem) -> BoolArray:
        """Labels that each node may have in consistent labelings, bool [V, K]: marks have theirs only."""
        allowed = self.possible(problem)
        for mark in self.marks:
            allowed[mark.node] = np.arange(self.n_labels) == mark.label
        return allowed
