"""What to label next: which image, and by which kind of annotation, for the most gain in a minute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from multiutility.arrays import IndexArray
from multiutility.datasets.classes import Kind
from multiutility.problem import LabelingProblem
from multiutility.vision.features.preset import Prepared
from multiutility.vision.predictor import Predictor, local_scores, margins_of, per_size

Action: TypeAlias = Literal["tags", "seeds", "boxes", "mask"]

# Seconds that it takes a person to write one tag, click one point, draw one box, paint one mask.
SECONDS: Mapping[Action, float] = {"tags": 2.0, "seeds": 3.0, "boxes": 10.0, "mask": 240.0}
# What part of the expected error in what they speak of points and boxes take away. A mask takes all of it.
# A box leaves open which of its pixels are the object, a point leaves open how far the object reaches.
REMOVED: Mapping[Action, float] = {"seeds": 0.5, "boxes": 0.8, "mask": 1.0}


@dataclass(frozen=True)
class Patch:
    """A connected part of an image with one predicted label, and one label that is the next best.

    ``area`` is its share of the image, ``doubt`` the mean over it of 1 - score, in 0..1: the probability of
    an error is about half of it, since without a margin both labels are equally likely.
    """

    label: int
    rival: int
    area: float
    doubt: float

    @property
    def p_error(self) -> float:
        """Probability that the rival is right."""
        return self.doubt / 2

    @property
    def error(self) -> float:
        """Share of the image that is expected to be wrong here."""
        return self.area * self.p_error


@dataclass(frozen=True)
class Belief:
    """What a model thinks of an image, in patches."""

    patches: tuple[Patch, ...]

    @classmethod
    def of(cls, predictor: Predictor, prepared: Prepared, labels: IndexArray) -> Self:
        """Return the belief of a model with the labeling [V] that it predicts.

        With the margin m of a node's label over its rival, the score is ``m / (m + typical)``, as in
        ``Predictor.scores``.
        """
        problem, n_labels = prepared.problem, len(predictor.classes)
        if n_labels == 1:
            return cls((Patch(0, 0, 1.0, 0.0),))
        scores = local_scores(problem, predictor.weights, labels, n_labels)
        margin, rivals = margins_of(scores, labels)
        if predictor.preset.preset.weighted:
            margin = per_size(margin, problem)
        doubt = predictor.typical_margin / (margin + predictor.typical_margin)
        return cls(tuple(patches_of(problem, labels, rivals, doubt)))

    @classmethod
    def from_json(cls, data: Iterable[Sequence[float]]) -> Self:
        """Return what ``to_json`` gave."""
        return cls(tuple(Patch(int(y), int(r), float(a), float(d)) for y, r, a, d in data))

    def to_json(self) -> list[list[float]]:
        """Return a list for each patch: label, rival, area and doubt."""
        return [[p.label, p.rival, round(p.area, 6), round(p.doubt, 4)] for p in self.patches]

    def given(self, known: Known) -> Belief:
        """Return what is left to doubt, given what is annotated; the model need not have seen it yet.

        A mask leaves nothing. Tags say exactly which labels there are: where one of label and rival is among
        them and the other is not, there is no doubt. Boxes or seeds of a label take their part of the doubt
        in what has it as label or rival.
        """
        if known.mask:
            return Belief(())
        return Belief(tuple(Patch(p.label, p.rival, p.area, p.doubt * left(p, known)) for p in self.patches))


@dataclass(frozen=True)
class Known:
    """What is annotated of an image: labels by tags, boxes and seeds, and whether there is a mask."""

    tags: frozenset[int] = frozenset()
    boxes: frozenset[int] = frozenset()
    seeds: frozenset[int] = frozenset()
    mask: bool = False

    @property
    def named(self) -> frozenset[int]:
        """All labels that are named in any way."""
        return self.tags | self.boxes | self.seeds


@dataclass(frozen=True)
class Suggestion:
    """Annotate an image in a way: of one label, or of all if ``label`` is None.

    ``gain`` is the share of the image whose error it is expected to mend, ``seconds`` the time it takes, and
    ``confused`` the label and rival that the model doubts most.
    """

    name: str
    action: Action
    label: int | None
    gain: float
    seconds: float
    confused: tuple[int, int]

    @property
    def rate(self) -> float:
        """Gain for each minute."""
        return 60 * self.gain / self.seconds


@dataclass(frozen=True)
class Effort:
    """Assumptions about people and annotations that suggestions are made with."""

    seconds: Mapping[Action, float] = field(default_factory=lambda: SECONDS)
    removed: Mapping[Action, float] = field(default_factory=lambda: REMOVED)


def suggestions(
    beliefs: Mapping[str, Belief],
    known: Mapping[str, Known],
    kinds: Sequence[Kind],
    effort: Effort | None = None,
) -> list[Suggestion]:
    """Return the best thing to annotate of each image that is in doubt, best first.

    ``beliefs`` are by name of the image, ``kinds`` those of the labels. A patch P with label y and rival r is
    wrong with probability ``p``, half of its doubt, and counts for the error ``e = area p``. What is gained:

    - a mask: the sum of all e;
    - boxes or points for all objects of a label k, which is no stuff, and is named for the image, or if it
      has no tags, predicted: a part (0.8, or 0.5) of the e of the patches with y = k or r = k;
    - tags: ``sum_P e (1 - (1 - p) q_P(r) - p q_P(y))``, where ``q_P(k)`` is the probability that k is
      elsewhere in the image. For if only one of y and r is in the image, its tags settle the patch, and if
      both are, they do not help. ``q_P(k)`` is the largest probability of k in any other patch, which is
      1 - p if it is the label there, and p if it is the rival.

    Each is divided by the time it takes: seconds of one annotation, times the number of labels for tags, or
    of objects for boxes and points, as far as the model sees any.

    >>> doubtful = Belief((Patch(label=0, rival=1, area=1.0, doubt=0.2),))
    >>> sure = Belief((Patch(label=0, rival=1, area=1.0, doubt=0.02),))
    >>> best = suggestions({"a": sure, "b": doubtful}, {}, ["stuff", "thing"])
    >>> [(one.name, one.action, one.gain, one.seconds, one.rate) for one in best]
    [('b', 'tags', 0.1, 2.0, 3.0), ('a', 'tags', 0.01, 2.0, 0.3)]
    """
    assumed, nothing = effort or Effort(), Known()
    best = []
    for name, belief in beliefs.items():
        options = list(options_for(name, belief, known.get(name, nothing), kinds, assumed))
        if options:
            best.append(max(options, key=lambda one: one.rate))
    return sorted(best, key=lambda one: (-one.rate, one.name))


def options_for(
    name: str, belief: Belief, known: Known, kinds: Sequence[Kind], effort: Effort
) -> Iterator[Suggestion]:
    """Yield all that may be annotated of an image and gains something."""
    everything = belief.given(known).patches
    patches = [patch for patch in everything if patch.error > 0]
    if not patches:
        return
    labels = {patch.label for patch in belief.patches}

    def option(action: Action, label: int | None, gain: float, count: int, about: list[Patch]) -> Suggestion:
        worst = max(about, key=lambda patch: patch.error)
        confused = (worst.label, worst.rival)
        return Suggestion(name, action, label, gain, count * effort.seconds[action], confused)

    yield option("mask", None, sum(patch.error for patch in patches), 1, patches)
    if not known.tags:
        gain = tag_gain(everything)
        if gain > 0:
            yield option("tags", None, gain, len(labels), patches)
    # Nobody can click on what is not there: only what was named, or without tags what is predicted.
    for label in sorted(known.named if known.tags else labels):
        about = [patch for patch in patches if label in (patch.label, patch.rival)]
        if kinds[label] == "stuff" or not about:
            continue
        n_objects = max(1, sum(patch.label == label for patch in belief.patches))
        error = sum(patch.error for patch in about)
        if label not in known.boxes | known.seeds:
            yield option("seeds", label, effort.removed["seeds"] * error, n_objects, about)
        if label not in known.boxes:
            yield option("boxes", label, effort.removed["boxes"] * error, n_objects, about)


def tag_gain(patches: Sequence[Patch]) -> float:
    """Return the error that tags are expected to mend."""
    gain = 0.0
    for n, patch in enumerate(patches):
        others = [*patches[:n], *patches[n + 1 :]]
        kept = (1 - patch.p_error) * presence(patch.rival, others)
        kept += patch.p_error * presence(patch.label, others)
        gain += patch.error * (1 - kept)
    return gain


def presence(label: int, patches: Iterable[Patch]) -> float:
    """Return the probability that a label is in one of the patches: the largest of them."""
    found = [1 - p.p_error if p.label == label else p.p_error * (p.rival == label) for p in patches]
    return max(found, default=0.0)


def left(patch: Patch, known: Known) -> float:
    """Return the part of a patch's doubt that is left, given what is annotated."""
    if known.tags and (patch.label in known.named) != (patch.rival in known.named):
        return 0.0
    spoken = {patch.label, patch.rival}
    part = 1 - REMOVED["boxes"] if spoken & known.boxes else 1.0
    return min(part, 1 - REMOVED["seeds"] if spoken & known.seeds else 1.0)


def patches_of(
    problem: LabelingProblem, labels: IndexArray, rivals: NDArray[Any], doubt: NDArray[np.float64]
) -> Iterator[Patch]:
    """Yield connected parts of the graph with the same label and rival; the largest error first."""
    first, second = problem.edges.T
    same = (labels[first] == labels[second]) & (rivals[first] == rivals[second])
    n_nodes = problem.n_nodes
    links = coo_array((np.ones(int(same.sum())), (first[same], second[same])), shape=(n_nodes, n_nodes))
    n_patches, owner = connected_components(links, directed=False)
    shares = problem.node_sizes / problem.node_sizes.sum()
    areas = np.bincount(owner, shares, n_patches)
    doubts = np.bincount(owner, shares * doubt, n_patches) / areas
    members = np.zeros(n_patches, dtype=np.intp)
    members[owner] = np.arange(n_nodes)
    for p in np.argsort(-areas * doubts, kind="stable").tolist():
        node = members[p]
        yield Patch(int(labels[node]), int(rivals[node]), float(areas[p]), float(doubts[p]))
