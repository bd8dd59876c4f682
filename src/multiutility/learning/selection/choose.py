"""The choice for the data at hand: posteriors of weak annotations, their weight, and class weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from multiutility.annotations.annotation import Annotation
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import MOST_FULL, MOST_WEAK, Choice, Data, evenly
from multiutility.learning.selection.learned import Learn
from multiutility.learning.selection.masked import masks_alone, mixed
from multiutility.learning.selection.masks import Masks
from multiutility.learning.selection.names import idle_names, names_help
from multiutility.learning.selection.unmasked import unproven
from multiutility.learning.starts.openness import expecting_all, opened
from multiutility.learning.starts.soft import SoftStart

# Full labelings that can judge, at least: of two, each would be judged by a model of the other alone. Fewer
# only help to guess.
LEAST_FULL = 3


def choose(
    examples: Sequence[Example],
    rehearsals: Sequence[Sequence[Annotation]],
    soft_start: Callable[[Sequence[Example]], SoftStart],
    alpha: float | None = None,
    balance: float | None = None,
    learn: Learn | None = None,
) -> Choice:
    """Choose posteriors of weak annotations, their weight alpha and the power of class weights.

    ``rehearsals`` are, for each example with a full labeling, weak annotations that it would have had. An
    ``alpha`` or ``balance`` that is given is kept. With ``learn``, weak annotations are read by the learner's
    opinion, too.
    """
    examples = opened(examples)
    rehearsals = [expecting_all(some, examples) for some in rehearsals]
    data = data_of(examples)
    if not data.weak:
        return masks_alone(Masks(data, evenly(data.full, MOST_FULL), learn), balance)
    way = Way(soft_start, alpha, balance, learn)
    idle = idle_names(data, partial(way.names_tell, data, rehearsals))
    return leaving_out(examples, rehearsals, idle, way) if idle else way(data, rehearsals)


def data_of(examples: Sequence[Example]) -> Data:
    """Return examples with full labelings and others, by number."""
    full = [n for n, one in enumerate(examples) if one.annotation.strong]
    return Data(examples, full, [n for n, one in enumerate(examples) if not one.annotation.strong])


@dataclass(frozen=True)
class Way:
    """How to choose where there are weak annotations: what is given, and what it takes."""

    soft_start: Callable[[Sequence[Example]], SoftStart]
    alpha: float | None
    balance: float | None
    learn: Learn | None

    def __call__(self, data: Data, rehearsals: Sequence[Sequence[Annotation]]) -> Choice:
        """Full labelings decide if there are enough of them, and provable errors otherwise."""
        if len(data.full) < LEAST_FULL:
            return unproven(data, self.soft_start, self.alpha, self.balance)
        masks = Masks(data, evenly(data.full, MOST_FULL), self.learn)
        return mixed(masks, rehearsals, self.soft_start, self.alpha, self.balance)

    def names_tell(
        self,
        data: Data,
        rehearsals: Sequence[Sequence[Annotation]],
        placed: Sequence[int],
        idle: Sequence[int],
    ) -> bool:
        """Whether examples with names only tell something: beside full labelings alone, or beside places.

        If there are few of them, full labelings teach how to read them as they do with the others.
        """
        if len(data.full) < LEAST_FULL:
            return names_help(data, self.soft_start, placed, idle)
        if len(idle) <= len(placed):
            return True
        some = [*data.full, *evenly(idle, 4 * MOST_WEAK)]
        chosen = replace(self, alpha=None)(
            data_of([data.examples[n] for n in some]), [rehearsals[n] for n in some]
        )
        return chosen.alpha > 0


def leaving_out(
    examples: Sequence[Example],
    rehearsals: Sequence[Sequence[Annotation]],
    idle: Sequence[int],
    way: Way,
) -> Choice:
    """Choose as if some examples were not there; nothing is said of these."""
    left_out = frozenset(idle)
    kept = [n for n in range(len(examples)) if n not in left_out]
    choice = way(data_of([examples[n] for n in kept]), [rehearsals[n] for n in kept])
    read = dict(zip(kept, choice.posteriors, strict=True))
    posteriors = [read.get(n) for n in range(len(examples))]
    facts = {**choice.facts, "left_out": len(left_out)}
    return replace(choice, posteriors=posteriors, facts=facts, left_out=left_out)
