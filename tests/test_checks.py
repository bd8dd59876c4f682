"""The conformance suites: every kind of the package passes, and every kind of mistake fails by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from examples import EXAMPLES, kinds
from multiutility import Constraints, Energy, LabelingProblem
from multiutility.annotations import Annotation, Tags
from multiutility.checks import (
    check_annotation,
    check_minimum,
    check_model,
    check_solver,
    enumerate_labelings,
)
from multiutility.inference import Exact, Expansion, Pinpoint, Reference, Result, Solver
from multiutility.models import Model, Potts
from strategies import random_edges

GUIDE = Path(__file__).parents[1] / "docs" / "new-annotation.md"


def test_every_kind_has_examples() -> None:
    assert {"Boxes", "Full", "Joint", "Seeds", "Tags"} <= set(kinds())
    assert set(kinds()) == set(EXAMPLES), "a new kind needs examples, for all tests here to run on it"


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("seed", range(12))
def test_every_kind_conforms(kind: str, seed: int) -> None:
    annotation, problem = EXAMPLES[kind](np.random.default_rng(seed))
    check_annotation(annotation, problem)


def test_annotations_of_no_nodes_conform() -> None:
    nothing = LabelingProblem(np.zeros((0, 1)), [], np.zeros((0, 1)))
    check_annotation(Tags([0, 1], 3), nothing)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_potts_conforms(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    n_labels, edges = int(rng.integers(1, 4)), random_edges(rng, 5)
    features, pairs = rng.standard_normal((5, 3)), rng.random((len(edges), 2))
    problem = LabelingProblem(features.astype(dtype), edges, pairs.astype(dtype))
    check_model(Potts(n_labels), problem, rng.random(3 * n_labels + 2))


@pytest.mark.parametrize(
    ("solver", "exact"),
    [
        (Exact(), True),
        (Exact(max_enumerated=0), True),
        (Expansion(), False),
        (Expansion(bound=True), False),
        (Expansion(passes=0), False),
        (Reference(), False),
        (Pinpoint(Expansion()), False),
        (Pinpoint(Exact()), False),
    ],
    ids=repr,
)
def test_solvers_conform(solver: Solver, exact: bool) -> None:
    check_solver(solver, exact)


@dataclass(frozen=True)
class Broken:
    """An annotation with some of its methods replaced; each takes the real one's result."""

    base: Annotation
    changes: dict[str, Callable[[Any], Any]]
    omega: tuple[float, ...] | None = None

    n_labels = 3
    strong = False

    def _call(self, name: str, *arguments: Any) -> Any:
        base = self.base if self.omega is None else self.base.weighted(self.omega)
        value = getattr(base, name)(*arguments)
        return self.changes[name](value) if name in self.changes else value

    def loss(self, problem: LabelingProblem, labels: ArrayLike) -> Any:
        return self._call("loss", problem, labels)

    def loss_energy(self, problem: LabelingProblem) -> Any:
        return self._call("loss_energy", problem)

    def constraints(self, problem: LabelingProblem) -> Any:
        return self._call("constraints", problem)

    def start(self, problem: LabelingProblem) -> Any:
        return self._call("start", problem)

    def prior(self, problem: LabelingProblem) -> Any:
        return self._call("prior", problem)

    def label_sizes(self, problem: LabelingProblem) -> Any:
        return self._call("label_sizes", problem)

    def weighted(self, weights: ArrayLike) -> Self:
        omega = self.changes.get("weighted", np.asarray)(weights)
        return replace(self, omega=tuple(omega))


PROBLEM = LabelingProblem(np.zeros((4, 1)), [[0, 1], [1, 2]], np.ones((2, 1)), node_sizes=[1, 2, 3, 4])


