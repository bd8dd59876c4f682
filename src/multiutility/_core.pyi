from typing import Any

import numpy as np
from numpy.typing import NDArray

def minimize_many(
    problems: list[tuple[Any, ...]], passes: int, effort: float, bound: bool, n_threads: int, seconds: float
) -> list[tuple[NDArray[np.int32], float, float, int, int, bool]]: ...
def expansion_moves(
    problem: tuple[Any, ...], order: list[int]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def min_cut(
    terminals: NDArray[np.float64], edges: NDArray[np.int32], capacities: NDArray[np.float64]
) -> tuple[float, NDArray[np.uint8]]: ...
