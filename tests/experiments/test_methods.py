"""Methods that are compared: self-training, models without neighbors, and plain regressions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from multiutility.experiments.methods import (
    METHODS,
    OURS,
    SELF_STRONG,
    SELF_WEAK,
    learn,
    method_parameters,
)
from multiutility.kinds import PixelAnnotation, PixelBox
from multiutility.learning import SelfTraining
from multiutility.models import Potts
from multiutility.vision import Segmenter
from multiutility.vision.baselines import Naive, Penalties, filled, logistic_weights, ridge_weights
from multiutility.vision.learning import Units
from multiutility.vision.training_set import TrainingSet, annotated_photos
from toy import toy_preset, write_mixed, write_toy

FAST: dict[str, Any] = {"C": 1.0, "tol": 0.3, "max_iter": 1, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> TrainingSet:
    folder = tmp_path_factory.mktemp("methods")
    dataset = write_mixed(folder / "mixed", write_toy(folder / "toy", n_train=8, n_validation=1))
    return Segmenter(toy_preset()).prepare(annotated_photos(dataset), dataset.classes)


@pytest.mark.parametrize(("method", "loss"), [(SELF_STRONG, "strong"), (SELF_WEAK, "weak")])
def test_self_training_is_that_of_the_learner(
    mixed: TrainingSet, method: str, loss: Literal["strong", "weak"]
) -> None:
    given = method_parameters(SELF_STRONG, {**FAST, "alpha": 0.3})
    found = METHODS[method](mixed, given)
    units = Units.of(mixed.problems()[:2])  # of the images with masks
    problems = [units.balanced(problem) for problem in mixed.problems()]
    learner = SelfTraining(1.0 / units.nodes**2, loss=loss, alpha=0.3, tol=0.3, random_state=0)
    learner.set_params(class_weight=0.25)
    learner.fit(problems, mixed.annotations(beta=1.0))
    layout = Potts(len(mixed.classes)).layout(problems[0])
    assert found.weights == pytest.approx(units.weights(learner.weights_, layout), abs=1e-9)


def test_local_models_have_no_pairwise_weights(mixed: TrainingSet) -> None:
    weights = learn("local", mixed, FAST).weights
    n_edges = mixed.prepared[0].problem.edge_features.shape[1]
    assert not weights[-n_edges:].any()
    assert weights[:-n_edges].any()


def test_boxed_labels_are_not_spread_if_they_are_tagged_too() -> None:
    regions = np.array([[0, 0, 1, 1]], dtype=np.int32)
    box = PixelBox(1, left=0, top=0, right=2, bottom=1)
    assert filled(PixelAnnotation(tags=(1, 2), boxes=(box,)), regions, 3).tolist() == [[0, 2, 0], [0, 0, 2]]
    assert filled(PixelAnnotation(tags=(1,), boxes=(box,)), regions, 3).tolist() == [[0, 2, 0], [0, 2, 0]]


@pytest.mark.parametrize("method", ["ridge", "logistic"])
def test_naive_methods_learn_the_toy(mixed: TrainingSet, method: str) -> None:
    model = learn(method, mixed, {})
    assert set(model.about["chosen"]) == {"penalty", "merit"}
    labels = model.labelings(mixed.prepared[:2])
    for n, given in enumerate(labels):
        mask = mixed.small_annotation(n).mask
        assert mask is not None
        known = mask > 0
        assert ((given + 1)[mixed.prepared[n].regions] == mask)[known].mean() > 0.6


def test_logistic_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5)).astype(np.float32)
    labels = np.argmax(x[:, :3] + rng.normal(size=(60, 3)), axis=1)
    sizes = rng.integers(1, 9, size=60).astype(np.float64)
    counts = np.eye(3)[labels] * sizes[:, np.newaxis]
    squares = float(sizes @ (x.astype(np.float64) ** 2).sum(axis=1) / sizes.sum())
    # scikit-learn minimizes |W|^2 / 2 + C sum_i s_i loss_i.
    model = LogisticRegression(
        C=1 / (0.02 * squares * sizes.sum()), fit_intercept=False, tol=1e-8, max_iter=1000
    )
    model.fit(x, labels, sample_weight=sizes)
    found = logistic_weights([x[:20], x[20:]], [counts[:20], counts[20:]], penalty=0.02)
    assert found == pytest.approx(model.coef_, abs=1e-3)


def test_experiments_learn_as_train_does(mixed: TrainingSet) -> None:
    ours = learn(OURS, mixed, {**method_parameters(OURS, FAST), "random_state": 0})
    alone = Segmenter(toy_preset(), **FAST).fit_prepared(mixed).predictor_
    assert np.array_equal(ours.weights, alone.weights)
    assert ours.about == alone.about
    assert ours.about["method"] == "auto"
    assert set(ours.about["chosen"]) >= {"start", "class_weight"}
    paper = method_parameters(OURS, {"method": "paper"})
    assert (paper["method"], paper["alpha"], paper["class_weight"]) == ("paper", None, "auto")
    assert method_parameters(SELF_STRONG, {"alpha": 0.5, "method": "auto"})["method"] == "paper"


def test_penalties_are_chosen_by_held_out_masks() -> None:
    rng = np.random.default_rng(1)
    tried: list[tuple[int, float]] = []

    def regression(x: Any, targets: Any, penalty: float) -> Any:
        tried.append((len(x), penalty))
        return ridge_weights(x, targets, penalty)

    # Labels are the larger of two features; the second image says the opposite of all others.
    features = [rng.normal(size=(40, 2)).astype(np.float32) for _ in range(5)]
    targets = [np.eye(2)[(x.argmax(axis=1) + (n == 1)) % 2] for n, x in enumerate(features)]
    naive = Naive(regression, Penalties((0.01, 1.0), usual=0.01))
    assert naive.compare(features, targets, [3]) == {}
    merits = naive.compare(features, targets, [0, 2, 3, 4])
    # Three folds, of two masks and of one; the weakly annotated image is always learned from.
    assert tried == [(n, penalty) for penalty in (0.01, 1.0) for n in (3, 4, 4)]
    for penalty, found in merits.items():
        matrix = np.zeros((2, 2))
        for held_out in ((0, 4), (2,), (3,)):
            known = [n for n in range(5) if n not in held_out]
            weights = ridge_weights([features[n] for n in known], [targets[n] for n in known], penalty)
            for n in held_out:
                np.add.at(matrix, (targets[n].argmax(axis=1), (features[n] @ weights.T).argmax(axis=1)), 1)
        recall = np.mean(np.diag(matrix) / matrix.sum(axis=1))
        union = np.mean(np.diag(matrix) / (matrix.sum(axis=0) + matrix.sum(axis=1) - np.diag(matrix)))
        assert found == pytest.approx((np.trace(matrix) / matrix.sum() + recall + union) / 3)