def test_an_annotation_without_a_mistake_passes() -> None:
    check_annotation(Broken(Tags([0, 2], 3, strict=True), {}), PROBLEM)


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("loss", lambda loss: loss + 1, "the law: loss_energy is"),
        ("loss", lambda _: np.nan, "loss: it is nan"),
        ("loss", lambda loss: loss - 1, "loss: it is -1"),
        ("loss_energy", lambda energy: energy + Energy(np.eye(4, 3)), "the law: loss_energy is"),
        ("loss_energy", lambda _: Energy(np.zeros((5, 3))), "loss_energy: its shape is"),
        ("weighted", lambda _: np.ones(3), "weighted: the loss for weights 2 w is"),
        ("weighted", np.cumsum, "weighted: the loss for weights 1 is"),
        ("constraints", lambda _: Constraints(np.ones((5, 3), dtype=bool)), "constraints: allowed has shape"),
        ("constraints", lambda _: Constraints(covers=[([9], 0)]), "constraints: cover_nodes"),
        ("start", np.ones_like, r"start: \[1, 1, 1, 1\] is not allowed"),
        ("start", lambda start: start - 5, "start: .* is not allowed"),
        ("start", lambda start: start[1:], "start: it must be integers"),
        ("start", lambda start: start.astype(float), "start: it must be integers"),
        ("prior", lambda prior: prior[:, 1:], "prior: it must be"),
        ("prior", lambda prior: prior * 2, "prior: its rows must add up to 1"),
        ("prior", lambda prior: prior * 0 + 1 / 3, "prior: it must be 0 where"),
        ("prior", lambda prior: prior * [2, 1, 0] - [0, 0.5, 0], "prior: it must be"),
        ("label_sizes", lambda sizes: sizes[1:], "label_sizes"),
        ("label_sizes", lambda sizes: sizes * np.nan, "label_sizes"),
        ("label_sizes", np.negative, "label_sizes"),
    ],
)
def test_broken_annotations_fail(method: str, change: Callable[[Any], Any], message: str) -> None:
    annotation = Broken(Tags([0, 2], 3), {method: change})
    with pytest.raises(AssertionError, match=message):
        check_annotation(annotation, PROBLEM)


class Accumulating(Tags):
    """Class weights that multiply earlier ones, instead of replacing them."""

    def weighted(self, weights: ArrayLike) -> Self:
        return super().weighted(self.weights * np.asarray(weights))


def test_weights_that_accumulate_fail() -> None:
    with pytest.raises(AssertionError, match="weighted: the loss for weights 1 is"):
        check_annotation(Accumulating([0, 2], 3), PROBLEM)


def test_large_problems_are_refused() -> None:
    large = LabelingProblem(np.zeros((30, 1)), [], np.zeros((0, 1)))
    with pytest.raises(ValueError, match="too many to enumerate"):
        check_annotation(Tags([0], 3), large)


@dataclass(frozen=True)
class BrokenModel:
    """Potts with some of its methods replaced; each takes the real one's result."""

    changes: dict[str, Callable[[Any], Any]]
    n_labels: int = 2

    def _call(self, name: str, *arguments: Any) -> Any:
        value = getattr(Potts(self.n_labels), name)(*arguments)
        return self.changes[name](value) if name in self.changes else value

    def n_weights(self, problem: LabelingProblem) -> Any:
        return self._call("n_weights", problem)

    def nonnegative(self, problem: LabelingProblem) -> Any:
        return self._call("nonnegative", problem)

    def joint_feature(self, problem: LabelingProblem, labels: ArrayLike) -> Any:
        return self._call("joint_feature", problem, labels)

    def energy(self, problem: LabelingProblem, weights: ArrayLike) -> Any:
        return self._call("energy", problem, weights)


class Lenient(Potts):
    """A model that takes negative pairwise weights for none."""

    def energy(self, problem: LabelingProblem, weights: ArrayLike) -> Energy:
        limited = self.nonnegative(problem)
        vector = np.array(weights, dtype=np.float64)
        vector[limited] = np.maximum(vector[limited], 0)
        return super().energy(problem, vector)


def without_offset(energy: Energy) -> Energy:
    return Energy(energy.unary, energy.edges, energy.weights)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BrokenModel({"energy": without_offset}), "the law: energy is"),
        (BrokenModel({"joint_feature": lambda feature: 2 * feature}), "the law: energy is"),
        (BrokenModel({"joint_feature": lambda feature: feature[1:]}), "joint_feature: its shape is"),
        (BrokenModel({"n_weights": lambda n: n + 1}), "n_weights: it is 4"),
        (Lenient(2), r"nonnegative: weights\[2\] < 0 must be refused"),
    ],
)
def test_broken_models_fail(model: Model, message: str) -> None:
    problem = LabelingProblem(np.array([[1.0], [2.0], [-1.0]]), [[0, 1], [1, 2]], [[0.5], [1.5]])
    check_model(BrokenModel({}), problem, [1.0, -1.0, 3.0])
    with pytest.raises(AssertionError, match=message):
        check_model(model, problem, [1.0, -1.0, 3.0])


