"""Labelings to begin with: imputed by the model of the full labelings."""

from __future__ import annotations

from dataclasses import dataclass

from multiutility.arrays import IndexArray
from multiutility.learning.starts.start import Beginning, Start, proposed


@dataclass(frozen=True)
class Masks:
    """Impute by the SSVM on the full labelings; without any, begin as ``otherwise`` does, if it is given."""

    otherwise: Start | None = None

    def __call__(self, beginning: Beginning) -> list[IndexArray] | None:
        """Return labelings that agree with the annotations."""
        if not beginning.any_full:
            return None if self.otherwise is None else self.otherwise(beginning)
        imputer = beginning.place.imputer(beginning.examples)
        return imputer.impute(beginning.full_weights(), proposed(beginning.examples)).labelings
