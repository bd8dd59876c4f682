from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multiutility.problem import LabelingProblem

FEATURES = [[0.5, 1.0], [2.0, -1.0], [0.0, 0.0]]
EDGES = [[0, 1], [2, 1]]
SIMILARITIES = [[0.5], [0.25]]


def test_values_and_sizes() -> None:
    problem = LabelingProblem(FEATURES, EDGES, SIMILARITIES, [4, 5, 6])
    assert (problem.n_nodes, problem.n_edges) == (3, 2)
    assert problem.node_features.tolist() == FEATURES
    assert problem.edges.tolist() == EDGES
    assert problem.edge_features.tolist() == SIMILARITIES
    assert problem.node_sizes.tolist() == [4.0, 5.0, 6.0]
    assert LabelingProblem(FEATURES, EDGES, SIMILARITIES).node_sizes.tolist() == [1.0, 1.0, 1.0]


def test_no_nodes_no_edges() -> None:
    problem = LabelingProblem(np.zeros((0, 7)), [], np.zeros((0, 2)))
    assert (problem.n_nodes, problem.n_edges) == (0, 0)
    assert problem.edges.shape == (0, 2)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("float32", "float32"), ("float64", "float64"), ("float16", "float64"), ("int64", "float64")],
)
def test_dtypes(given: str, kept: str) -> None:
    features, similarities = np.ones((3, 2), dtype=given), np.ones((2, 1), dtype=given)
    problem = LabelingProblem(features, EDGES, similarities)
    assert (problem.node_features.dtype.name, problem.edge_features.dtype.name) == (kept, kept)
    assert (problem.edges.dtype.name, problem.node_sizes.dtype.name) == ("int32", "float64")


def test_writeable_arrays_are_copied() -> None:
    features, similarities, sizes = np.array(FEATURES), np.array(SIMILARITIES), np.ones(3)
    problem = LabelingProblem(features, EDGES, similarities, sizes)
    for array in (features, similarities, sizes):
        assert array.flags.writeable
        array[...] = 9
    assert problem.node_features.tolist() == FEATURES
    assert problem.edge_features.tolist() == SIMILARITIES
    assert problem.node_sizes.tolist() == [1.0, 1.0, 1.0]
    for array in (problem.node_features, problem.edges, problem.edge_features, problem.node_sizes):
        assert not array.flags.writeable
    for name in ("node_features", "edges", "edge_features", "node_sizes"):
        with pytest.raises(AttributeError):
            setattr(problem, name, getattr(problem, name))


def test_read_only_arrays_are_shared() -> None:
    features = np.ones((3, 2), dtype=np.float32)
    features.flags.writeable = False
    assert np.shares_memory(LabelingProblem(features, EDGES, SIMILARITIES).node_features, features)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_memory_mapped_features_are_shared(tmp_path: Path, mode: Any) -> None:
    np.save(tmp_path / "features.npy", np.array(FEATURES, dtype=np.float32))
    mapped = np.load(tmp_path / "features.npy", mmap_mode=mode)
    problem = LabelingProblem(mapped, EDGES, SIMILARITIES)
    assert np.shares_memory(problem.node_features, mapped)
    assert not problem.node_features.flags.writeable
    assert mapped.flags.writeable == (mode != "r")


def test_pickle() -> None:
    problem = pickle.loads(pickle.dumps(LabelingProblem(FEATURES, EDGES, SIMILARITIES, [4, 5, 6])))
    assert problem.node_features.tolist() == FEATURES
    assert problem.node_sizes.tolist() == [4.0, 5.0, 6.0]
    assert not problem.node_features.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"node_features": [1.0, 2.0]}, ValueError, r"node_features has shape \(2,\)"),
        ({"node_features": [["a"]]}, TypeError, "node_features must hold numbers"),
        ({"node_features": [[1, 2], [3, np.nan], [0, 0]]}, ValueError, r"node_features\[1, 1\] is nan"),
        ({"edges": [[0, 1], [1, 3]]}, ValueError, r"edges\[1, 1\] is 3: nodes must be in 0..2"),
        ({"edges": [[0, 1], [1, 1]]}, ValueError, r"edges\[1\] joins node 1 to itself"),
        ({"edge_features": [[0.5]]}, ValueError, r"edge_features has shape \(1, 1\): expected \[2, any\]"),
        ({"edge_features": [[0.5], [-1.0]]}, ValueError, r"edge_features\[1, 0\] is -1.0: .* >= 0"),
        ({"edge_features": [[np.inf], [1.0]]}, ValueError, r"edge_features\[0, 0\] is inf"),
        ({"node_sizes": [1.0, 2.0]}, ValueError, r"node_sizes has shape \(2,\): expected \[3\]"),
        ({"node_sizes": [1.0, 0.0, 1.0]}, ValueError, r"node_sizes\[1\] is 0.0: node sizes must be > 0"),
        ({"node_sizes": [1.0, np.nan, 1.0]}, ValueError, r"node_sizes\[1\] is nan"),
    ],
)
def test_errors_name_the_argument_and_the_index(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    good = {"node_features": FEATURES, "edges": EDGES, "edge_features": SIMILARITIES}
    with pytest.raises(error, match=message):
        LabelingProblem(**{**good, **arguments})
