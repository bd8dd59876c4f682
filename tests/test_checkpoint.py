"""Checkpoints of learning: interrupted anywhere and resumed, the result is the same to the last bit."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from learning_cases import fulls, random_problems, tags
from multiutility import SSVM, MultiUtilitySSVM, SelfTraining
from multiutility.annotations.annotation import Annotation
from multiutility.array_file import decode_text, encode_text, read_arrays, write_arrays
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.files import replacing
from multiutility.inference.solver import Result
from multiutility.learning import CuttingPlane, FrankWolfe
from multiutility.learning.checkpoint import journal
from multiutility.learning.checkpoint.file import CheckpointError, CheckpointWarning, read_checkpoint
from multiutility.learning.optimizers.frank_wolfe import FrankWolfeRun
from multiutility.learning.optimizers.solution import Record
from multiutility.problem import LabelingProblem


class Interrupted(Exception):  # noqa: N818
    """Stands for any end of the process."""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a checkpoint after every pass."""
    monkeypatch.setattr(journal, "EVERY", 0.0)
    monkeypatch.setattr(journal, "SHARE", 0.0)


def data(seed: int = 0, n: int = 8, n_full: int = 3) -> tuple[list[LabelingProblem], list[Annotation]]:
    problems, labelings = random_problems(seed, n, n_nodes=6)
    return problems, [*fulls(labelings[:n_full]), *tags(labelings[n_full:])]


def learner(kind: type[SSVM] = MultiUtilitySSVM, **parameters: Any) -> Any:
    given = {"C": 5.0, "tol": 0.02, "random_state": 0, "optimizer": FrankWolfe(planes=3, check_every=4)}
    return kind(**{**given, **parameters})


def stopping(after: int) -> Callable[[Record], None]:
    """A callback that ends the process after so many passes."""
    left = [after]

    def call(_record: Record) -> None:
        left[0] -= 1
        if not left[0]:
            raise Interrupted

    return call


def curve(model: Any) -> NDArray[Any]:
    """The objective, but for the times."""
    names = [name for name in model.objective_.dtype.names if name != "seconds"]
    return np.asarray(model.objective_[names])


def assert_same(found: Any, expected: Any) -> None:
    assert found.weights_.tobytes() == expected.weights_.tobytes()
    assert np.array_equal(curve(found), curve(expected))
    if isinstance(expected, MultiUtilitySSVM):
        assert np.array_equal(found.outer_objective_, expected.outer_objective_)
    for one, other in zip(found.imputed_, expected.imputed_, strict=True):
        assert np.array_equal(one, other)


@dataclass(frozen=True)
class Rough:
    """A solver that leaves much to labelings that were seen before: the least unary costs, edges aside."""

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        return self.minimize_many([energy], None if constraints is None else [constraints], [start])[0]

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        del starts
        limits = constraints or [None] * len(energies)
        return [self._result(energy, limit) for energy, limit in zip(energies, limits, strict=True)]

    def _result(self, energy: Energy, constraints: Constraints | None) -> Result:
        allowed = None if constraints is None else constraints.allowed
        costs = energy.unary if allowed is None else np.where(allowed, energy.unary, np.inf)
        labels = costs.argmin(axis=1).astype(np.int32)
        return Result(labels, energy.evaluate(labels))


