"""Labelings to begin with: boxes filled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multiutility.annotations import Joint
from multiutility.arrays import IndexArray
from multiutility.learning.examples import Example
from multiutility.learning.starts.soft import Soft
from multiutility.learning.starts.start import Beginning


@dataclass(frozen=True)
class Filled:
    """Fill boxes; outside of them, where nothing but tags is known, take the soft labels."""

    def __call__(self, beginning: Beginning) -> list[IndexArray]:
        """Return a labeling of each example."""
        soft = Soft()(beginning)
        return [filled(one, labels) for one, labels in zip(beginning.examples, soft, strict=True)]


def filled(example: Example, labels: IndexArray) -> IndexArray:
    """Return the labels [V], but with boxes filled, the smaller over the larger."""
    annotation, problem = example.annotation, example.problem
    if not isinstance(annotation, Joint):
        return labels
    return np.where(annotation.outside(problem), labels, annotation.start(problem)).astype(np.int32)