@dataclass(frozen=True)
class BrokenSolver:
    """Exact minimization with a mistake: a function of the energy, the start and the right result."""

    mistake: Callable[[Energy, Any, Result], Result]
    batch: Callable[[list[Result]], list[Result]] = list

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        return self.mistake(energy, start, Exact().minimize(energy, constraints, start))

    def minimize_many(
        self,
        energies: Sequence[Energy],
        constraints: Sequence[Constraints | None] | None = None,
        starts: Sequence[ArrayLike | None] | None = None,
    ) -> list[Result]:
        limits = [None] * len(energies) if constraints is None else constraints
        begins = [None] * len(energies) if starts is None else starts
        problems = zip(energies, limits, begins, strict=True)
        return self.batch([self.minimize(*problem) for problem in problems])


@dataclass(frozen=True)
class Cheapest(BrokenSolver):
    """Takes the labels of least unary cost, or the start."""

    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        if constraints is None or constraints.allowed is None or constraints.has_covers:
            raise ValueError("not here")
        labels = np.where(constraints.allowed, energy.unary, np.inf).argmin(axis=1).astype(np.int32)
        if start is not None and energy.evaluate(start) < energy.evaluate(labels):
            labels = np.asarray(start, dtype=np.int32)
        return Result(labels, energy.evaluate(labels))


@dataclass(frozen=True)
class IgnoresCovers(BrokenSolver):
    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        return Exact().minimize(energy, Constraints(constraints.allowed) if constraints else None, start)


@dataclass(frozen=True)
class RefusesSome(BrokenSolver):
    def minimize(
        self, energy: Energy, constraints: Constraints | None = None, start: ArrayLike | None = None
    ) -> Result:
        if constraints is not None and constraints.has_covers and energy.n_nodes > 3:
            raise ValueError("too many nodes")
        return Exact().minimize(energy, constraints, start)


def right(_energy: Energy, _start: Any, result: Result) -> Result:
    return result


def ignores_mask(energy: Energy, _start: Any, _result: Result) -> Result:
    return Exact().minimize(energy)


def wrong_energy(_energy: Energy, _start: Any, result: Result) -> Result:
    return replace(result, energy=result.energy + 0.1)


def high_bound(_energy: Energy, _start: Any, result: Result) -> Result:
    return replace(result, bound=result.energy + 0.1)


def stays(energy: Energy, start: Any, result: Result) -> Result:
    return result if start is None else Result(np.asarray(start), energy.evaluate(start))


def writes(_energy: Energy, start: NDArray[np.int32] | None, result: Result) -> Result:
    if start is not None:
        start[:] = -1
    return result


def last_first(results: list[Result]) -> list[Result]:
    return results[::-1]


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (BrokenSolver(wrong_energy), "minimize: energy .* of labels that have"),
        (BrokenSolver(high_bound), "minimize: bound"),
        (BrokenSolver(stays), "minimize: energy .* where the optimum is|minimize: expanding label"),
        (BrokenSolver(writes), "minimize: the start was changed"),
        (BrokenSolver(right, last_first), "minimize_many: its energies"),
        (Cheapest(right), "minimize: energy .* where the optimum is|minimize: expanding label"),
        (BrokenSolver(ignores_mask), "minimize: labels .* are not allowed"),
        (IgnoresCovers(right), "covers: .* does not meet all"),
        (RefusesSome(right), "covers: refused for some"),
    ],
)
def test_broken_solvers_fail(solver: Solver, message: str) -> None:
    check_solver(BrokenSolver(right), exact=True)
    with pytest.raises(AssertionError, match=message):
        check_solver(solver)


