"""Learning: from annotated problems to weights."""

from multiutility.learning.estimators import SSVM, MultiUtilitySSVM, SelfTraining
from multiutility.learning.optimizers.cutting_plane import CuttingPlane
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe

__all__ = ["SSVM", "CuttingPlane", "FrankWolfe", "MultiUtilitySSVM", "SelfTraining"]
