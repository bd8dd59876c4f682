"""Labelings of graphs, learned from annotations of every kind."""

from importlib.metadata import version

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem

__all__ = ["Constraints", "Energy", "LabelingProblem", "__version__"]

__version__ = version("multiutility")
