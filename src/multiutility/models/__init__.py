"""Models: what is learned, as features of labelings and energies for weights."""

from multiutility.models.model import Model
from multiutility.models.potts import Potts

__all__ = ["Model", "Potts"]
