"""Strokes as a sample of what there is: long ones are drawn where there is much of a label."""

from __future__ import annotations

import numpy as np

from multiutility.annotations import Joint
from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.learning.selection.choice import GUESSED, STEPS, Data
from multiutility.learning.selection.regression import Targets, fit_logistic


def drawn_of(example: Example) -> FloatArray | None:
    """How much is drawn of each label at each node [V, K]; None without strokes whose extents are known.

    >>> from multiutility.annotations.scribbled import Scribbled, Stroke
    >>> from multiutility.learning.examples import make_examples
    >>> from multiutility.problem import LabelingProblem
    >>> problem = LabelingProblem(np.zeros((3, 1)), [], np.zeros((0, 1)))
    >>> strokes = Scribbled([Stroke(0, 1, 0.25), Stroke(2, 0, 0.5)])
    >>> drawn_of(make_examples([problem], [Joint.of([strokes], n_labels=2)])[0])
    array([[0.  , 0.25],
           [0.  , 0.  ],
           [0.5 , 0.  ]])
    """
    annotation = example.annotation
    if not isinstance(annotation, Joint):
        return None
    drawn = np.zeros((example.problem.n_nodes, annotation.n_labels))
    for term in annotation.terms:
        if term.extents is not None:
            for mark, extent in zip(term.marks, term.extents, strict=True):
                drawn[mark.node, mark.label] += extent
    return drawn if drawn.any() else None


def n_drawn(data: Data) -> int:
    """How many examples have strokes."""
    return sum(drawn_of(data.examples[n]) is not None for n in data.weak)


def strokes_model(data: Data, ridge: float, every: bool = True) -> FloatArray | None:
    """Regression on the nodes that are drawn on, each of which counts by how much is drawn there.

    So labels are as frequent as they are drawn, which is about how large they are, and hardly any that are
    rare are favored. None without strokes or, if ``every``, unless every label that is named anywhere has
    some.
    """
    named, shown = np.zeros((2, data.examples[0].annotation.n_labels), dtype=np.bool_)
    parts = []
    for n in data.weak:
        named |= data.clues(n).possible.any(axis=0)
        drawn = drawn_of(data.examples[n])
        if drawn is not None:
            rows = np.flatnonzero(drawn.any(axis=1))
            shown |= drawn.any(axis=0)
            parts.append(Targets(data.features(n)[rows], drawn[rows]))
    if not parts or (every and (named & ~shown).any()):
        return None
    return fit_logistic(parts, ridge, GUESSED, n_steps=STEPS)
