"""What to label next: which image, and by which kind of annotation, for the most gain in a minute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from multiutility.arrays import IndexArray
from multiutility.datasets.classes import Kind
from multiutility.kinds import BY_DETAIL, KINDS
from multiutility.kinds import Kind as AnnotationKind
from multiutility.kinds.mask import MASK
from multiutility.kinds.tags import TAGS
from multiutility.learning.prediction import local_scores
from multiutility.problem import LabelingProblem
from multiutility.vision.features.preset import Prepared
from multiutility.vision.novelty import Novelty, Place, place_of
from multiutility.vision.predictor import Predictor, margins_of, per_size

# The name of a kind of annotation.
Action: TypeAlias = str

# Seconds that it takes a person to write one tag, click one point, draw one box, paint one mask.
SECONDS: Mapping[Action, float] = {kind.name: kind.seconds.each for kind in KINDS}
# What part of the expected error in what they speak of points and boxes take away. A mask takes all of it.
REMOVED: Mapping[Action, float] = {kind.name: kind.mended for kind in KINDS}
# How much kinds say of where things are: images are compared with those that have as much, or more.
LEVELS: Mapping[Action, int] = {kind.name: kind.level for kind in KINDS}
# Those that are drawn one by one, from the one that says least.
MARKS = tuple(kind for kind in reversed(BY_DETAIL) if kind.placed and kind is not MASK)


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
    """What a model thinks of an image, in patches, and what the image looks like, see ``place_of``."""

    patches: tuple[Patch, ...]
    place: Place = ()

    @classmethod
    def of(cls, predictor: Predictor, prepared: Prepared, labels: IndexArray) -> Self:
        """Return the belief of a model with the labeling [V] that it predicts.

        With the margin m of a node's label over its rival, the score is ``m / (m + typical)``, as in
        ``Predictor.scores``.
        """
        problem, n_labels = prepared.problem, len(predictor.classes)
        weighted = predictor.preset.preset.weighted
        place = place_of(problem, weighted)
        if n_labels == 1:
            return cls((Patch(0, 0, 1.0, 0.0),), place)
        margin, rivals = margins_of(local_scores(predictor.energy(prepared), labels), labels)
        if weighted:
            margin = per_size(margin, problem)
        doubt = predictor.typical_margin / (margin + predictor.typical_margin)
        return cls(tuple(patches_of(problem, labels, rivals, doubt)), place)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what ``to_json`` gave."""
        patches = (Patch(int(y), int(r), float(a), float(d)) for y, r, a, d in data["patches"])
        return cls(tuple(patches), tuple(map(float, data["place"])))

    def to_json(self) -> dict[str, Any]:
        """Return a list for each patch, with label, rival, area and doubt, and the place."""
        patches = [[p.label, p.rival, round(p.area, 6), round(p.doubt, 4)] for p in self.patches]
        return {"patches": patches, "place": [round(value, 5) for value in self.place]}

    def given(self, known: Known) -> Belief:
        """Return what is left to doubt, given what is annotated; the model need not have seen it yet.

        A mask leaves nothing. Tags say exactly which labels there are: where one of label and rival is among
        them and the other is not, there is no doubt. Open tags leave none where they say that one of the two
        is not there. Boxes or seeds of a label take their part of the doubt
        in what has it as label or rival.
        """
        if known.mask:
            return Belief((), self.place)
        doubts = (Patch(p.label, p.rival, p.area, p.doubt * left(p, known)) for p in self.patches)
        return Belief(tuple(doubts), self.place)


@dataclass(frozen=True, init=False)
class Known:
    """What is annotated of an image: labels by kind, such as ``boxes={3}``, and whether there is a mask.

    Tags are complete unless they are ``opened``; ``absent`` are labels that these say are not there.
    """

    labels: Mapping[str, frozenset[int]]
    mask: bool
    opened: bool
    absent: frozenset[int]

    def __init__(
        self,
        *,
        mask: bool = False,
        opened: bool = False,
        absent: Collection[int] = (),
        **labels: Collection[int],
    ) -> None:
        unknown = [name for name in labels if name not in SECONDS]
        if unknown:
            raise TypeError(f"there are no annotations {unknown[0]!r}: expected {', '.join(SECONDS)}")
        named = {name: frozenset(some) for name, some in labels.items()}
        object.__setattr__(self, "labels", named)
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "opened", opened)
        object.__setattr__(self, "absent", frozenset(absent))

    def by(self, *kinds: AnnotationKind) -> frozenset[int]:
        """Labels that these kinds name."""
        return frozenset().union(*(self.labels.get(kind.name, ()) for kind in kinds))

    @property
    def named(self) -> frozenset[int]:
        """All labels that are named in any way."""
        return self.by(*KINDS)

    @property
    def complete(self) -> bool:
        """Whether tags name all labels that are there."""
        return bool(self.by(TAGS)) and not self.opened

    @property
    def level(self) -> int | None:
        """How much is said of where things are, see ``LEVELS``; None without any annotation."""
        there = [kind.level for kind in KINDS if self.by(kind) or (kind is MASK and self.mask)]
        return max(there, default=None)


