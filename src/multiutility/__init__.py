"""Labelings of graphs, learned from annotations of every kind."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.problem import LabelingProblem

if TYPE_CHECKING:
    from multiutility.learning import SSVM, MultiUtilitySSVM, SelfTraining

__all__ = [
    "SSVM",
    "Constraints",
    "Energy",
    "LabelingProblem",
    "MultiUtilitySSVM",
    "SelfTraining",
    "__version__",
]

__version__ = version("multiutility")


def __getattr__(name: str) -> Any:
    # The estimators pull in scikit-learn, which takes seconds to import, so they are fetched when asked for.
    if name in ("SSVM", "MultiUtilitySSVM", "SelfTraining"):
        return getattr(import_module("multiutility.learning"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
