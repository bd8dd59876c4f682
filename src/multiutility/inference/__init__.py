"""Solvers: an energy, constraints and a start in, a labeling out."""

from multiutility.inference.exact import Exact
from multiutility.inference.expansion import Expansion, expansion_moves, min_cut
from multiutility.inference.pinpoint import Pinpoint
from multiutility.inference.reference import Reference
from multiutility.inference.solver import Result, Solver

__all__ = ["Exact", "Expansion", "Pinpoint", "Reference", "Result", "Solver", "expansion_moves", "min_cut"]
