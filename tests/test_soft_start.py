"""Soft labels to begin with."""

from __future__ import annotations

import numpy as np

from learning_cases import fulls, random_problems, tags
from multiutility.annotations import Annotation, Box, Boxes, Tags
from multiutility.inference import Expansion, Pinpoint
from multiutility.learning.examples import make_examples
from multiutility.learning.starts.locality import moments_of, within_parts
from multiutility.learning.starts.soft import BALANCE, likeliest, soft_start
from multiutility.learning.starts.soft_labels import CERTAIN, LEAST_COVERED, losses_of, make_part, sharpened
from multiutility.metrics import confusion, recall
from multiutility.models import Potts
from multiutility.parallel import Threads
from multiutility.problem import LabelingProblem


def test_soft_labels_are_a_logistic_regression() -> None:
    """The gradient, computed anew for one long table of nodes, is zero where the first round ends."""
    problems, labelings = random_problems(5, 6)
    annotations = [*fulls(labelings[:2]), *tags(labelings[2:])]
    examples = make_examples(problems, annotations)
    found = soft_start(examples, shrinkage=[0.1], n_iterations=500, locality=0.0).weights
    features = np.concatenate([p.node_features for p in problems])
    features = features / np.linalg.norm(features, axis=1, keepdims=True)
    sizes = np.concatenate([p.node_sizes * (CERTAIN if n < 2 else 1) for n, p in enumerate(problems)])
    soft = np.concatenate([a.prior(p) for p, a in zip(problems, annotations, strict=True)])
    counts = sizes[:, np.newaxis] * soft / (sizes @ soft) ** BALANCE
    counts /= counts.sum()
    weights = found[:9].reshape(3, 3)
    shares = np.exp(features @ weights.T)
    shares /= shares.sum(axis=1, keepdims=True)
    gradient = (counts.sum(axis=1, keepdims=True) * shares - counts).T @ features + 0.1 * weights
    np.testing.assert_allclose(gradient, 0, atol=1e-5)
    assert (found[9:] == 0).all()


def test_products_that_are_kept_are_those_at_the_same_weights() -> None:
    problems, labelings = random_problems(0, 4)
    examples = make_examples(problems, tags(labelings))
    part, rng = make_part(examples, np.ones(3)), np.random.default_rng(0)
    for rows in rng.standard_normal((2, 3, 3)):
        for _ in range(2):
            fresh = make_part(examples, np.ones(3))
            found, anew = losses_of(part, part.priors, rows), losses_of(fresh, fresh.priors, rows)
            assert all(np.array_equal(one, other) for one, other in zip(found, anew, strict=True))
            sharp = zip(
                sharpened(part, rows, 2.0), sharpened(make_part(examples, np.ones(3)), rows, 2.0), strict=True
            )
            assert all(np.array_equal(one, other) for one, other in sharp)


def test_soft_labels_tell_apart_what_comes_together() -> None:
    """Grass is in all pictures, a cow in a third of them, sky in another; only tags are known."""
    rng = np.random.default_rng(0)
    truth = [np.array([0, 0, 0, extra]) for extra in (0, 1, 2) * 20]
    problems = [
        LabelingProblem(np.eye(3)[y] + 0.3 * rng.standard_normal((4, 3)), [], np.zeros((0, 1))) for y in truth
    ]
    examples = make_examples(problems, tags([labels.astype(np.int32) for labels in truth]))
    weights = soft_start(examples).weights
    found = np.concatenate([Potts(3).scores(problem, weights).argmax(axis=1) for problem in problems])
    recalls = recall(confusion(np.concatenate(truth), found, 3))
    assert recalls.min() > 0.9


def test_what_surrounds_things_does_not_count() -> None:
    """Grass around cows looks like it in all of the picture, and only there."""
    rng = np.random.default_rng(1)
    truth = [np.array([0, 0, 0, extra]) for extra in (1, 2) * 15]
    features = [np.column_stack((np.eye(3)[y], np.tile(np.eye(3)[y[-1]], (4, 1)))) for y in truth]
    noisy = [2 * x + 0.5 * rng.standard_normal(x.shape) for x in features]
    problems = [LabelingProblem(x, [], np.zeros((0, 1))) for x in noisy]
    examples = make_examples(problems, tags([labels.astype(np.int32) for labels in truth]))
    shares = [soft_start(examples, locality=power).shares for power in (0.0, 5.0)]
    right = [np.mean([q.argmax(axis=1) for q in found] == np.array(truth)) for found in shares]
    assert right[0] < 0.9 < 0.95 < right[1]


def test_labels_of_boxes_keep_their_size() -> None:
    """Nothing in the features tells the box from the rest."""
    box = Box(1, rows=[[0, 1], [2, 3]], columns=[[0, 2], [1, 3]])
    problem = LabelingProblem(np.ones((8, 1)), [], np.zeros((0, 1)))
    annotations: list[Annotation] = [Boxes([box], n_labels=2, tags=[0])]
    (shares,) = soft_start(make_examples([problem], annotations)).shares
    assert (shares[4:, 0] == 1).all()
    assert shares[:4, 1].sum() >= LEAST_COVERED * 2 - 1e-6


def test_start_meets_covers() -> None:
    box = Box(1, rows=[[0, 1], [2, 3]], columns=[[0, 2], [1, 3]])
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    problem = LabelingProblem(features, [], np.zeros((0, 1)))
    examples = make_examples([problem], [Boxes([box], n_labels=2, tags=[0])])
    (labels,) = likeliest(examples, soft_start(examples).shares, Pinpoint(Expansion()))
    assert examples[0].constraints.satisfied(labels)


def test_start_does_not_depend_on_threads() -> None:
    """Several parts, whose sums are put together in the same order."""
    problems, labelings = random_problems(3, 40)
    examples = make_examples(problems, [*fulls(labelings[:5]), *tags(labelings[5:])])
    alone = soft_start(examples)
    with Threads(3) as executor:
        shared = soft_start(examples, executor=executor)
    assert np.array_equal(alone.weights, shared.weights)
    for one, other in zip([*alone.shares, *alone.told], [*shared.shares, *shared.told], strict=True):
        assert np.array_equal(one, other)


def test_a_constant_feature_changes_nothing() -> None:
    """Soft labels come from what differs; how frequent labels are is for the learner to find out."""
    problems, labelings = random_problems(4, 12)
    # Rows of length 1, as those of presets: a constant is then the same part of all of them.
    unit = [p.node_features / np.linalg.norm(p.node_features, axis=1, keepdims=True) for p in problems]
    wider = [np.column_stack((rows, np.ones(len(rows)))) for rows in unit]
    plain, constant = (
        [
            LabelingProblem(x, p.edges, p.edge_features, p.node_sizes)
            for x, p in zip(some, problems, strict=True)
        ]
        for some in (unit, wider)
    )
    found = [soft_start(make_examples(some, tags(labelings))).shares for some in (plain, constant)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_features_that_are_relative_to_their_image_are_no_more_local_than_others() -> None:
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(20):
        common, own = rng.standard_normal((1, 9)), rng.standard_normal((50, 10))
        features = np.column_stack((common + own[:, :9], 0.1 * (own[:, 9:] - own[:, 9:].mean())))
        problems.append(LabelingProblem(features, [], np.zeros((0, 1))))
    tags: list[Annotation] = [Tags([0, 1], n_labels=2)] * 20
    found = within_parts(moments_of(make_examples(problems, tags)))
    # Nine features have half of their variance within; the tenth has all of it there, by construction.
    assert np.all(np.abs(found[:9] - 0.5) < 0.2)
    assert found[9] == found[:9].max()
