"""Optimizers of a sum of hinges, of which they see no more than ``Risk``."""

from multiutility.learning.optimizers.cutting_plane import CuttingPlane
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe

__all__ = ["CuttingPlane", "FrankWolfe"]
