"""The concave-convex procedure on exact oracles, and its guards."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from learning_cases import Labels, fulls, latent_objective, make_risk, random_problems, tags
from multiutility.annotations import Tags
from multiutility.annotations.annotation import Annotation
from multiutility.constraints import Constraints
from multiutility.energy import Energy
from multiutility.inference import Exact, Expansion, Pinpoint
from multiutility.learning.cccp import Cccp, Fit, Imputer, better, guarded
from multiutility.learning.checkpoint.journal import Journal
from multiutility.learning.examples import make_examples
from multiutility.learning.labeling_risk import LabelingRisk
from multiutility.learning.optimizers.cutting_plane import Cuts, CuttingPlane
from multiutility.learning.optimizers.dual import Dual
from multiutility.learning.optimizers.frank_wolfe import FrankWolfe
from multiutility.learning.optimizers.risk import objective
from multiutility.learning.optimizers.solution import Record
from multiutility.models import Potts


def run(seed: int, c: float = 20.0, strict: bool = False) -> tuple[Fit[Dual], list[Record], float]:
    problems, labelings = random_problems(seed, 8)
    weak: list[Annotation] = [Tags(np.unique(y).tolist(), 3, strict=strict) for y in labelings[3:]]
    annotations = [*fulls(labelings[:3]), *weak]
    risk = make_risk(problems, annotations, c=c, alpha=0.5)
    imputer = Imputer(make_examples(problems, annotations), Exact())
    cccp: Cccp[LabelingRisk, Dual] = Cccp(FrankWolfe(max_passes=1000), tolerance=0.01)
    records: list[Record] = []
    fit = cccp.minimize(risk, imputer, FrankWolfe().minimize(risk, 0.1), callback=records.append)
    return fit, records, latent_objective(problems, annotations, fit.solution.weights, c, 0.5)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_objective_never_rises_and_is_that_of_the_paper(seed: int, strict: bool) -> None:
    fit, records, expected = run(seed, strict=strict)
    assert len(fit.objectives) > 1
    assert (np.diff(fit.objectives) <= 1e-9).all()
    assert fit.converged
    # One more imputation can only lower the objective.
    assert expected <= fit.solution.primal + 1e-9
    assert expected >= fit.solution.primal * 0.9
    assert max(record.iteration for record in records) == len(fit.objectives) - 1


def test_cutting_plane_will_do() -> None:
    problems, labelings = random_problems(1, 6)
    annotations = [*fulls(labelings[:2]), *tags(labelings[2:])]
    risk = make_risk(problems, annotations, c=20.0, alpha=0.5)
    imputer = Imputer(make_examples(problems, annotations), Exact())
    cutting = CuttingPlane()
    cccp: Cccp[LabelingRisk, Cuts] = Cccp(cutting)
    fit = cccp.minimize(risk, imputer, cutting.minimize(risk, 0.1))
    assert (np.diff(fit.objectives) <= 1e-9).all()
    expected = latent_objective(problems, annotations, fit.solution.weights, 20.0, 0.5)
    assert expected <= fit.solution.primal + 1e-9


def test_imputation_is_consistent_and_best() -> None:
    problems, labelings = random_problems(2, 5)
    annotations = [*fulls(labelings[:1]), *tags(labelings[1:])]
    examples = make_examples(problems, annotations)
    weights = np.random.default_rng(0).random(11)
    starts = [a.start(p) for p, a in zip(problems, annotations, strict=True)]
    found = Imputer(examples, Exact()).impute(weights, starts)
    model = Potts(3)
    for problem, annotation, start, labels, gain in zip(
        problems, annotations, starts, found.labelings, found.gains, strict=True
    ):
        constraints = annotation.constraints(problem)
        assert constraints.satisfied(labels)
        assert Exact().minimize(model.energy(problem, weights), constraints).energy == pytest.approx(
            model.energy(problem, weights).evaluate(labels)
        )
        features = [model.joint_feature(problem, y) for y in (labels, start)]
        assert gain == pytest.approx(weights @ (features[0] - features[1]), abs=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ([1, 1], [0, 1], "new"),  # as many covers, higher score
        ([1, 1], [0, 0], "old"),  # higher score, but a cover unmet
        ([0, 0], [1, 1], "new"),  # lower score, but a cover met
        ([0, 1], [1, 1], "old"),
        ([0, 1], [0, 1], "old"),
    ],
)
def test_imputation_prefers_covers_then_scores(old: list[int], new: list[int], kept: str) -> None:
    energy, constraints = Energy([[0, 1], [0, 1]]), Constraints(covers=[([0, 1], 1)])
    before, after = (np.array(labels, dtype=np.int32) for labels in (old, new))
    assert better(energy, constraints, before, after)[0] is (after if kept == "new" else before)


def test_worse_weights_are_not_taken() -> None:
    problems, labelings = random_problems(3, 4)
    risk = make_risk(problems, fulls(labelings), c=10.0)
    good = FrankWolfe().minimize(risk, 0.01)
    bad = replace(good, weights=10 * good.weights, primal=objective(risk, 10 * good.weights))
    kept = guarded(risk, good, bad, Journal())
    np.testing.assert_array_equal(kept.weights, good.weights)
    assert kept.primal == pytest.approx(good.primal)
    assert guarded(risk, bad, good, Journal()) is good


def test_unmet_covers_are_reported_once_and_do_not_hang() -> None:
    """Two tags must appear on a graph of one node."""
    problems, labelings = random_problems(4, 3, n_nodes=2)
    contradictory = Tags([0, 1, 2], 3, strict=True)
    annotations = [contradictory, *tags(labelings[1:])]
    examples = make_examples(problems, annotations)
    starts: list[Labels] = [a.start(p) for p, a in zip(problems, annotations, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Imputer(examples, Pinpoint(Expansion())).impute(np.zeros(11), starts)
    assert list(found.unmet) == [0]
    assert len(found.unmet[0]) == 1


def test_the_start_that_leads_lower_is_taken() -> None:
    problems, labelings = random_problems(1, 6)
    annotations = tags(labelings)
    risk = make_risk(problems, annotations, c=20.0, alpha=0.5)
    imputer = Imputer(make_examples(problems, annotations), Exact())
    cccp: Cccp[LabelingRisk, Dual] = Cccp(FrankWolfe(max_passes=1000), tolerance=0.02)
    begins = [risk, risk.anchored(labelings)]
    fits = [cccp.minimize_best([begin], imputer) for begin in begins]
    best = cccp.minimize_best(begins, imputer)
    assert (np.diff(best.objectives) <= 1e-9).all()
    assert best.objectives[-1] <= max(fit.objectives[-1] for fit in fits) * 1.02
