"""Known sizes as evidence: posteriors are moved until labels are as large as they are said to be."""

from __future__ import annotations

import numpy as np

from multiutility.arrays import FloatArray
from multiutility.learning.examples import Example
from multiutility.learning.starts.known_sizes import within_sizes


def sized(example: Example, posterior: FloatArray) -> FloatArray:
    """Posterior [V, K] with the sizes that the annotation knows; the same if it knows none."""
    sizes = example.constraints.sizes
    if not len(sizes):
        return posterior
    with np.errstate(divide="ignore"):
        return within_sizes(np.log(posterior), sizes)