@dataclass(frozen=True)
class Suggestion:
    """Annotate an image in a way: of one label, or of all if ``label`` is None.

    ``gain`` is the share of the image whose error it is expected to mend, ``seconds`` the time it takes,
    ``confused`` the label and rival that the model doubts most, and ``novelty`` in 0..1 how much the image
    differs from those that are annotated or suggested already.
    """

    name: str
    action: Action
    label: int | None
    gain: float
    seconds: float
    confused: tuple[int, int]
    novelty: float = 1.0

    @property
    def rate(self) -> float:
        """Gain for each minute."""
        return 60 * self.gain / self.seconds

    @property
    def worth(self) -> float:
        """Gain for each minute, times novelty: what is like the rest teaches little about other images."""
        return self.rate * self.novelty


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
    count: int | None = None,
) -> list[Suggestion]:
    """Return the best thing to annotate of each image that is in doubt, best first; at most ``count``.

    ``beliefs`` are by name of the image, ``kinds`` those of the labels. A patch P with label y and rival r is
    wrong with probability ``p``, half of its doubt, and counts for the error ``e = area p``. What is gained:

    - a mask: the sum of all e;
    - boxes or points for all objects of a label k, which is no stuff, and is named for the image: a part
      (0.8, or 0.5) of the e of the patches with y = k or r = k;
    - tags: ``sum_P e (1 - (1 - p) q_P(r) - p q_P(y))``, where ``q_P(k)`` is the probability that k is
      elsewhere in the image. For if only one of y and r is in the image, its tags settle the patch, and if
      both are, they do not help. ``q_P(k)`` is the largest probability of k in any other patch, which is
      1 - p if it is the label there, and p if it is the rival.

    Each is divided by the time it takes: seconds of one annotation, times the number of objects that the
    model sees for boxes and points, or of labels for tags. These are as many as annotated images have on
    average, if there are any: what a young model sees in an image is no guide to it. That is what the image
    itself gains; what others gain from it is the more, the less it is like those that have such annotations,
    or are suggested before it: the one with the largest rate times novelty comes next, see ``Novelty``.

    >>> doubtful = Belief((Patch(label=0, rival=1, area=1.0, doubt=0.2),))
    >>> sure = Belief((Patch(label=0, rival=1, area=1.0, doubt=0.02),))
    >>> best = suggestions({"a": sure, "b": doubtful}, {}, ["stuff", "thing"])
    >>> [(one.name, one.action, one.gain, one.seconds, one.rate) for one in best]
    [('b', 'tags', 0.1, 2.0, 3.0), ('a', 'tags', 0.01, 2.0, 0.3)]
    """
    assumed, nothing = effort or Effort(), Known()
    # By name, so that of equals the first comes first.
    names = sorted(beliefs)
    named = [len(one.named) for one in known.values() if one.named]
    usual = float(np.mean(named)) if named else None
    novelty = Novelty({name: beliefs[name].place for name in names}, len(set(LEVELS.values())))
    options: list[Suggestion] = []
    rows: list[int] = []
    for row, name in enumerate(names):
        here = known.get(name, nothing)
        found = list(options_for(name, beliefs[name], here, kinds, assumed, usual))
        options += found
        rows += [row] * len(found)
        if here.level is not None:
            novelty.take(name, here.level)
    return list(islice(in_turn(options, np.array(rows, dtype=np.intp), novelty), count))


def in_turn(options: list[Suggestion], rows: NDArray[np.intp], novelty: Novelty) -> Iterator[Suggestion]:
    """Yield the best option, take its image, and so on until no image is left."""
    rates = np.array([one.rate for one in options])
    levels = np.array([LEVELS[one.action] for one in options], dtype=np.intp)
    open_ = np.ones(len(options), dtype=np.bool_)
    while open_.any():
        news = novelty.of(rows, levels)
        best = int(np.argmax(np.where(open_, rates * news, -1.0)))
        yield replace(options[best], novelty=float(news[best]))
        novelty.take(options[best].name, int(levels[best]))
        open_ &= rows != rows[best]


def options_for(
    name: str, belief: Belief, known: Known, kinds: Sequence[Kind], effort: Effort, n_tags: float | None
) -> Iterator[Suggestion]:
    """Yield all that may be annotated of an image and gains something; ``n_tags`` are usual, if known."""
    everything = belief.given(known).patches
    patches = [patch for patch in everything if patch.error > 0]
    if not patches:
        return
    labels = {patch.label for patch in belief.patches}

    def option(
        action: Action, label: int | None, gain: float, count: float, about: list[Patch]
    ) -> Suggestion:
        worst = max(about, key=lambda patch: patch.error)
        confused = (worst.label, worst.rival)
        return Suggestion(name, action, label, gain, count * effort.seconds[action], confused)

    yield option(MASK.name, None, sum(patch.error for patch in patches), 1, patches)
    if not known.complete:
        gain = tag_gain(everything)
        if gain > 0:
            yield option(TAGS.name, None, gain, n_tags or len(labels), patches)
    # Nobody can click on what is not there: first tags tell what is, and what is not.
    for label in sorted(known.named):
        about = [patch for patch in patches if label in (patch.label, patch.rival)]
        if kinds[label] == "stuff" or not about:
            continue
        n_objects = max(1, sum(patch.label == label for patch in belief.patches))
        error = sum(patch.error for patch in about)
        for n, kind in enumerate(MARKS):
            # Nothing is gained from a kind that says less than what is there.
            if label not in known.by(*MARKS[n:]):
                yield option(kind.name, label, effort.removed[kind.name] * error, n_objects, about)


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
    both = patch.label, patch.rival
    if known.complete and (patch.label in known.named) != (patch.rival in known.named):
        return 0.0
    if any(label in known.absent for label in both):
        return 0.0
    return min((1 - kind.mended for kind in MARKS if known.by(kind).intersection(both)), default=1.0)


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
