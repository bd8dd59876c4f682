"""Learning: from annotated problems to weights."""

from multiutility.learning.multi_utility import MultiUtilitySSVM
from multiutility.learning.optimizers.cutting_plane import CuttingPlane
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.self_training import SelfTraining
from multiutility.learning.ssvm import SSVM

__all__ = ["SSVM", "CuttingPlane", "FrankWolfe", "MultiUtilitySSVM", "SelfTraining"]
