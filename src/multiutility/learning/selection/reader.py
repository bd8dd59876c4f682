"""Reading of weak annotations beside full labelings: opinions of several models, weighed as these teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiutility.annotations.annotation import Annotation
from multiutility.arrays import FloatArray
from multiutility.learning.selection.masks import Masks
from multiutility.learning.selection.reading import Known, Reading, Readings, clues_of
from multiutility.learning.selection.regression import probabilities
from multiutility.learning.selection.sizes import sized
from multiutility.learning.starts.soft import SoftStart


@dataclass(frozen=True, eq=False)
class Opinions:
    """Posteriors of models that do not know full labelings: of weak annotations, and of certain places."""

    soft: SoftStart
    places: FloatArray | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the opinions."""
        return ("weak",) if self.places is None else ("weak", "places")

    def of(self, soft: FloatArray, features: NDArray[np.float32]) -> list[FloatArray]:
        """Return the opinions on an example, given its soft labels [V, K]."""
        return [soft] if self.places is None else [soft, probabilities(features, self.places)]


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads weak annotations: opinions and clues, weighed."""

    masks: Masks
    opinions: Opinions
    readings: Readings

    @classmethod
    def taught(cls, masks: Masks, opinions: Opinions, rehearsals: Sequence[Sequence[Annotation]]) -> Self:
        """Learn how to read from the weak annotations that full labelings would have had."""
        known = rehearsed(masks, rehearsals, opinions)
        return cls(masks, opinions, Reading.default((*masks.names, *opinions.names)).fitted(known))

    def __call__(self, n: int, fold: int | None = None) -> FloatArray:
        """Posterior [V, K] of a weakly annotated example, by full labelings: all, or those of other folds."""
        data = self.masks.data
        features, soft, clues = data.features(n), self.opinions.soft.shares[data.places[n]], data.clues(n)
        known = self.masks.known(data.examples[n].problem, features, fold)
        known += self.opinions.of(soft, features)
        return sized(data.examples[n], self.readings.of(fold)(clues.with_opinions(*known)))


def rehearsed(masks: Masks, rehearsals: Sequence[Sequence[Annotation]], opinions: Opinions) -> list[Known]:
    """Clues of the weak annotations that full labelings would have had, by models that do not know these."""
    found = []
    rows = zip(masks.chosen, masks.targets, masks.truths, masks.folds.tolist(), strict=True)
    for n, targets, truth, fold in rows:
        example = masks.data.examples[n]
        for annotation in rehearsals[n]:
            weak = replace(
                example, annotation=annotation, constraints=annotation.constraints(example.problem)
            )
            soft = opinions.soft.shares_of([weak])[0]
            clues = clues_of(annotation, example.problem)
            known = masks.known(example.problem, targets.features, fold)
            known += opinions.of(soft, targets.features)
            read = clues.with_opinions(*known)
            found.append(Known(read, truth, fold))
    return found
