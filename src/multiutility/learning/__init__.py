"""Learning: from annotated problems to weights."""

from multiutility.learning.estimators import SSVM, MultiUtilitySSVM, SelfTraining
from multiutility.learning.optimizers import CuttingPlane, FrankWolfe

__all__ = ["SSVM", "CuttingPlane", "FrankWolfe", "MultiUtilitySSVM", "SelfTraining"]
