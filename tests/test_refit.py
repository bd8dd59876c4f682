"""Fits that start from the last one: the objective of a fit from nothing, whatever has changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning_cases import Labels, all_labelings, fulls, hinge, latent_objective, random_problems, tags
from multiutility.annotations import Full, Tags
from multiutility.annotations.annotation import Annotation
from multiutility.inference import Exact
from multiutility.learning import CuttingPlane, MultiUtilitySSVM
from multiutility.models import Potts
from multiutility.problem import LabelingProblem

TOL = 0.02
C = 5.0


def learner(**parameters: object) -> MultiUtilitySSVM:
    given = {"C": C, "tol": TOL, "solver": Exact(), "random_state": 0, "warm_start": True, **parameters}
    return MultiUtilitySSVM(**given)  # type: ignore[arg-type]


def frozen_objective(model: MultiUtilitySSVM, weights: np.ndarray) -> float:
    """The objective under what was chosen, written out: hinges by enumeration, C shared by trust."""
    assert model.kept_ is not None
    examples = model.kept_.examples
    costs = model.kept_.frozen.costs(examples)
    assert costs.sum() == pytest.approx(C)
    total = float(weights @ weights / 2)
    for one, cost in zip(examples, costs, strict=True):
        # Ignored nodes have no edges and no loss: enumeration lets them win nothing.
        anchor = one.annotation.start(one.problem)
        total += cost * visible_hinge(one.problem, one.annotation, anchor, one.ignored, weights)
    return total


def visible_hinge(
    problem: LabelingProblem,
    annotation: Annotation,
    anchor: Labels,
    ignored: np.ndarray | None,
    weights: np.ndarray,
) -> float:
    if ignored is None:
        return hinge(problem, annotation, anchor, weights)
    model = Potts(annotation.n_labels)
    base = weights @ model.joint_feature(problem, anchor)
    labelings = all_labelings(problem.n_nodes, annotation.n_labels).astype(np.int32)
    held = [np.where(ignored, anchor, labels) for labels in labelings]
    return float(
        max(annotation.loss(problem, y) + weights @ model.joint_feature(problem, y) for y in held) - base
    )


def from_nothing(model: MultiUtilitySSVM) -> float:
    """The objective of weights that another optimizer finds for the same examples, from zero."""
    assert model.kept_ is not None
    risk = model.kept_.risk
    return frozen_objective(model, CuttingPlane().minimize(risk, 0.001).weights)


def edited(
    rng: np.random.Generator, annotations: Sequence[Annotation | None], n_nodes: int, n_labels: int
) -> list[Annotation | None]:
    """One annotation other than before: a mask, tags, or none."""
    found = list(annotations)
    place = int(rng.integers(len(found)))
    labels = rng.integers(n_labels, size=n_nodes)
    weak = Tags(np.unique(labels).tolist(), n_labels)
    kinds: list[Annotation | None] = [Full.from_labels(labels, n_labels), weak, None]
    found[place] = kinds[int(rng.choice(3, p=[0.5, 0.3, 0.2]))]
    return found if any(one is not None for one in found) else list(annotations)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_masks_have_the_objective_of_a_fit_from_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problems, labelings = random_problems(seed, 6)
    model = learner().fit(problems[:4], fulls(labelings[:4]))
    annotations: list[Annotation | None] = [*fulls(labelings[:4])]
    given: list[LabelingProblem] = problems[:4]
    for edit in range(4):
        if edit == 2:
            given, annotations = problems, [*annotations, *fulls(labelings[4:])]
        annotations[int(rng.integers(4))] = Full.from_labels(rng.integers(3, size=4), 3)
        model.refit(given, annotations)
        again = learner().fit(given, annotations)
        known = [(p, a) for p, a in zip(given, annotations, strict=True) if a is not None]
        args = ([p for p, _ in known], [a for _, a in known])
        ours, other = (latent_objective(*args, m.weights_, C, 0.1) for m in (model, again))
        assert ours <= other * (1 + 1.05 * TOL)
        assert other <= ours * (1 + 1.05 * TOL)
        assert model.outer_objective_[-1] == pytest.approx(ours)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_chosen_losses_have_the_objective_of_another_optimizer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problems, labelings = random_problems(seed, 7)
    annotations: list[Annotation | None] = [*fulls(labelings[:4]), *tags(labelings[4:])]
    model = learner(weak_loss="expected", alpha=0.5, class_weight=0.5).fit(problems, annotations)
    for _ in range(4):
        annotations = edited(rng, annotations, 4, 3)
        model.refit(problems, annotations)
        ours, other = frozen_objective(model, model.weights_), from_nothing(model)
        assert model.outer_objective_[-1] == pytest.approx(ours)
        assert other * (1 - 0.002) <= ours <= other * (1 + 1.05 * TOL)


def test_weak_losses_never_end_above_the_weights_before() -> None:
    problems, labelings = random_problems(3, 6)
    annotations: list[Annotation | None] = [*fulls(labelings[:2]), *tags(labelings[2:])]
    model = learner(alpha=1.0).fit(problems, annotations)
    before = model.weights_
    annotations[4] = Tags([0, 2], 3)
    model.refit(problems, annotations)
    known = [one for one in annotations if one is not None]
    old, new = (latent_objective(problems, known, w, C, 1.0) for w in (before, model.weights_))
    assert new <= old * (1 + TOL)


def test_what_was_chosen_stays() -> None:
    problems, labelings = random_problems(1, 8)
    annotations: list[Annotation | None] = [*fulls(labelings[:5]), *tags(labelings[5:])]
    model = learner(weak_loss="expected", class_weight="auto", alpha=None).fit(problems, annotations)
    assert model.kept_ is not None
    chosen, weights = dict(model.chosen_), model.kept_.frozen.class_weights.copy()
    model.refit(problems, [Full.from_labels([2, 2, 2, 2], 3), *annotations[1:]])
    assert model.chosen_ == chosen
    assert np.array_equal(model.kept_.frozen.class_weights, weights)
    strong = [one for one in model.kept_.examples if one.annotation.strong]
    assert all(np.array_equal(one.annotation.weights, weights) for one in strong)  # type: ignore[attr-defined]


def test_labels_may_be_added() -> None:
    problems, labelings = random_problems(5, 5)
    model = learner(weak_loss="expected", alpha=0.5, class_weight=0.5).fit(
        problems, [*fulls(labelings[:4]), *tags(labelings[4:])]
    )
    more: list[Annotation | None] = [*fulls(labelings[:4], 4), *tags(labelings[4:], 4)]
    more[1] = Full.from_labels([3, 3, 0, 3], 4)
    model.refit(problems, more, changed=[1])
    assert model.n_labels_ == 4
    assert model.predict([problems[1]])[0].max() == 3
    ours, other = frozen_objective(model, model.weights_), from_nothing(model)
    assert other * (1 - 0.002) <= ours <= other * (1 + 1.05 * TOL)
    with pytest.raises(ValueError, match=r"annotations\[0\] has 3 labels: expected 4; to have fewer, fit"):
        model.refit(problems, [*fulls(labelings)])


def test_a_label_that_is_certain_tells_of_nodes_that_look_alike() -> None:
    rng = np.random.default_rng(0)
    centers = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, -3.0]])
    labels = [rng.integers(3, size=6) for _ in range(8)]
    edges = np.array([[0, 1], [2, 3]])
    problems = [
        LabelingProblem(centers[y] + 0.1 * rng.standard_normal((6, 2)), edges, np.ones((2, 1)))
        for y in labels
    ]
    annotations = fulls([y.astype(np.int32) for y in labels[:6]]) + [
        Full.from_labels(np.where(y == 2, 1, y), 3) for y in labels[6:]
    ]
    model = learner(weak_loss="expected").fit(problems, annotations)
    model.refit(problems, [*annotations[:7], Tags(np.unique(labels[7]).tolist(), 3)])
    assert model.predict([problems[7]])[0].tolist() == labels[7].tolist()


def test_the_same_edits_give_the_same_weights() -> None:
    problems, labelings = random_problems(2, 6)
    annotations: list[Annotation | None] = [*fulls(labelings[:4]), *tags(labelings[4:])]
    found = []
    for n_jobs in (1, 2):
        model = learner(weak_loss="expected", n_jobs=n_jobs).fit(problems, annotations)
        for edit in range(3):
            changed = [*annotations]
            changed[edit] = Tags([edit % 3], 3)
            model.refit(problems, changed)
        found.append(model.weights_)
    assert np.array_equal(found[0], found[1])


def test_a_fit_is_the_same_whether_it_is_kept_or_not() -> None:
    problems, labelings = random_problems(4, 6)
    annotations = [*fulls(labelings[:4]), *tags(labelings[4:])]
    for how in ("expected", "annotation"):
        kept, plain = (learner(weak_loss=how, warm_start=keep) for keep in (True, False))
        assert np.array_equal(
            kept.fit(problems, annotations).weights_, plain.fit(problems, annotations).weights_
        )
        assert plain.kept_ is None


def test_few_passes_at_a_time_lead_to_the_same_end() -> None:
    problems, labelings = random_problems(6, 6)
    annotations: list[Annotation | None] = [*fulls(labelings)]
    model = learner().fit(problems, annotations)
    annotations[0] = Full.from_labels([0, 0, 0, 0], 3)
    model.refit(problems, annotations, max_passes=1)
    assert len(model.objective_) <= 2
    for _ in range(50):
        model.refit(problems, annotations, changed=[], max_passes=2)
    known = [one for one in annotations if one is not None]
    ours = latent_objective(problems, known, model.weights_, C, 0.1)
    other = latent_objective(problems, known, learner().fit(problems, annotations).weights_, C, 0.1)
    assert ours <= other * (1 + 1.05 * TOL)


def test_what_cannot_go_on_says_why(tmp_path: Path) -> None:
    problems, labelings = random_problems(0, 3)
    with pytest.raises(ValueError, match="call fit, with warm_start=True"):
        learner(warm_start=False).fit(problems, fulls(labelings)).refit(problems, fulls(labelings))
    with pytest.raises(ValueError, match="with warm_start, there must be none"):
        learner(checkpoint=tmp_path / "kept").fit(problems, fulls(labelings))
    with pytest.raises(ValueError, match="with warm_start, it must be FrankWolfe"):
        learner(optimizer=CuttingPlane()).fit(problems, fulls(labelings))
    model = learner().fit(problems, fulls(labelings))
    with pytest.raises(ValueError, match="2 problems, but there were 3: give those that are gone None"):
        model.refit(problems[:2], fulls(labelings[:2]))
    with pytest.raises(ValueError, match="no problem has an annotation any more"):
        model.refit(problems, [None] * 3)
