"""Labelings of highest score, by any model: the same for learners and for models at work."""

from __future__ import annotations

from collections.abc import Sequence

from multiutility.arrays import FloatArray, IndexArray
from multiutility.inference import Solver
from multiutility.learning.labeling_risk import AT_ONCE
from multiutility.models import Model
from multiutility.problem import LabelingProblem


def labelings(
    model: Model, problems: Sequence[LabelingProblem], weights: FloatArray, solver: Solver
) -> list[IndexArray]:
    """Return the labelings [V] of highest score; energies of a few problems are in memory at once."""
    found: list[IndexArray] = []
    for first in range(0, len(problems), AT_ONCE):
        some = problems[first : first + AT_ONCE]
        results = solver.minimize_many([model.energy(problem, weights) for problem in some])
        found += [result.labels for result in results]
    return found
