"""The estimators: scikit-learn's conventions, and what must not change the result."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from learning_cases import (
    Floats,
    Labels,
    fulls,
    hinge,
    latent_objective,
    random_problem,
    random_problems,
    tags,
)
from multiutility.annotations import Box, Boxes, Full, Joint, Seed, Seeds, Tags
from multiutility.annotations.annotation import Annotation
from multiutility.inference import Exact, Expansion
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.learning import SSVM, CuttingPlane, FrankWolfe, MultiUtilitySSVM, SelfTraining
from multiutility.learning.optimizers.solution import Record
from multiutility.metrics import accuracy, total_confusion
from multiutility.models import Potts
from multiutility.problem import LabelingProblem


class Hard(Full):
    """A full labeling that counts as a weak annotation."""

    strong: ClassVar[bool] = False


def some(seed: int, n_full: int, n_weak: int) -> tuple[list[LabelingProblem], list[Annotation], list[Labels]]:
    problems, labelings = random_problems(seed, n_full + n_weak)
    return problems, [*fulls(labelings[:n_full]), *tags(labelings[n_full:])], labelings


def test_primal_is_the_objective_of_the_paper() -> None:
    problems, labelings = random_problems(0, 8)
    annotations = fulls(labelings)
    model = SSVM(C=5.0, solver=Exact()).fit(problems, annotations)
    slacks = [
        hinge(p, a, y, model.weights_) for p, a, y in zip(problems, annotations, labelings, strict=True)
    ]
    primal = model.weights_ @ model.weights_ / 2 + 5.0 / 8 * sum(slacks)
    exact = model.objective_[model.objective_["exact"]]
    assert exact["primal"].min() == pytest.approx(primal)
    assert exact["gap"][-1] <= 0.01 * primal
    assert (model.weights_[9:] >= 0).all()


def test_without_weak_annotations_it_is_exactly_the_ssvm() -> None:
    problems, labelings = random_problems(1, 10)
    strong = SSVM(C=5.0, random_state=3).fit(problems, fulls(labelings))
    multi = MultiUtilitySSVM(C=5.0, random_state=3, alpha=0.3).fit(problems, fulls(labelings))
    np.testing.assert_array_equal(strong.weights_, multi.weights_)


def test_full_labelings_as_weak_annotations_have_the_same_objective() -> None:
    problems, labelings = random_problems(2, 8)
    weak = [Hard.from_labels(y, 3) for y in labelings]
    strong = SSVM(C=5.0, solver=Exact(), tol=0.005).fit(problems, fulls(labelings))
    multi = MultiUtilitySSVM(C=5.0, alpha=1.0, solver=Exact(), tol=0.005).fit(problems, weak)
    values = [latent_objective(problems, fulls(labelings), m.weights_, 5.0, 1.0) for m in (strong, multi)]
    assert values[0] == pytest.approx(values[1], rel=0.005)
    half = MultiUtilitySSVM(C=10.0, alpha=0.5, solver=Exact(), tol=0.005).fit(problems, weak)
    value = latent_objective(problems, fulls(labelings), half.weights_, 5.0, 1.0)
    assert value == pytest.approx(values[0], rel=0.005)


def objective_of(model: SSVM) -> float:
    exact = model.objective_[model.objective_["exact"]]
    return float(exact["primal"].min())


@pytest.mark.parametrize("what", ["instances", "nodes", "labels"])
def test_order_does_not_matter(what: str) -> None:
    """Permutations leave the optimum where it is, within the gap."""
    problems, labelings = random_problems(3, 8)
    rng = np.random.default_rng(0)
    if what == "instances":
        order = rng.permutation(8)
        others, relabeled = [problems[n] for n in order], [labelings[n] for n in order]
    elif what == "nodes":
        orders = [rng.permutation(4) for _ in problems]
        others = [permuted(p, order) for p, order in zip(problems, orders, strict=True)]
        relabeled = [y[order] for y, order in zip(labelings, orders, strict=True)]
    else:
        names = rng.permutation(3).astype(np.int32)
        others, relabeled = problems, [names[y] for y in labelings]
    first = SSVM(C=5.0, solver=Exact(), tol=0.002).fit(problems, fulls(labelings))
    other = SSVM(C=5.0, solver=Exact(), tol=0.002).fit(others, fulls(relabeled))
    assert objective_of(first) == pytest.approx(objective_of(other), rel=0.002)


def permuted(problem: LabelingProblem, order: NDArray[np.int64]) -> LabelingProblem:
    place = np.argsort(order)
    features, sizes = problem.node_features[order], problem.node_sizes[order]
    return LabelingProblem(features, place[problem.edges], problem.edge_features, sizes)


@pytest.mark.parametrize("kind", [SSVM, MultiUtilitySSVM, SelfTraining])
def test_same_result_for_any_number_of_jobs(kind: type[SSVM]) -> None:
    n_full = 10 if kind is SSVM else 4
    problems, annotations, _ = some(4, n_full, 10 - n_full)
    models = [kind(C=5.0, random_state=0, n_jobs=n, tol=0.05).fit(problems, annotations) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].weights_, models[1].weights_)


def test_objective_never_rises_over_outer_iterations() -> None:
    problems, annotations, _ = some(5, 2, 8)
    model = MultiUtilitySSVM(C=20.0, alpha=0.5, solver=Exact(), imputer=Exact()).fit(problems, annotations)
    assert model.n_iter_ >= 1
    assert (np.diff(model.outer_objective_) <= 1e-9).all()
    value = latent_objective(problems, annotations, model.weights_, 20.0, 0.5)
    assert value <= model.outer_objective_[-1] + 1e-9
    for problem, annotation, labels in zip(problems, annotations, model.imputed_, strict=True):
        assert labels is not None
        assert annotation.constraints(problem).satisfied(labels)


def scenes(seed: int, count: int) -> tuple[list[LabelingProblem], list[Labels]]:
    """Problems of two out of four labels each, whose features tell them apart."""
    rng = np.random.default_rng(seed)
    centers = 2.5 * np.eye(4, 6)
    problems, labelings = [], []
    for _ in range(count):
        labels = np.repeat(rng.choice(4, 2, replace=False), 6).astype(np.int32)
        features = centers[labels] + rng.standard_normal((12, 6))
        chain = np.stack((np.arange(11), np.arange(1, 12)), axis=1)
        problems.append(LabelingProblem(features, chain, np.ones((11, 1)), np.full(12, 1 / 12)))
        labelings.append(labels)
    return problems, labelings


def test_tags_alone_teach_labels() -> None:
    problems, labelings = scenes(0, 40)
    weak = tags(labelings, 4)
    model = MultiUtilitySSVM(C=0.5, alpha=1.0, random_state=0, tol=0.05)
    model.fit(problems[:30], weak[:30])
    assert model.score(problems[30:], fulls(labelings[30:], 4)) > 0.85


@pytest.mark.parametrize("loss", ["strong", "weak"])
def test_self_training(loss: Any) -> None:
    problems, labelings = scenes(1, 30)
    annotations = [*fulls(labelings[:4], 4), *tags(labelings[4:20], 4)]
    model = SelfTraining(C=0.5, alpha=0.5, loss=loss, random_state=0, tol=0.05).fit(
        problems[:20], annotations
    )
    first = SSVM(C=0.5, random_state=0, tol=0.05).fit(problems[:4], annotations[:4])
    held_out = problems[20:], fulls(labelings[20:], 4)
    assert model.score(*held_out) >= first.score(*held_out) - 0.05
    hardened = fulls([y for y in model.imputed_ if y is not None], 4)
    losses = annotations if loss == "weak" else hardened
    total = model.weights_ @ model.weights_ / 2
    for n, (problem, annotation) in enumerate(zip(problems[:20], losses, strict=True)):
        energy = Potts(4).energy(problem, model.weights_)
        found = Expansion().minimize(energy + annotation.loss_energy(problem)).energy
        labels = model.imputed_[n]
        assert labels is not None
        total += 0.5 / 20 * (1.0 if n < 4 else 0.5) * (energy.evaluate(labels) - found)
    assert objective_of_last(model) == pytest.approx(total, rel=0.05)


def objective_of_last(model: SSVM) -> float:
    return float(model.objective_["primal"][-1])


def test_self_training_knows_its_losses() -> None:
    problems, annotations, _ = some(4, 2, 2)
    with pytest.raises(ValueError, match="loss is 'other'"):
        SelfTraining().set_params(loss="other").fit(problems, annotations)


def test_scikit_learn_conventions() -> None:
    model = MultiUtilitySSVM(C=3.0, alpha=0.2, class_weight="balanced", solver=Expansion(passes=2))
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied is not model
    assert copied.set_params(C=7.0).C == 7.0
    for kind in (SSVM, MultiUtilitySSVM, SelfTraining):
        assert set(kind().get_params()) >= {"C", "tol", "class_weight", "random_state", "n_jobs", "verbose"}
        with pytest.raises(NotFittedError):
            kind().predict([])


def test_model_selection() -> None:
    problems, labelings = scenes(6, 12)
    annotations = fulls(labelings, 4)
    search = GridSearchCV(SSVM(tol=0.1), {"C": [1e-9, 0.1], "class_weight": [None, "balanced"]}, cv=3)
    search.fit(problems, annotations)
    assert search.cv_results_["mean_test_score"].shape == (4,)
    assert search.best_estimator_.score(problems, annotations) > 0.9
    scores = cross_val_score(MultiUtilitySSVM(C=0.1, tol=0.1), problems, tags(labelings, 4), cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8


def test_score_is_accuracy_without_void() -> None:
    problems, labelings = random_problems(7, 6)
    model = SSVM(C=5.0).fit(problems, fulls(labelings))
    truths = [np.where(np.arange(4) == n % 4, -1, y) for n, y in enumerate(labelings)]
    sizes: list[Floats] = [p.node_sizes for p in problems]
    expected = accuracy(total_confusion(truths, model.predict(problems), 3, sizes))
    assert model.score(problems, fulls(truths)) == pytest.approx(expected)


def test_decision_function_are_scores_of_nodes() -> None:
    problems, labelings = random_problems(7, 6)
    model = SSVM(C=5.0).fit(problems, fulls(labelings))
    for problem, scores in zip(problems, model.decision_function(problems), strict=True):
        np.testing.assert_allclose(scores, problem.node_features @ model.weights_[:9].reshape(3, 3).T)


def test_void_nodes_are_dropped_or_imputed() -> None:
    rng = np.random.default_rng(8)
    problems = [random_problem(rng, 5) for _ in range(6)]
    labelings = [p.node_features.argmax(axis=1).astype(np.int32) for p in problems]
    for n, labels in enumerate(labelings):
        labels[n % 5] = -1
    annotations = fulls(labelings)
    strong = SSVM(C=5.0, solver=Exact()).fit(problems, annotations)
    kept = [np.flatnonzero(y >= 0) for y in labelings]
    smaller = [restricted(p, nodes) for p, nodes in zip(problems, kept, strict=True)]
    other = SSVM(C=5.0, solver=Exact()).fit(
        smaller, fulls([y[k] for y, k in zip(labelings, kept, strict=True)])
    )
    assert objective_of(strong) == pytest.approx(objective_of(other), rel=0.01)
    multi = MultiUtilitySSVM(C=5.0, solver=Exact(), imputer=Exact()).fit(problems, annotations)
    for labels, imputed in zip(labelings, multi.imputed_, strict=True):
        assert imputed is not None
        np.testing.assert_array_equal(imputed[labels >= 0], labels[labels >= 0])
    value = latent_objective(problems, annotations, multi.weights_, 5.0, 1.0)
    assert value <= multi.outer_objective_[-1] + 1e-9


def restricted(problem: LabelingProblem, nodes: Any) -> LabelingProblem:
    inside = np.isin(problem.edges, nodes).all(axis=1)
    edges = np.searchsorted(nodes, problem.edges[inside])
    return LabelingProblem(
        problem.node_features[nodes], edges, problem.edge_features[inside], problem.node_sizes[nodes]
    )


def test_problems_without_annotation_are_left_out() -> None:
    problems, annotations, _ = some(9, 3, 3)
    some_missing = [annotations[0], None, annotations[2], annotations[3], None, annotations[5]]
    kept = [n for n, annotation in enumerate(some_missing) if annotation is not None]
    model = MultiUtilitySSVM(C=5.0, random_state=0).fit(problems, some_missing)
    other = MultiUtilitySSVM(C=5.0, random_state=0).fit(
        [problems[n] for n in kept], [annotations[n] for n in kept]
    )
    np.testing.assert_array_equal(model.weights_, other.weights_)
    assert [labels is None for labels in model.imputed_] == [n not in kept for n in range(6)]


@pytest.mark.parametrize("class_weight", ["balanced", {1: 4.0, 2: 0.5}])
def test_class_weights_scale_all_losses(class_weight: Any) -> None:
    """The same as weighted annotations, strong and weak, of mean weight 1 over all that is annotated."""
    problems, annotations, _ = some(10, 4, 4)
    sizes = np.sum([a.label_sizes(p) for p, a in zip(problems, annotations, strict=True)], axis=0)
    omega = 1 / sizes if class_weight == "balanced" else np.array([1.0, 4.0, 0.5])
    omega *= sizes.sum() / (omega @ sizes)
    weighted: list[Annotation] = [annotation.weighted(omega) for annotation in annotations]
    model = MultiUtilitySSVM(C=5.0, class_weight=class_weight, random_state=0).fit(problems, annotations)
    other = MultiUtilitySSVM(C=5.0, random_state=0).fit(problems, weighted)
    np.testing.assert_allclose(model.weights_, other.weights_)
    plain = MultiUtilitySSVM(C=5.0, random_state=0).fit(problems, annotations)
    assert not np.allclose(model.weights_, plain.weights_)


def test_callback_and_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    problems, annotations, _ = some(11, 3, 3)
    records: list[Record] = []
    model = MultiUtilitySSVM(verbose=1, callback=records.append).fit(problems, annotations)
    assert len(records) == len(model.objective_) == capsys.readouterr().out.count("\n")
    assert records[-1].primal == model.objective_["primal"][-1]
    assert {"primal", "dual", "gap", "seconds"} <= set(model.objective_.dtype.names or ())


def test_fitted_models_can_be_pickled() -> None:
    problems, annotations, _ = some(12, 4, 0)
    model = SSVM().fit(problems, annotations)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.weights_, model.weights_)


def test_any_optimizer_will_do() -> None:
    problems, annotations, _ = some(13, 4, 4)
    values = [
        MultiUtilitySSVM(C=5.0, optimizer=optimizer, random_state=0)
        .fit(problems, annotations)
        .outer_objective_[-1]
        for optimizer in (FrankWolfe(batch_size=2), CuttingPlane())
    ]
    # Two local minima may differ, but not by much here.
    assert values[0] == pytest.approx(values[1], rel=0.1)


def test_too_few_passes_warn() -> None:
    problems, annotations, _ = some(14, 6, 0)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after \d+ passes with a gap of \d+\.\d%, not below tol"
    ):
        SSVM(C=100.0, tol=1e-6, optimizer=FrankWolfe(max_passes=2)).fit(problems, annotations)


def test_contradictions_end_with_a_warning() -> None:
    """Three tags that must all appear on two nodes."""
    problems, labelings = random_problems(15, 4, n_nodes=2)
    annotations: list[Annotation] = [*tags(labelings[:3]), Tags([0, 1, 2], 3, strict=True)]
    with pytest.warns(UnmetCoverWarning, match=r"annotations\[3\]"):
        model = MultiUtilitySSVM(C=5.0).fit(problems, annotations)
    assert np.isfinite(model.weights_).all()


def test_boxes_that_exclude_each_other_end_with_a_warning() -> None:
    """Two tight boxes of different labels around the same single node."""
    problems, labelings = random_problems(17, 4)
    first, second = (Box(label, rows=[[0]], columns=[[0]]) for label in (0, 1))
    annotations: list[Annotation] = [*tags(labelings[:3]), Boxes([first, second], 3, tags=[2])]
    with pytest.warns(UnmetCoverWarning, match=r"annotations\[3\]"):
        model = MultiUtilitySSVM(C=5.0).fit(problems, annotations)
    assert np.isfinite(model.weights_).all()


def test_boxes_without_tags_leave_the_rest_open() -> None:
    problems, labelings = random_problems(18, 4)
    boxes = Boxes([Box(0, rows=[[0, 1]], columns=[[0], [1]])], 3)
    model = MultiUtilitySSVM(C=5.0).fit(problems, [*fulls(labelings[:3]), boxes])
    assert model.imputed_[3] is not None
    assert (model.imputed_[3][[0, 1]] == 0).all()
    assert (model.imputed_[3][2:] != 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tags([], 3), "tags are empty"),
        (lambda: Boxes([], 3), "no tags, boxes or seeds"),
        (lambda: Box(0, rows=[], columns=[]), "rows"),
        (lambda: Seeds([Seed.in_grid(k, (0,), regions=np.arange(4)) for k in (0, 1)], 3), "seed"),
        (
            lambda: Joint([2], [Box(0, [[1]], [[1]])], [Seed.in_grid(0, (0,), regions=np.arange(4))], 3),
            "seed",
        ),
    ],
)
def test_annotations_that_nothing_can_agree_with_are_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("parameters", "annotations", "message"),
    [
        ({"C": -1.0}, fulls([np.zeros(4, dtype=np.int32)] * 2), "C is -1.0"),
        ({"tol": 0.0}, fulls([np.zeros(4, dtype=np.int32)] * 2), "tol is 0.0"),
        ({}, fulls([np.zeros(4, dtype=np.int32)]), "2 problems, but 1 annotations"),
        ({}, [None, None], "nothing to learn from"),
        ({}, tags([np.zeros(4, dtype=np.int32)] * 2), r"annotations\[0\] is weak"),
        (
            {},
            [Full.from_labels([0] * 4, 3), Full.from_labels([0] * 4, 2)],
            r"annotations\[1\] has 2 labels",
        ),
    ],
)
def test_errors(parameters: dict[str, Any], annotations: list[Annotation | None], message: str) -> None:
    problems, _ = random_problems(16, 2)
    with pytest.raises(ValueError, match=message):
        SSVM(**parameters).fit(problems, annotations)


def test_features_must_fit() -> None:
    rng = np.random.default_rng(0)
    problems = [random_problem(rng), random_problem(rng, n_features=4)]
    with pytest.raises(ValueError, match=r"problems\[1\] has 4 node_features"):
        SSVM().fit(problems, fulls([np.zeros(4, dtype=np.int32)] * 2))


def grid(rng: np.random.Generator) -> tuple[LabelingProblem, Labels]:
    """Six nodes in two rows, of which the middle column is a thing of label 2."""
    labels = np.array([0, 2, 1, 0, 2, 1], dtype=np.int32)
    edges = [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    features = 2 * np.eye(3)[labels] + 0.5 * rng.standard_normal((6, 3))
    return LabelingProblem(features, edges, np.ones((7, 1)), np.full(6, 1 / 6)), labels


def middle(label: int) -> Box:
    return Box(label, rows=[[1], [4]], columns=[[1, 4]])


def test_every_kind_at_once() -> None:
    rng = np.random.default_rng(0)
    pairs = [grid(rng) for _ in range(12)]
    problems, labelings = [problem for problem, _ in pairs], [labels for _, labels in pairs]
    seed = Seed.in_grid(2, (0, 1), regions=np.arange(6).reshape(2, 3))
    annotations: list[Annotation] = [
        *fulls(labelings[:1]),
        *[Boxes([middle(2)], 3, tags=[0, 1]) for _ in range(3)],
        *[Seeds([seed], 3, tags=[0, 1]) for _ in range(3)],
        *[Joint([0, 1], [middle(2)], [seed], 3) for _ in range(2)],
        *tags(labelings[9:]),
    ]
    model = MultiUtilitySSVM(C=1.0, alpha=1.0, random_state=0).fit(problems, annotations)
    assert model.score(problems, fulls(labelings)) > 0.95
    for problem, annotation, labels in zip(problems, annotations, model.imputed_, strict=True):
        assert labels is not None
        assert annotation.constraints(problem).satisfied(labels)


def test_two_things_that_need_the_same_node_end_with_a_warning() -> None:
    rng = np.random.default_rng(1)
    problems = [grid(rng)[0] for _ in range(3)]
    spot = [Box(label, rows=[[4]], columns=[[4]]) for label in (1, 2)]
    column = Boxes([middle(2)], 3, tags=[0, 1])
    annotations: list[Annotation] = [column, column, Boxes(spot, 3, tags=[0])]
    with pytest.warns(UnmetCoverWarning, match=r"annotations\[2\]: 1 covers"):
        model = MultiUtilitySSVM(C=1.0, random_state=0).fit(problems, annotations)
    assert np.isfinite(model.weights_).all()


def test_expected_losses_learn_from_a_mixture() -> None:
    """Tags alone, as the paper's losses: what they mean for the labels is found first."""
    rng = np.random.default_rng(3)
    truth = [rng.permutation([a, a, b, b]).astype(np.int32) for a, b in [(0, 1), (0, 2), (1, 2)] * 8]
    features = [np.eye(3)[y] + 0.3 * rng.standard_normal((4, 3)) for y in truth]
    problems = [LabelingProblem(x, [[0, 1], [1, 2], [2, 3]], np.ones((3, 1))) for x in features]
    model = MultiUtilitySSVM(C=10, alpha=1.0, weak_loss="expected", tol=0.05, random_state=0)
    model.fit(problems, tags(truth))
    assert model.score(problems, fulls(truth)) > 0.9
    wrong: Any = "strong"
    with pytest.raises(ValueError, match="weak_loss is 'strong'"):
        MultiUtilitySSVM(weak_loss=wrong).fit(problems, tags(truth))
