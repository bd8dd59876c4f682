"""Errors that an annotation proves: what a labeling gets wrong for certain, however little is annotated.

One kind is a suspicion only: two seeds of a label in one connected part. Segments have one seed each, but
objects that touch have two. That is so for all labelings that are compared, and those that flood an image
with a label merge many more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from multiutility.annotations import Joint
from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.learning.selection.evidence import draws
from multiutility.learning.selection.reading import possible_labels
from multiutility.problem import LabelingProblem
from multiutility.sizes import Sizes


class Errors(NamedTuple):
    """Of each label [K]: what was missed and could have been, what is wrong and how much has the label.

    Missed are seeds, lines of boxes and tags that do not have the label, and the part by which a label is
    larger or smaller than it can be; wrong are nodes that cannot have it, and parts of a seeded label without
    a seed; merged are seeds in a part that has another already, of ``seeds``.
    """

    missed: FloatArray
    asked: FloatArray
    wrong: FloatArray
    given: FloatArray
    merged: FloatArray
    seeds: FloatArray

    @property
    def rate(self) -> float:
        """Mean over labels of the parts that are missed, wrong and merged.

        A label that is never given is wholly wrong: a labeling with few labels would be right about all else.

        >>> rows = [[1.0, 0.0], [4.0, 2.0], [0.0, 3.0], [9.0, 6.0], [0.0, 1.0], [0.0, 4.0]]
        >>> round(Errors(*np.array(rows)).rate, 4)
        0.1667
        """
        named = self.asked > 0
        if not named.any():
            return 0.0
        pairs = (self.missed, self.asked), (self.wrong, self.given), (self.merged, self.seeds)
        missed, wrong, merged = (np.divide(a, b, out=np.zeros_like(b), where=b > 0) for a, b in pairs)
        wrong[self.given == 0] = 1.0
        return float(np.mean([one[named] for one in (missed, wrong, merged)]))


def rate_of(errors: Sequence[Errors]) -> float:
    """Rate of the errors of all examples together."""
    return Errors(*np.sum(errors, axis=0)).rate


def surely_fewer(first: Sequence[Errors], second: Sequence[Errors]) -> bool:
    """Whether the rate of the second is lower by more than its standard error, by a paired bootstrap."""
    gain = rate_of(first) - rate_of(second) if first else 0.0
    if gain <= 0:
        return False
    pairs = np.array([first, second])
    rates = [[Errors(*np.tensordot(times, one, 1)).rate for one in pairs] for times in draws(len(first))]
    return bool(gain > np.diff(rates, axis=1).std())


def provable_errors(
    problems: Sequence[LabelingProblem],
    annotations: Sequence[Annotation],
    labelings: Sequence[NDArray[np.int_]],
) -> Errors:
    """Add up the provable errors of labelings [V].

    >>> from multiutility.annotations import Tags
    >>> problem = LabelingProblem(np.zeros((4, 1)), [[0, 1], [1, 2], [2, 3]], np.zeros((3, 1)))
    >>> errors = provable_errors([problem], [Tags([0, 1], n_labels=3)], [np.array([0, 0, 0, 2])])
    >>> errors[:4]
    (array([0., 1., 0.]), array([1., 1., 0.]), array([0., 0., 1.]), array([3., 0., 1.]))
    """
    totals = np.zeros((len(Errors._fields), annotations[0].n_labels))
    for problem, annotation, labels in zip(problems, annotations, labelings, strict=True):
        totals += one_example(problem, annotation, labels)
    return Errors(*totals)


def one_example(problem: LabelingProblem, annotation: Annotation, labels: NDArray[np.int_]) -> FloatArray:
    """Errors of one labeling, in the order of ``Errors``."""
    totals = np.zeros((len(Errors._fields), annotation.n_labels))
    missed, asked, wrong, given, merged, seeds = totals
    possible, sizes = possible_labels(annotation, problem), problem.node_sizes
    given += np.bincount(labels, sizes, annotation.n_labels)
    bad = 1.0 - possible[np.arange(len(labels)), labels]
    if isinstance(annotation, Joint):
        # No proof, but what is expected: labels that open tags do not name may be there.
        bad = np.maximum(bad, 1.0 - annotation.chances[labels])
        parts = parts_of(problem, labels)
        bad = np.maximum(bad, unseeded(annotation, labels, parts))
        count_merged(annotation, labels, parts, merged, seeds)
        count_missed(annotation, labels, missed, asked)
        count_sizes(annotation, problem, labels, missed, asked)
    wrong += np.bincount(labels, sizes * bad, annotation.n_labels)
    return totals


def count_missed(annotation: Joint, labels: NDArray[np.int_], missed: FloatArray, asked: FloatArray) -> None:
    """Add tags, seeds and boxes (the part of their lines) that a labeling misses, and how many there are."""
    for label in annotation.partition.tagged:
        missed[label] += float((labels != label).all())
        asked[label] += 1
    for seed in annotation.marks:
        missed[seed.label] += float(labels[seed.node] != seed.label)
        asked[seed.label] += 1
    for box in annotation.boxes:
        hits = labels == box.label
        empty = [box.rows.empty(hits), box.columns.empty(hits)]
        # No proof for lines near the sides of a loose box, but what is expected.
        shares = [float(np.average(one, weights=w)) for one, w in zip(empty, box.line_chances, strict=True)]
        missed[box.label] += float(np.mean(shares))
        asked[box.label] += 1


def count_sizes(
    annotation: Joint,
    problem: LabelingProblem,
    labels: NDArray[np.int_],
    missed: FloatArray,
    asked: FloatArray,
) -> None:
    """Add the parts of labels that are too much, or of what they should have at least and do not."""
    sizes = Sizes(annotation.ranges(problem))
    found, far = (values[0] for values in (sizes.of(labels[np.newaxis]), sizes.distances(labels[np.newaxis])))
    for label, size, low, distance in zip(sizes.labels, found, sizes.low, far, strict=True):
        missed[label] += distance / max(size, low) if distance > 0 else 0.0
        asked[label] += 1


def parts_of(problem: LabelingProblem, labels: NDArray[np.int_]) -> NDArray[np.int_]:
    """Connected part of its label that each node is in, [V]."""
    first, second = problem.edges[labels[problem.edges[:, 0]] == labels[problem.edges[:, 1]]].T
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(len(labels), len(labels)))
    return np.asarray(connected_components(graph, directed=False)[1])


def unseeded(annotation: Joint, labels: NDArray[np.int_], parts: NDArray[np.int_]) -> NDArray[np.bool_]:
    """Nodes [V] of connected parts of seeded labels without a seed: every part would have had one."""
    with_seed = [parts[seed.node] for seed in annotation.seeds if labels[seed.node] == seed.label]
    return np.asarray(np.isin(labels, list(annotation.partition.seeded)) & ~np.isin(parts, with_seed))


def count_merged(
    annotation: Joint,
    labels: NDArray[np.int_],
    parts: NDArray[np.int_],
    merged: FloatArray,
    seeds: FloatArray,
) -> None:
    """Add the seeds of each label, and those whose part has another seed already."""
    seen = set()
    for seed in annotation.seeds:
        seeds[seed.label] += 1
        if labels[seed.node] == seed.label:
            merged[seed.label] += float(parts[seed.node] in seen)
            seen.add(parts[seed.node])