@pytest.mark.parametrize(
    ("name", "solver", "message"),
    [
        ("Exact", BrokenSolver(wrong_energy), "loss-augmented inference with Exact: the energy is"),
        ("Exact", BrokenSolver(ignores_mask), "consistent inference with Exact: the energy is"),
        ("Exact", IgnoresCovers(right), "consistent inference with Exact: the energy is"),
        ("Expansion", BrokenSolver(wrong_energy), "loss-augmented inference with Expansion: energy"),
        ("Expansion", BrokenSolver(stays), "inference with Expansion: (energy|expanding)"),
        ("Expansion", BrokenSolver(ignores_mask), "consistent inference with Expansion: labels .* allowed"),
    ],
)
def test_wrong_inference_fails(
    monkeypatch: pytest.MonkeyPatch, name: str, solver: Solver, message: str
) -> None:
    monkeypatch.setattr(f"multiutility.checks.{name}", lambda: solver)
    with pytest.raises(AssertionError, match=message):
        check_annotation(Tags([0, 2], 3, strict=True), PROBLEM)


def test_annotations_that_no_labeling_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    lonely = LabelingProblem(np.zeros((1, 1)), [], np.zeros((0, 1)))
    check_annotation(Tags([0, 1], 3, strict=True), lonely)
    monkeypatch.setattr("multiutility.checks.Exact", lambda: IgnoresCovers(right))
    with pytest.raises(AssertionError, match="a labeling, though none is consistent"):
        check_annotation(Tags([0, 1], 3, strict=True), lonely)


def test_an_energy_that_changes_between_calls_fails() -> None:
    calls: list[Energy] = []

    def changing(energy: Energy) -> Energy:
        calls.append(energy)
        # The first calls are those of the law, without and with class weights.
        return energy if len(calls) <= 5 else energy + Energy(np.full((4, 3), -100.0))

    with pytest.raises(AssertionError, match="loss-augmented inference with Exact"):
        check_annotation(Broken(Tags([0, 2], 3), {"loss_energy": changing}), PROBLEM)


# Labels 1 and 2 are better together than 0, but no move to either of them alone is.
STUCK = Energy([[0, -0.9, 5], [0, 5, -0.9]], edges=[[0, 1]], weights=[1])


def check_stuck(solver: Solver, start: list[int], exact: bool = False) -> None:
    labelings = enumerate_labelings(2, 3)
    values = STUCK.evaluate_many(labelings)
    begin = np.array(start, dtype=np.int32)
    check_minimum("minimize", solver, STUCK, Constraints(), labelings, values, begin, exact=exact)


def test_exact_solvers_may_not_stop_at_local_minima() -> None:
    check_stuck(BrokenSolver(stays), [0, 0])
    check_stuck(Exact(), [0, 0], exact=True)
    with pytest.raises(AssertionError, match=r"energy 0.0, where the optimum is -0.8"):
        check_stuck(BrokenSolver(stays), [0, 0], exact=True)


def test_solvers_may_not_rise_above_their_start() -> None:
    zeros = Result(np.zeros(2, dtype=np.int32), 0.0)
    with pytest.raises(AssertionError, match="is above that of the start"):
        check_stuck(BrokenSolver(lambda _energy, _start, _result: zeros), [1, 2])


def guide_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)


def run_guide(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, str(GUIDE), "exec", dont_inherit=True), names)
    return names


def test_the_guide_runs_and_its_kind_conforms() -> None:
    names = run_guide("".join(guide_blocks()))
    rng = np.random.default_rng(0)
    for _ in range(10):
        edges = random_edges(rng, 4)
        problem = LabelingProblem(np.zeros((4, 1)), edges, np.ones((len(edges), 1)), rng.random(4) + 0.5)
        nodes = np.flatnonzero(rng.random(4) < 0.6)
        labels = rng.permutation(3)[: rng.integers(1, 4)]
        check_annotation(names["Scribble"](nodes, labels, 3), problem)


def test_the_kind_of_the_guide_is_short() -> None:
    kind = guide_blocks()[0]
    assert "class Scribble" in kind
    assert len(kind.splitlines()) < 40


def test_the_mistake_in_the_guide_is_reported_as_it_says() -> None:
    code = "".join(guide_blocks())
    assert "-self.omega" in code
    with pytest.raises(AssertionError) as caught:
        run_guide(code.replace("-self.omega", "self.omega"))
    assert str(caught.value) in GUIDE.read_text()
