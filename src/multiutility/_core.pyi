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
def drained(surface: NDArray[np.float32]) -> NDArray[np.int32]: ...
def connected(regions: NDArray[np.int32], min_size: int) -> NDArray[np.int32]: ...
def merge_regions(
    regions: NDArray[np.int32], boundary: NDArray[np.float32], n_regions: int, size_power: float
) -> NDArray[np.int32]: ...
def borders(
    regions: NDArray[np.int32], n_regions: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]: ...
def cell_weights(
    regions: NDArray[np.int32],
    n_regions: int,
    down: NDArray[np.int32],
    down_weights: NDArray[np.float32],
    across: NDArray[np.int32],
    across_weights: NDArray[np.float32],
    n_rows: int,
    n_columns: int,
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]: ...
def largest_change(
    across: NDArray[np.float32], down: NDArray[np.float32], factor: float
) -> NDArray[np.float32]: ...
def label_sums(matrix: NDArray[Any], labels: NDArray[np.int32]) -> NDArray[np.float64]: ...
def slot_products(slots: tuple[Any, ...], matrix: NDArray[Any]) -> NDArray[np.float64]: ...
def combine_slots(
    slots: tuple[Any, ...], coefficients: NDArray[np.float64], total: float, matrix: NDArray[Any]
) -> None: ...
def slot_of(slots: tuple[Any, ...], labels: NDArray[np.int32]) -> int: ...
def exchange(
    mixed: NDArray[np.float64],
    gradients: NDArray[np.float64],
    gram: NDArray[np.float64],
    used: NDArray[np.bool_],
    n_steps: int,
) -> None: ...
def ascend_parabola(
    slopes: NDArray[np.float64], gram: NDArray[np.float64], n_rounds: int
) -> NDArray[np.float64]: ...
