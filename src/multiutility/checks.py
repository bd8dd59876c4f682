"""Conformance suites: what annotations, models and solvers promise, proved by enumeration of small problems.

One call checks a kind of your own: it raises AssertionError that names what failed, or returns None.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multiutility.annotations import Annotation
from multiutility.arrays import BoolArray, FloatArray, IndexArray, owners
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference import Exact, Expansion, Solver
from multiutility.models import Model
from multiutility.problem import LabelingProblem
from multiutility.sizes import ROUNDING

MAX_LABELINGS = 20_000
TOLERANCE = 1e-9
# Random scores next to a loss: where the loss decides, where both do, and where it hardly matters.
SCALES = (0.1, 1.0, 10.0)


def check_annotation(annotation: Annotation, problem: LabelingProblem) -> None:
    """Check all that an annotation promises, on a problem of at most 20,000 labelings.

    The law ``loss_energy.evaluate(y) == -loss(y)`` for every labeling, without and with class weights; a loss
    that is finite and >= 0; constraints, start, prior and label sizes that agree with each other; and that
    loss-augmented and consistent inference with random scores reach the enumerated optimum with ``Exact``,
    and with ``Expansion`` the optimum for two labels, or else (without size terms) a labeling that no
    expansion move improves. The annotation itself must have no class weights.

    >>> from multiutility.annotations import Tags
    >>> problem = LabelingProblem(np.zeros((3, 1)), [[0, 1]], np.ones((1, 1)), node_sizes=[1, 2, 3])
    >>> check_annotation(Tags([0, 2], n_labels=3), problem)
    >>> class Wrong(Tags):
    ...     def loss(self, problem, labels):
    ...         return 2 * super().loss(problem, labels)
    >>> check_annotation(Wrong([0, 2], n_labels=3), problem)
    Traceback (most recent call last):
        ...
    AssertionError: the law: loss_energy is -12.0, minus loss is -24.0, for labels [1, 1, 1]
    """
    labelings = enumerate_labelings(problem.n_nodes, annotation.n_labels)
    losses = check_law(annotation, problem, labelings)
    check_weighted(annotation, problem, labelings, losses)
    constraints = annotation.constraints(problem)
    allowed = check_beginnings(annotation, problem, constraints)
    start = annotation.start(problem)
    rng = np.random.default_rng(0)
    for scale in SCALES:
        unit = scale * (float(losses.max()) / max(problem.n_nodes, 1) or 1.0)
        scores = random_energy(rng, problem.edges, (problem.n_nodes, annotation.n_labels), unit)
        values, augmented = scores.evaluate_many(labelings), scores + annotation.loss_energy(problem)
        check_inference("loss-augmented", augmented, Constraints(), labelings, values - losses, start)
        inside, limits = within(allowed, labelings), Constraints(allowed)
        check_inference("consistent", scores, limits, labelings[inside], values[inside], start)
        reluctant = scores + reluctance(constraints, scores, unit)
        feasible = labelings[inside & covered(constraints, labelings) & sized(constraints, labelings)]
        check_exact("consistent", reluctant, constraints, reluctant.evaluate_many(feasible))


def check_model(model: Model, problem: LabelingProblem, weights: ArrayLike) -> None:
    """Check all that a model promises, on a problem of at most 20,000 labelings.

    ``w . joint_feature(y) == -energy(w).evaluate(y)`` for every labeling, at the weights given and at random
    ones; that weights which must be >= 0 are refused if they are not; and inference as in
    ``check_annotation``.

    >>> from multiutility.models import Potts
    >>> problem = LabelingProblem([[1.0], [2.0]], [[0, 1]], [[0.5]])
    >>> check_model(Potts(n_labels=2), problem, weights=[1.0, -1.0, 3.0])
    """
    labelings = enumerate_labelings(problem.n_nodes, model.n_labels)
    given = np.asarray(weights, dtype=np.float64)
    n_weights, limited = model.n_weights(problem), model.nonnegative(problem)
    require(given.shape == (n_weights,), f"n_weights: it is {n_weights}, for weights of shape {given.shape}")
    features = np.array([model.joint_feature(problem, labels) for labels in labelings])
    require(features.shape[1:] == (n_weights,), f"joint_feature: its shape is {features.shape[1:]}")
    # What is computed in the precision of the features is equal in that precision only.
    single = np.float32 in (problem.node_features.dtype, problem.edge_features.dtype)
    start = labelings[0]
    for w in (given, *random_weights(np.random.default_rng(0), given, limited)):
        energy = model.energy(problem, w)
        values = energy.evaluate_many(labelings)
        names = "the law", "energy", "minus w . joint_feature"
        require_equal(*names, values, -features @ w, labelings, 1e-5 if single else TOLERANCE)
        check_inference("model", energy, Constraints(), labelings, values, start)
    for n in range(n_weights)[limited]:
        check_refusal(model, problem, np.where(np.arange(n_weights) == n, -1.0, np.abs(given)), n)


def check_solver(solver: Solver, exact: bool = False) -> None:
    """Check all that a solver promises, on random energies of up to 5 nodes.

    Labels that are allowed, with their energy; a bound that is one; nothing above the start, which is left as
    it was; the optimum for two labels, or else (unless ``exact``) a labeling that no expansion move improves;
    the same from ``minimize_many``. Covers are met where they can be, or else refused with a ValueError.

    >>> check_solver(Expansion())
    >>> check_solver(Exact(), exact=True)
    """
    rng = np.random.default_rng(0)
    problems, refusals = [], set()
    for _ in range(60):
        energy, allowed = random_problem(rng)
        labelings = enumerate_labelings(*allowed.shape)
        labelings = labelings[within(allowed, labelings)]
        values, limits = energy.evaluate_many(labelings), Constraints(allowed)
        start, truth = labelings[rng.integers(len(labelings), size=2)]
        for begin in (None, start):
            check_minimum("minimize", solver, energy, limits, labelings, values, begin, exact=exact)
        covers = random_covers(rng, truth)
        refusals.add(check_covers(solver, energy, Constraints(allowed, covers), exact=exact))
        problems.append((energy, limits, start))
    require(len(refusals) == 1, "covers: refused for some energies, but not for all")
    energies, constraints, starts = (list(column) for column in zip(*problems, strict=True))
    together = [result.energy for result in solver.minimize_many(energies, constraints, starts)]
    apart = [solver.minimize(*problem).energy for problem in problems]
    require(np.allclose(together, apart), "minimize_many: its energies are not those of minimize")


def check_law(annotation: Annotation, problem: LabelingProblem, labelings: IndexArray) -> FloatArray:
    """Check that the loss is one and the energy minus the loss; return the loss of each labeling."""
    losses = np.array([annotation.loss(problem, labels) for labels in labelings])
    wrong = ~np.isfinite(losses) | (losses < -TOLERANCE)
    first = int(np.argmax(wrong))
    require(not wrong.any(), f"loss: it is {losses[first]}, for labels {labelings[first].tolist()}")
    energy, shape = annotation.loss_energy(problem), (problem.n_nodes, annotation.n_labels)
    require(energy.unary.shape == shape, f"loss_energy: its shape is {energy.unary.shape}, not {shape}")
    values = energy.evaluate_many(labelings)
    require_equal("the law", "loss_energy", "minus loss", values, -losses, labelings)
    return losses


def check_weighted(
    annotation: Annotation, problem: LabelingProblem, labelings: IndexArray, unweighted: FloatArray
) -> None:
    """Check the law with class weights, that the loss is in proportion to them, and that 1 is neutral."""
    weights = np.random.default_rng(0).uniform(0.5, 2.0, annotation.n_labels)
    losses = check_law(annotation.weighted(weights), problem, labelings)
    doubled = check_law(annotation.weighted(2 * weights), problem, labelings)
    names = "weighted", "the loss for weights 2 w", "twice the loss for w"
    require_equal(*names, doubled, 2 * losses, labelings)
    for case in (annotation, annotation.weighted(weights)):
        neutral = check_law(case.weighted(np.ones(len(weights))), problem, labelings)
        names = "weighted", "the loss for weights 1", "the loss without weights"
        require_equal(*names, neutral, unweighted, labelings)


def check_beginnings(annotation: Annotation, problem: LabelingProblem, constraints: Constraints) -> BoolArray:
    """Check constraints, start, prior and label sizes against each other; return the mask of labels."""
    shape = (problem.n_nodes, annotation.n_labels)
    try:
        constraints.validate_for(*shape)
    except ValueError as error:
        raise AssertionError(f"constraints: {error}") from error
    allowed = np.ones(shape, dtype=np.bool_) if constraints.allowed is None else constraints.allowed
    start = np.asarray(annotation.start(problem))
    require(start.shape == shape[:1] and start.dtype.kind == "i", "start: it must be integers [V]")
    inside = bool(((start >= 0) & (start < shape[1])).all())
    require(inside and bool(within(allowed, start[np.newaxis])[0]), f"start: {start.tolist()} is not allowed")
    prior = annotation.prior(problem)
    require(prior.shape == shape and bool((prior >= 0).all()), "prior: it must be [V, K] and >= 0")
    require(np.allclose(prior.sum(axis=1), 1), "prior: its rows must add up to 1")
    require(not prior[~allowed].any(), "prior: it must be 0 where the constraints do not allow a label")
    sizes = annotation.label_sizes(problem)
    fits = sizes.shape == shape[1:] and bool(np.isfinite(sizes).all() and (sizes >= 0).all())
    require(fits, "label_sizes: they must be [K], finite and >= 0")
    return allowed


def check_inference(
    name: str,
    energy: Energy,
    constraints: Constraints,
    labelings: IndexArray,
    values: FloatArray,
    start: IndexArray,
) -> None:
    """Check both solvers on an energy whose values for all allowed labelings are known."""
    check_exact(name, energy, constraints, values)
    for begin in (None, start if within_rows(labelings, start).any() else None):
        title = f"{name} inference with Expansion"
        check_minimum(title, Expansion(), energy, constraints, labelings, values, begin)


def check_exact(name: str, energy: Energy, constraints: Constraints, values: FloatArray) -> None:
    """Check that ``Exact`` finds the least value, or refuses if there is none."""
    try:
        found = Exact().minimize(energy, constraints).energy
    except ValueError as error:
        require(len(values) == 0, f"{name} inference with Exact: {error}")
        return
    require(len(values) > 0, f"{name} inference with Exact: a labeling, though none is consistent")
    least = float(values.min())
    close = abs(found - least) <= slack(values)
    require(close, f"{name} inference with Exact: the energy is {found}, the enumerated optimum {least}")


def check_minimum(
    name: str,
    solver: Solver,
    energy: Energy,
    constraints: Constraints,
    labelings: IndexArray,
    values: FloatArray,
    start: IndexArray | None,
    exact: bool = False,
) -> None:
    """Check a solver on an energy whose values for all allowed labelings are known."""
    begin = None if start is None else start.copy()
    result = solver.minimize(energy, constraints, begin)
    found = within_rows(labelings, result.labels)
    require(bool(found.any()), f"{name}: labels {result.labels.tolist()} are not allowed")
    value, least, margin = float(values[found][0]), float(values.min()), slack(values)
    require(
        abs(result.energy - value) <= margin, f"{name}: energy {result.energy} of labels that have {value}"
    )
    require(result.bound is None or result.bound <= least + margin, f"{name}: bound {result.bound} > {least}")
    if start is not None and begin is not None:
        require(np.array_equal(begin, start), f"{name}: the start was changed")
        above = value > values[within_rows(labelings, start)][0] + margin
        require(not above, f"{name}: energy {value} is above that of the start")
    if exact or (energy.n_labels <= 2 and len(energy.sizes) <= 3):
        require(value <= least + margin, f"{name}: energy {value}, where the optimum is {least}")
    if len(energy.sizes):
        return  # best of linear pieces: moves of the true energy may still lower it
    for label in range(energy.n_labels):
        reached = values[((labelings == result.labels) | (labelings == label)).all(axis=1)].min()
        require(value <= reached + margin, f"{name}: expanding label {label} lowers {value} to {reached}")


def check_covers(solver: Solver, energy: Energy, constraints: Constraints, exact: bool) -> bool:
    """Check that covers which can be met are met; return whether they were refused instead."""
    try:
        result = solver.minimize(energy, constraints)
    except ValueError:
        return True
    met = constraints.satisfied(result.labels) and not result.unmet
    require(met, f"covers: {result.labels.tolist()} does not meet all, which is possible")
    if exact:
        labelings = enumerate_labelings(energy.n_nodes, energy.n_labels)
        feasible = [labels for labels in labelings if constraints.satisfied(labels)]
        values = energy.evaluate_many(feasible)
        require(
            result.energy <= values.min() + slack(values),
            "covers: not the optimum among those that meet them",
        )
    return False


def check_refusal(model: Model, problem: LabelingProblem, weights: FloatArray, n: int) -> None:
    """Check that weights of which one is negative, though it must not be, raise ValueError."""
    try:
        model.energy(problem, weights)
    except ValueError:
        return
    raise AssertionError(f"nonnegative: weights[{n}] < 0 must be refused with a ValueError")


def enumerate_labelings(n_nodes: int, n_labels: int) -> IndexArray:
    """All labelings [K^V, V]."""
    if n_labels**n_nodes > MAX_LABELINGS:
        raise ValueError(f"{n_labels} labels for {n_nodes} nodes are too many to enumerate: use fewer nodes")
    labelings = np.array(list(product(range(n_labels), repeat=n_nodes)), dtype=np.int32)
    return labelings.reshape(n_labels**n_nodes, n_nodes)


def within(allowed: BoolArray, labelings: IndexArray) -> BoolArray:
    """Which labelings use allowed labels only."""
    return np.asarray(allowed[np.arange(len(allowed)), labelings].all(axis=1))


def covered(constraints: Constraints, labelings: IndexArray) -> BoolArray:
    """Which labelings meet all covers."""
    starts, met = constraints.cover_starts, np.ones(len(labelings), dtype=np.bool_)
    for begin, end, label in zip(starts[:-1], starts[1:], constraints.cover_labels, strict=True):
        met &= (labelings[:, constraints.cover_nodes[begin:end]] == label).any(axis=1)
    return met


def sized(constraints: Constraints, labelings: IndexArray) -> BoolArray:
    """Which labelings meet all sizes."""
    met = np.ones(len(labelings), dtype=np.bool_)
    limits = constraints.sizes
    for row, label, low, high in zip(limits.weights, limits.labels, limits.low, limits.high, strict=True):
        size = ((labelings == label) * row).sum(axis=1)
        met &= (size >= low - ROUNDING * row.sum()) & (size <= high + ROUNDING * row.sum())
    return met


def within_rows(labelings: IndexArray, labels: IndexArray) -> BoolArray:
    """Which rows are the labeling."""
    return np.asarray((labelings == labels).all(axis=1))


def random_energy(rng: np.random.Generator, edges: IndexArray, shape: tuple[int, int], unit: float) -> Energy:
    """Random scores of about the unit, on the edges."""
    return Energy(unit * rng.standard_normal(shape), edges, unit * rng.random(len(edges)))


def reluctance(constraints: Constraints, energy: Energy, unit: float) -> Energy:
    """Costs of the labels that covers ask for, each another, so that covers are hardly met by chance."""
    costs = np.zeros_like(energy.unary)
    wanted = constraints.cover_labels[owners(constraints.cover_starts)]
    costs[constraints.cover_nodes, wanted] = 10 * unit * (1 + wanted)
    return Energy(costs)


def random_weights(rng: np.random.Generator, weights: FloatArray, limited: slice) -> Iterator[FloatArray]:
    """A few vectors of weights, of which the limited ones are >= 0."""
    for _ in range(3):
        vector = rng.standard_normal(len(weights))
        vector[limited] = np.abs(vector[limited])
        yield vector


def random_problem(rng: np.random.Generator) -> tuple[Energy, BoolArray]:
    """Energy with edges and subsets, and a mask that leaves every node a label."""
    n_nodes, n_labels = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    pairs = np.array([(i, j) for i, j in product(range(n_nodes), repeat=2) if i < j]).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < 0.5]
    nodes = [np.flatnonzero(rng.random(n_nodes) < 0.6) for _ in range(int(rng.integers(4)))]
    subsets = [(group, int(rng.integers(n_labels)), float(2 * rng.random())) for group in nodes]
    energy = Energy(np.zeros((n_nodes, n_labels)), subsets=subsets, offset=float(rng.standard_normal()))
    allowed = rng.random((n_nodes, n_labels)) < 0.8
    allowed[np.arange(n_nodes), rng.integers(n_labels, size=n_nodes)] = True
    return energy + random_energy(rng, edges, (n_nodes, n_labels), 2.0), allowed


def random_covers(rng: np.random.Generator, labels: IndexArray) -> list[tuple[Any, int]]:
    """Covers that the labeling meets."""
    nodes = rng.integers(len(labels), size=2)
    return [(np.append(np.flatnonzero(rng.random(len(labels)) < 0.5), i), int(labels[i])) for i in nodes]


def slack(values: FloatArray) -> float:
    """What rounding may change of such values."""
    return 100 * TOLERANCE * (1.0 + float(np.abs(values).max(initial=0.0)))


def require(condition: bool, message: str) -> None:
    """Raise AssertionError unless the condition holds, also where Python strips assert statements."""
    if not condition:
        raise AssertionError(message)


def require_equal(
    what: str,
    first: str,
    second: str,
    values: FloatArray,
    expected: FloatArray,
    labelings: IndexArray,
    tolerance: float = TOLERANCE,
) -> None:
    """Raise AssertionError unless two values of each labeling are equal, up to rounding."""
    difference = np.abs(values - expected)
    m = int(np.argmax(difference))
    message = f"{what}: {first} is {values[m]}, {second} is {expected[m]}, for labels {labelings[m].tolist()}"
    require(bool(difference[m] <= tolerance * (1.0 + np.abs(expected).max())), message)
