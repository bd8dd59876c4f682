"""The risk that optimizers see, against enumeration of the paper's formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_cases import all_labelings, fulls, hinge, make_risk, random_problem, random_problems, tags
from multiutility.annotations import Full
from multiutility.energy import Energy
from multiutility.inference import Expansion, Result
from multiutility.learning.examples import class_weights, make_examples, slack_costs
from multiutility.learning.labeling_risk import Instance, LabelingRisk
from multiutility.learning.optimizers.planes import Scores
from multiutility.learning.optimizers.risk import objective
from multiutility.models import Potts


def random_weights(rng: np.random.Generator, risk: LabelingRisk) -> NDArray[np.float64]:
    weights = rng.standard_normal(risk.layout.n_weights)
    pairwise = risk.layout.pairwise(weights)
    pairwise[...] = np.abs(pairwise)
    return weights


@pytest.mark.parametrize("seed", range(5))
def test_hinges_are_those_of_the_paper(seed: int) -> None:
    problems, labelings = random_problems(seed, 4)
    annotations = [*fulls(labelings[:2]), *tags(labelings[2:])]
    risk = make_risk(problems, annotations)
    weights = random_weights(np.random.default_rng(seed), risk)
    for n, found in enumerate(risk.oracle(range(4), weights)):
        expected = hinge(problems[n], annotations[n], risk.anchor(n).labels, weights)
        assert found.hinge == pytest.approx(expected, abs=1e-9)
        assert found.plane.loss == pytest.approx(
            annotations[n].loss(problems[n], found.plane.labels), abs=1e-9
        )
        np.testing.assert_allclose(found.scores, Potts(3).scores(problems[n], weights))


def test_energy_is_that_of_model_and_annotation() -> None:
    problems, labelings = random_problems(0, 1)
    annotation = tags(labelings)[0]
    weights = random_weights(np.random.default_rng(0), make_risk(problems, [annotation]))
    instance = Instance(problems[0], annotation.loss_energy(problems[0]), 1.0)
    energy = instance.energy(instance.scores(Scores(weights[:9].reshape(3, 3))), weights[9:])
    together = Potts(3).energy(problems[0], weights) + annotation.loss_energy(problems[0])
    labelings_ = all_labelings(4, 3)
    np.testing.assert_allclose(energy.evaluate_many(labelings_), together.evaluate_many(labelings_))


def test_products_are_those_of_the_features() -> None:
    problems, labelings = random_problems(1, 2)
    risk = make_risk(problems, fulls(labelings))
    nodes = np.random.default_rng(0).standard_normal((4, 3))
    out = np.empty((3, 3))
    risk.lift(1, nodes, out)
    features = problems[1].node_features
    np.testing.assert_allclose(out, nodes.T @ features)
    np.testing.assert_allclose(risk.kernel(1, nodes), features @ features.T @ nodes)
    first, second = (risk.instances[1].plane(np.array(labels)) for labels in ([0, 1, 2, 1], [0, 2, 2, 0]))
    swapped = np.eye(3)[first.labels] - np.eye(3)[second.labels]
    np.testing.assert_allclose(risk.swap(1, first, second), risk.kernel(1, swapped), atol=1e-12)
    np.testing.assert_allclose(Potts(3).assemble(problems[1], nodes, np.zeros(4))[:9], out.ravel())


@pytest.mark.parametrize("seed", range(3))
def test_objective_has_the_planes_as_subgradient(seed: int) -> None:
    """Finite differences of the objective along random directions, on an exact oracle."""
    problems, labelings = random_problems(seed, 3)
    annotations = [*fulls(labelings[:1]), *tags(labelings[1:])]
    risk = make_risk(problems, annotations)
    rng = np.random.default_rng(seed)
    weights = random_weights(rng, risk)
    model, gradient = Potts(3), weights.copy()
    for n, found in enumerate(risk.oracle(range(3), weights)):
        features = [model.joint_feature(problems[n], y) for y in (found.plane.labels, risk.anchor(n).labels)]
        gradient += risk.costs[n] * (features[0] - features[1])
    for _ in range(5):
        direction = rng.standard_normal(len(weights))
        ends = [objective(risk, weights + sign * 1e-6 * direction) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-5)


def lazy(energy: Energy) -> Result:
    """Give all nodes the first label."""
    labels = np.zeros(energy.n_nodes, dtype=np.int32)
    return Result(labels, energy.evaluate(labels))


@dataclass(frozen=True)
class Lazy:
    """A solver that ignores everything."""

    def minimize(self, energy: Energy, *_: object) -> Result:
        return lazy(energy)

    def minimize_many(self, energies: Sequence[Energy], *_: object) -> list[Result]:
        return [lazy(energy) for energy in energies]


def test_hinge_is_never_below_the_loss_of_the_anchor() -> None:
    """Also with a solver that hardly tries."""
    problems, labelings = random_problems(3, 5)
    risk = make_risk(problems, tags(labelings), solver=Lazy())
    for seed in range(5):
        weights = 5 * random_weights(np.random.default_rng(seed), risk)
        for n, found in enumerate(risk.oracle(range(5), weights)):
            assert found.hinge >= risk.anchor(n).loss - 1e-9 >= -1e-9


def test_ignored_nodes_change_nothing() -> None:
    """Void nodes and their edges may as well be taken out of the problem."""
    rng = np.random.default_rng(0)
    problem = random_problem(rng, 5)
    labels = np.array([0, 2, -1, 1, 0])
    kept = np.flatnonzero(labels >= 0)
    edges = [e for e, (i, j) in enumerate(problem.edges.tolist()) if labels[i] >= 0 and labels[j] >= 0]
    smaller = type(problem)(
        problem.node_features[kept],
        np.searchsorted(kept, problem.edges[edges]),
        problem.edge_features[edges],
        problem.node_sizes[kept],
    )
    example = make_examples([problem], [Full.from_labels(labels, 3)])[0].without_open_nodes()
    start = example.annotation.start(example.problem)
    risk = LabelingRisk([example.instance(1.0)], [start], Expansion())
    other = make_risk([smaller], [Full.from_labels(labels[kept], 3)], c=1.0, solver=Expansion())
    for _ in range(10):
        weights = random_weights(rng, risk)
        found = risk.oracle([0], weights)[0]
        assert found.hinge == pytest.approx(other.oracle([0], weights)[0].hinge)
        assert found.plane.labels[2] == start[2]


def test_slack_weights_are_those_of_the_paper() -> None:
    problems, labelings = random_problems(0, 4)
    examples = make_examples(problems, [*fulls(labelings[:1]), None, *tags(labelings[2:])])
    np.testing.assert_allclose(slack_costs(examples, C=6.0, alpha=0.1), [2.0, 0.2, 0.2])


def test_class_weights_have_mean_one() -> None:
    problems, labelings = random_problems(0, 6)
    examples = make_examples(problems, fulls(labelings))
    sizes = np.zeros(3)
    for problem, labels in zip(problems, labelings, strict=True):
        np.add.at(sizes, labels, problem.node_sizes)
    balanced = class_weights(examples, "balanced")
    np.testing.assert_allclose(balanced * sizes, sizes.sum() / 3)
    halfway = class_weights(examples, 0.5)
    np.testing.assert_allclose(halfway / halfway[0], np.sqrt(balanced / balanced[0]))
    assert halfway @ sizes == pytest.approx(sizes.sum())
    np.testing.assert_allclose(class_weights(examples, 0), np.ones(3))
    given = class_weights(examples, {1: 4.0})
    assert given[1] / given[0] == pytest.approx(4)
    assert given @ sizes == pytest.approx(sizes.sum())
    with pytest.raises(ValueError, match=r"class_weight\[7\]"):
        class_weights(examples, {7: 1.0})
    for wrong in (1.5, -0.1, "balance"):
        with pytest.raises(ValueError, match="a number from 0 to 1"):
            class_weights(examples, wrong)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Careless:
    """A solver that returns the labels it was made with, whatever the energy."""

    labels: Sequence[int]

    def minimize(self, _energy: Energy, *_: object) -> Result:
        return Result(np.array(self.labels, dtype=np.int32), -1e9)

    def minimize_many(self, energies: Sequence[Energy], *_: object) -> list[Result]:
        return [self.minimize(energy) for energy in energies]


@pytest.mark.parametrize("labels", [(0, 1, 3, 0), (0, -1, 0, 0), (0, 1, 0)])
def test_labels_that_no_node_can_have_are_refused(labels: Sequence[int]) -> None:
    problems, labelings = random_problems(0, 1)
    risk = make_risk(problems, fulls(labelings), solver=Careless(labels))
    with pytest.raises(ValueError, match="labels of the solver"):
        risk.oracle([0], np.zeros(risk.layout.n_weights))