CASES: dict[str, tuple[type[SSVM], dict[str, Any]]] = {
    "mixed": (MultiUtilitySSVM, {}),
    "few passes": (MultiUtilitySSVM, {"optimizer": FrankWolfe(max_passes=5, planes=2, rehearsals=1)}),
    "worse weights": (
        MultiUtilitySSVM,
        {"optimizer": FrankWolfe(max_passes=2, planes=2), "alpha": 1.0, "solver": Rough()},
    ),
    "cutting planes": (MultiUtilitySSVM, {"optimizer": CuttingPlane(), "tol": 0.1}),
    "self-training": (SelfTraining, {}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
def test_interrupted_after_any_pass_it_goes_on(name: str, tmp_path: Path) -> None:
    kind, parameters = CASES[name]
    problems, annotations = data()
    expected = learner(kind, **parameters).fit(problems, annotations)
    n_passes = len(expected.objective_)
    assert n_passes > 10
    for after in np.linspace(2, n_passes, 5, dtype=int).tolist():
        path = tmp_path / f"{after}.checkpoint"
        stopped = learner(kind, **parameters, checkpoint=path, callback=stopping(after))
        with pytest.raises(Interrupted):
            stopped.fit(problems, annotations)
        records: list[Record] = []
        resumed = learner(kind, **parameters, checkpoint=path, callback=records.append, n_jobs=2)
        assert_same(resumed.fit(problems, annotations), expected)
        # Those that were made before are told again.
        assert len(records) == n_passes


def test_interrupted_again_and_again_it_still_goes_on(tmp_path: Path) -> None:
    problems, annotations = data(1)
    expected = learner().fit(problems, annotations)
    path, n_runs = tmp_path / "learning.checkpoint", 0
    while n_runs < 200:
        n_runs += 1
        try:
            # Passes that are told again count: one more pass is new in each run.
            found = learner(checkpoint=path, callback=stopping(n_runs + 1)).fit(problems, annotations)
            break
        except Interrupted:
            continue
    assert n_runs == len(expected.objective_)
    assert_same(found, expected)


def test_a_convex_problem_goes_on(tmp_path: Path) -> None:
    problems, labelings = random_problems(3, 8, n_nodes=5)
    expected = learner(SSVM).fit(problems, fulls(labelings))
    path = tmp_path / "c"
    for after in (2, 5):
        with pytest.raises(Interrupted):
            learner(SSVM, checkpoint=path, callback=stopping(after)).fit(problems, fulls(labelings))
    found = learner(SSVM, checkpoint=path).fit(problems, fulls(labelings))
    assert_same(found, expected)
    assert_same(pickle.loads(pickle.dumps(found)), expected)


def test_what_was_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problems, annotations = data(2)
    path, calls = tmp_path / "c", []
    n_passes = len(learner().fit(problems, annotations).objective_)
    with pytest.raises(Interrupted):
        learner(checkpoint=path, callback=stopping(n_passes)).fit(problems, annotations)
    sweep = FrankWolfeRun.sweep

    def counted(self: FrankWolfeRun, order: NDArray[np.int64]) -> float:
        calls.append(order)
        return sweep(self, order)

    monkeypatch.setattr(FrankWolfeRun, "sweep", counted)
    learner(checkpoint=path).fit(problems, annotations)
    assert len(calls) <= 1


def stopped(path: Path, after: int = 7, **parameters: Any) -> Path:
    """A checkpoint in the midst of learning."""
    with pytest.raises(Interrupted):
        learner(checkpoint=path, callback=stopping(after), **parameters).fit(*data())
    assert path.is_file()
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"C": 5.1},
        {"alpha": 0.2},
        {"tol": 0.03},
        {"max_iter": 7},
        {"random_state": 1},
        {"class_weight": "balanced"},
        {"optimizer": FrankWolfe(planes=4, check_every=4)},
    ],
)
def test_checkpoints_of_other_parameters_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = stopped(tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"c: a checkpoint of other images.*remove it to begin anew"):
        learner(checkpoint=path, **change).fit(*data())


def test_checkpoints_of_other_data_are_refused(tmp_path: Path) -> None:
    path = stopped(tmp_path / "c")
    problems, annotations = data()
    _, labelings = random_problems(0, 8, n_nodes=6)
    first = problems[0]
    nudged = LabelingProblem(first.node_features + 1e-9, first.edges, first.edge_features, first.node_sizes)
    others = (
        ([nudged, *problems[1:]], annotations),
        (problems[::-1], annotations[::-1]),
        (problems, [*annotations[:4], *fulls(labelings[4:])]),
        (problems[:7], annotations[:7]),
    )
    for other in others:
        with pytest.raises(CheckpointError, match="other images"):
            learner(checkpoint=path).fit(*other)


