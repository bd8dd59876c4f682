"""Labelings of graphs, learned from annotations of every kind."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiutility.constraints import Constraints
    from multiutility.energy import Energy
    from multiutility.learning import SSVM, MultiUtilitySSVM, SelfTraining
    from multiutility.problem import LabelingProblem

    __version__: str

__all__ = [
    "SSVM",
    "Constraints",
    "Energy",
    "LabelingProblem",
    "MultiUtilitySSVM",
    "SelfTraining",
    "__version__",
]

# Fetched when they are asked for: NumPy takes a good part of a second to import, scikit-learn seconds, and
# the command line must hear Ctrl-C before.
HOMES = {
    "Constraints": "constraints",
    "Energy": "energy",
    "LabelingProblem": "problem",
    "MultiUtilitySSVM": "learning",
    "SSVM": "learning",
    "SelfTraining": "learning",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("multiutility")
    if name in HOMES:
        return getattr(import_module(f"multiutility.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
