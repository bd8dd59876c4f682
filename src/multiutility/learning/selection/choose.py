"""The choice for the data at hand: posteriors of weak annotations, their weight, and class weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from multiutility.annotations.annotation import Annotation
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import MOST_FULL, Choice, Data, evenly
from multiutility.learning.selection.learned import Learn
from multiutility.learning.selection.masked import masks_alone, mixed
from multiutility.learning.selection.masks import Masks
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
    full = [n for n, one in enumerate(examples) if one.annotation.strong]
    weak = [n for n, one in enumerate(examples) if not one.annotation.strong]
    data = Data(examples, full, weak)
    if weak and len(full) < LEAST_FULL:
        return unproven(data, soft_start, alpha, balance)
    masks = Masks(data, evenly(full, MOST_FULL), learn)
    choice = mixed(masks, rehearsals, soft_start, alpha, balance) if weak else masks_alone(masks, balance)
    return replace(choice, space=lambda: data.space)