def test_checkpoints_need_a_number_to_repeat(tmp_path: Path) -> None:
    for random_state in (None, np.random.RandomState(0)):
        with pytest.raises(ValueError, match="checkpoints need a whole number"):
            learner(checkpoint=tmp_path / "c", random_state=random_state).fit(*data())
    with pytest.raises(ValueError, match="its folder does not exist"):
        learner(checkpoint=tmp_path / "missing" / "c").fit(*data())


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    for name, kept in (("c", False), ("d", True)):
        with replacing(tmp_path / name):
            (left,) = (file for file in tmp_path.iterdir() if file.suffix == ".tmp")
            copy = left.with_name(left.name.replace("-", "-0"))
        copy.write_bytes(b"half")
        (tmp_path / name).unlink()
        stopped(tmp_path / "c")
        assert copy.exists() == kept


def test_a_disk_that_is_full_costs_the_checkpoint_and_not_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stopped(tmp_path / "c")
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "write_checkpoint", full)
    with pytest.warns(CheckpointWarning, match="No space left on device; learning goes on without"):
        found = learner(checkpoint=path).fit(*data())
    assert path.read_bytes() == before
    assert_same(found, learner().fit(*data()))


def test_a_checkpoint_with_wrong_facts_is_refused(tmp_path: Path) -> None:
    path = stopped(tmp_path / "c", after=30)
    arrays = dict(read_arrays(path))
    facts = json.loads(decode_text(arrays["facts"]))
    key, n_steps = facts["key"], facts["n_steps"]
    assert len(read_checkpoint(path, key)[0]) == n_steps > 1
    for change in ({"format": 2}, {"n_steps": -1}, {"n_steps": 10**9}, {"n_steps": "3"}, {"key": 7}):
        write_arrays(path, {**arrays, "facts": encode_text(json.dumps({**facts, **change}))})
        with pytest.raises(CheckpointError, match="remove it"):
            read_checkpoint(path, key)
    write_arrays(path, {**arrays, "facts": encode_text(json.dumps({**facts, "n_steps": n_steps + 1}))})
    with pytest.raises(CheckpointError, match="does not fit"):
        learner(checkpoint=path).fit(*data())


def test_places_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    problems, labelings = random_problems(5, 3, n_nodes=4)
    path = tmp_path / "c"
    with pytest.raises(Interrupted):
        learner(SSVM, checkpoint=path, callback=stopping(4)).fit(problems, fulls(labelings))
    arrays = dict(read_arrays(path))
    (name,) = [name for name in arrays if name.endswith("memory.oldest")]
    write_arrays(path, {**arrays, name: np.zeros((3, 0), arrays[name].dtype)})
    with pytest.raises(CheckpointError, match="does not fit"):
        learner(SSVM, checkpoint=path).fit(problems, fulls(labelings))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_arrays_of_any_shape_are_refused(
    tmp_path_factory: pytest.TempPathFactory, draw: st.DataObject
) -> None:
    """Whoever forges a checkpoint, checksums and all, gets an error, or weights of no worth."""
    folder = tmp_path_factory.getbasetemp()
    whole = folder / "whole.checkpoint"
    problems, labelings = random_problems(5, 3, n_nodes=4)
    if not whole.exists():
        with pytest.raises(Interrupted):
            learner(SSVM, checkpoint=whole, callback=stopping(4)).fit(problems, fulls(labelings))
    arrays = dict(read_arrays(whole))
    name = draw.draw(st.sampled_from(sorted(set(arrays) - {"facts"})))
    shape = draw.draw(st.lists(st.integers(0, 4), max_size=3))
    value = draw.draw(st.sampled_from([-1, 0, 10**6]))
    changed = {**arrays, name: np.full(shape, value).astype(arrays[name].dtype)}
    path = folder / "forged.checkpoint"
    write_arrays(
        path, changed if draw.draw(st.booleans()) else {k: v for k, v in arrays.items() if k != name}
    )
    try:
        with warnings.catch_warnings():
            # Of weights of no worth: that learning has not converged, or of overflow.
            warnings.simplefilter("ignore")
            learner(SSVM, checkpoint=path).fit(problems, fulls(labelings))
    except CheckpointError:
        pass
    finally:
        path.unlink()
