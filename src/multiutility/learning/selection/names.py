"""Examples that name labels only, beside some that say more: whether these names tell where labels are.

Where examples differ in what they name, soft labels learned from names alone find most of it, and places in
a few examples add little. Where all name nearly the same, names find nothing: what is learned from the few is
better without the others, whose labels would be mere guesses. No rule tells one from the other, but masks and
places do: those that are held out judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from multiutility.identifiability import Bag, unidentified
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import MOST_WEAK, Data, evenly, truth_of
from multiutility.learning.selection.provable import Errors, provable_errors, surely_fewer
from multiutility.learning.selection.regression import probabilities
from multiutility.learning.selection.sample import sampled
from multiutility.learning.starts.soft import SoftStart
from multiutility.problem import LabelingProblem

# Labels [V] of the nodes of a problem.
Labeler: TypeAlias = Callable[[LabelingProblem], NDArray[np.int_]]
# Whether examples with names only tell something beside those with places; both by number.
Tell: TypeAlias = Callable[[Sequence[int], Sequence[int]], bool]

# How many examples with places make one with names only not worth the time that it takes to judge it.
NEGLIGIBLE = 10


def idle_names(data: Data, tell: Tell) -> list[int]:
    """Return examples with names only that are better left out, as others say more and names do not tell.

    An example that names a label which those others and full labelings do not have is no such.
    """
    placed = [n for n in data.weak if says_more(data, n)]
    if not placed or len(placed) == len(data.weak):
        return []
    known = np.any([*(named(data, n) for n in placed), *(shown(data, n) for n in data.full)], axis=0)
    idle = [n for n in data.weak if n not in set(placed) and not (named(data, n) & ~known).any()]
    return idle if idle and not tell(placed, idle) else []


def says_more(data: Data, n: int) -> bool:
    """Whether an example says more than which labels it has: where they are, or how large."""
    return data.clues(n).placed or len(data.examples[n].constraints.sizes) > 0


def interchangeable(data: Data) -> bool:
    """Whether most labels could be exchanged for others if nothing but the names in examples was known."""
    names = [np.flatnonzero(named(data, n)).tolist() for n in data.weak]
    groups = unidentified([Bag(frozenset(one)) for one in names], data.examples[0].annotation.n_labels)
    return 2 * sum(len(group.labels) for group in groups) > len(set().union(*names))


def named(data: Data, n: int) -> NDArray[np.bool_]:
    """Which labels [K] an example may have."""
    return np.asarray(data.clues(n).possible.any(axis=0))


def shown(data: Data, n: int) -> NDArray[np.bool_]:
    """Which labels [K] a full labeling has."""
    return np.asarray(truth_of(data.examples[n]).any(axis=0))


def names_help(
    data: Data,
    soft_start: Callable[[Sequence[Example]], SoftStart],
    placed: Sequence[int],
    idle: Sequence[int],
) -> bool:
    """Whether names tell something beside places, by the errors that places prove.

    Half of the ``placed`` examples judge what is learned from the other half. If most examples have names
    only, what is learned from these must surely have fewer errors: they would outvote the others. If few
    have, what is learned from them and the half must not surely have more. Some of very many will do; so few
    that they hardly matter are not judged. A single example with places cannot judge: then names help if
    most labels could not be exchanged for others as far as they say.
    """
    if len(placed) == 1:
        return not interchangeable(data)
    if len(idle) * NEGLIGIBLE <= len(placed):
        return True
    if len(idle) > len(placed):
        by_names = labeler(soft_start([data.examples[n] for n in evenly(idle, 4 * MOST_WEAK)]), data)
        return surely_fewer(*halves_errors(data, soft_start, placed, lambda _: by_names))
    judges = evenly(placed, 2 * MOST_WEAK)
    few = evenly(idle, math.ceil(len(idle) * len(judges) / len(placed)))

    def by_both(half: Sequence[int]) -> Labeler:
        return labeler(soft_start([data.examples[n] for n in (*data.full, *half, *few)]), data)

    by_places, with_names = halves_errors(data, soft_start, judges, by_both)
    return not surely_fewer(with_names, by_places)


def halves_errors(
    data: Data,
    soft_start: Callable[[Sequence[Example]], SoftStart],
    placed: Sequence[int],
    other: Callable[[Sequence[int]], Labeler],
) -> tuple[list[Errors], list[Errors]]:
    """Errors that each half of the examples proves of what is learned from the other half, in two ways."""
    errors: tuple[list[Errors], list[Errors]] = ([], [])
    for turn in (0, 1):
        half = placed[turn::2]
        labelers = placed_labeler(data, half, soft_start), other(half)
        for n in placed[1 - turn :: 2]:
            problem = data.examples[n].problem
            for found, label in zip(errors, labelers, strict=True):
                found.append(provable_errors([problem], [data.annotation(n)], [label(problem)]))
    return errors


def placed_labeler(
    data: Data, placed: Sequence[int], soft_start: Callable[[Sequence[Example]], SoftStart]
) -> Labeler:
    """What is learned from some examples with places: by a sample if they are one, or by soft labels."""
    half = data.of_weak(placed)
    sample = sampled(half, every=False)
    if sample is not None:
        return lambda problem: probabilities(data.space(problem), sample.model).argmax(axis=1)
    return labeler(soft_start([data.examples[n] for n in (*data.full, *placed)]), data)


def labeler(start: SoftStart, data: Data) -> Labeler:
    """Likeliest labels by the regression of soft labels, whatever is annotated."""
    n_labels, n_features = data.annotation(0).n_labels, data.examples[0].problem.n_features
    rows = start.weights[: n_labels * n_features].reshape(n_labels, n_features)

    def label(problem: LabelingProblem) -> NDArray[np.int_]:
        scores = problem.node_features @ rows.astype(problem.feature_dtype).T
        return np.asarray(scores.argmax(axis=1))

    return label
