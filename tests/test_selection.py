"""What is chosen by evidence: regressions, readings, provable errors, weights of weak annotations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, approx_fprime, linprog, minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from learning_cases import Labels, fulls, random_problems, tags
from multiutility.annotations import Box, Expected, Full, Joint, Seed, Tags
from multiutility.annotations.annotation import Annotation
from multiutility.annotations.expected import TILT
from multiutility.annotations.scribbled import Scribbled, Stroke
from multiutility.inference import Exact
from multiutility.learning import MultiUtilitySSVM, multi_utility
from multiutility.learning.examples import (
    Example,
    class_weights,
    expecting,
    make_examples,
    settled,
    trusted_costs,
)
from multiutility.learning.selection import evidence, names, reading, regression
from multiutility.learning.selection import points as points_module
from multiutility.learning.selection.choice import GUESSED, Choice, places_model
from multiutility.learning.selection.choice import Data as Nodes
from multiutility.learning.selection.choose import choose
from multiutility.learning.selection.evidence import estimate
from multiutility.learning.selection.learned import Learned
from multiutility.learning.selection.masks import Masks
from multiutility.learning.selection.points import points_model, shares_of, shifted_shares
from multiutility.learning.selection.provable import Errors, provable_errors
from multiutility.learning.selection.reader import Opinions, Reader
from multiutility.learning.selection.reading import (
    BY_LABEL,
    FIRM,
    MARKS,
    Clues,
    Known,
    Reading,
    clues_of,
    steps_from,
)
from multiutility.learning.selection.regression import Space, Targets, fit_logistic, probabilities
from multiutility.learning.selection.stand_in import ROUNDED, expected_losses, fit_hinges
from multiutility.learning.selection.strokes import strokes_model
from multiutility.learning.selection.trials import READ, SOFT, Trial, Trials, best_trial, compare
from multiutility.learning.selection.unmasked import from_seeds, open_labels, within_reach
from multiutility.learning.starts.soft import soft_start
from multiutility.models import Potts
from multiutility.problem import LabelingProblem
from strategies import random_edges

Floats = NDArray[np.float64]


def problem_of(n_nodes: int, edges: object) -> LabelingProblem:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return LabelingProblem(np.zeros((n_nodes, 1)), pairs, np.zeros((len(pairs), 1)))


def steps_by_queue(problem: LabelingProblem, sources: list[int]) -> Floats:
    """Breadth-first search, by hand."""
    found = np.full(problem.n_nodes, float(problem.n_nodes))
    found[sources] = 0
    queue = deque(sources)
    while queue:
        node = queue.popleft()
        for a, b in problem.edges.tolist():
            for other in {a: (b,), b: (a,)}.get(node, ()):
                if found[other] > found[node] + 1:
                    found[other] = found[node] + 1
                    queue.append(other)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_those_of_a_breadth_first_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = problem_of(12, random_edges(rng, 12))
    sources = rng.permutation(12)[: rng.integers(1, 4)].tolist()
    assert steps_from(problem, sources).tolist() == steps_by_queue(problem, sources).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_distances_are_those_of_bellman_and_ford(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = np.array(random_edges(rng, 12)).reshape(-1, 2)
    problem = LabelingProblem(rng.random((12, 3)), edges, np.zeros((len(edges), 1)))
    rows = problem.node_features / np.linalg.norm(problem.node_features, axis=1, keepdims=True)
    pairs = sorted({tuple(sorted(pair)) for pair in edges.tolist()})
    lengths = np.array([np.linalg.norm(rows[a] - rows[b]) for a, b in pairs])
    sources = rng.permutation(12)[:2].tolist()
    expected = np.full(12, 12.0)
    expected[sources] = 0.0
    for _ in range(12):
        for (a, b), length in zip(pairs, lengths / lengths.mean() if pairs else (), strict=True):
            expected[a] = min(expected[a], expected[b] + length)
            expected[b] = min(expected[b], expected[a] + length)
    np.testing.assert_allclose(steps_from(problem, sources), expected, rtol=1e-5, atol=1e-5)


def test_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((60, 4)).astype(np.float32)
    features = np.column_stack((features, np.ones(60, np.float32)))
    labels = rng.integers(3, size=60)
    labels[features[:, 0] > 0.5] = 0
    ridge = 0.01
    ours = fit_logistic([Targets(features, np.eye(3)[labels])], ridge, n_steps=1000)
    theirs = LogisticRegression(C=1 / (ridge * 60), tol=1e-8, max_iter=1000)
    theirs.fit(features[:, :-1], labels)
    expected = theirs.predict_proba(features[:, :-1])
    # Our constant has a ridge of its own, though a tiny one.
    np.testing.assert_allclose(probabilities(features, ours), expected, atol=2e-3)


def test_hinges_are_those_of_a_linear_program() -> None:
    """Without rounding and with next to no ridge, the least mean hinge is that of a linear program."""
    rng = np.random.default_rng(0)
    features = np.column_stack((rng.standard_normal((40, 2)), np.ones(40))).astype(np.float32)
    counts = rng.dirichlet(np.full(3, 0.3), 40) * rng.integers(1, 5, 40)[:, np.newaxis]
    losses, weights = expected_losses(counts, 0.5)
    best = losses.argmin(axis=1)
    # Variables: weights [3, 3], then a slack of each node.
    rows, bounds = [], []
    for i in range(40):
        for k in range(3):
            row = np.zeros(9 + 40)
            row[3 * k : 3 * k + 3] += features[i]
            row[3 * best[i] : 3 * best[i] + 3] -= features[i]
            row[9 + i] = -1.0
            rows.append(row)
            bounds.append(losses[i, best[i]] - losses[i, k])
    limits = [(None, None)] * 9 + [(0, None)] * 40
    least = linprog(np.concatenate((np.zeros(9), weights)), rows, bounds, bounds=limits).fun
    found = fit_hinges([Targets(features, counts)], 1e-7, 0.5, n_steps=2000)
    scores = features @ found.T
    margins = losses - losses[np.arange(40), best][:, np.newaxis]
    hinges = (margins + scores - scores[np.arange(40), best][:, np.newaxis]).max(axis=1)
    assert least - 1e-6 <= weights @ hinges <= least + ROUNDED * np.log(3)


def test_losses_of_the_stand_in_are_those_of_expected() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, 12).astype(np.float64)
    problem = LabelingProblem(np.zeros((12, 1)), [], np.zeros((0, 1)), node_sizes=sizes)
    shares = rng.dirichlet(np.full(3, 0.5), 12)
    losses, weights = expected_losses(sizes[:, np.newaxis] * shares, 0.5)
    totals = sizes @ shares
    expected = Expected(Tags([0, 1, 2], 3), shares).weighted(totals**-0.5)
    scale = expected.loss(problem, [0] * 12) / (weights @ losses[:, 0])
    for _ in range(5):
        labels = rng.integers(3, size=12)
        ours = scale * float(weights @ losses[np.arange(12), labels])
        assert ours == pytest.approx(expected.loss(problem, labels))


def test_principal_features_keep_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    problems, _ = random_problems(0, 6)
    rows = np.concatenate([regression.unit_rows(one) for one in problems])
    space = Space.of(problems)
    found = np.concatenate([space(one)[:, :-1] for one in problems])
    ratio = np.linalg.norm(found[0] - found[-1]) / np.linalg.norm(rows[0] - rows[-1])
    for a, b in ((1, 2), (3, 9), (0, 5)):
        expected = ratio * np.linalg.norm(rows[a] - rows[b])
        assert np.linalg.norm(found[a] - found[b]) == pytest.approx(expected, rel=1e-4)
    monkeypatch.setattr(regression, "N_AXES", 1)
    assert Space.of(problems)(problems[0]).shape[1] == 2


def random_known(
    rng: np.random.Generator, reading: Reading, n_nodes: int, fold: int = 0, share: float = 0.8
) -> Known:
    """Clues, and labels drawn from the posteriors that a reading gives."""
    terms = rng.standard_normal((len(reading.names), n_nodes, 3))
    possible = rng.random((n_nodes, 3)) < share
    possible[np.arange(n_nodes), rng.integers(3, size=n_nodes)] = True
    clues = Clues(possible, terms)
    labels = np.array([rng.choice(3, p=row) for row in reading(clues)])
    return Known(clues, np.eye(3)[labels], fold)


def test_reading_finds_the_weights_that_labels_were_drawn_by() -> None:
    rng, weights = np.random.default_rng(0), np.array([1.0, 0.5, 2.0, -0.5, 0.0, 1.5, -1.0])
    truth = Reading(("masks", *MARKS), weights)
    known = [random_known(rng, truth, 2000, fold) for fold in range(3)]
    found = Reading.default(("masks",)).fitted(known).whole
    np.testing.assert_allclose(found.weights, weights, atol=0.15)
    assert found.own is not None
    np.testing.assert_allclose(found.own, 0.0, atol=0.1)
    posterior = found(known[0].clues)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    assert (posterior[~known[0].clues.possible] == 0).all()


def test_reading_is_at_a_stationary_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "STEPS", 1000)
    rng = np.random.default_rng(1)
    prior = Reading.default(("masks",))
    known = random_known(rng, Reading(prior.names, np.array([1.0, 0.0] * 3 + [1.0])), 30)
    found = prior.fitted([known]).whole
    assert found.own is not None
    free = np.isin(prior.names, BY_LABEL)
    assert free.tolist() == [False, True, False, True, True, False, False]

    def loss(flat: Floats) -> float:
        clues, own = known.clues, np.zeros((len(free), 3))
        weights, own[free] = flat[: len(free)], flat[len(free) :].reshape(3, 3)
        scores = sum((weights[f] + own[f]) * clues.terms[f] for f in range(len(free)))
        logs = log_softmax(np.where(clues.possible, scores, -np.inf), axis=1)
        count = np.where(clues.possible, known.truth, 0)
        fit = float((count[count > 0] * logs[count > 0]).sum()) * len(count) / count.sum()
        away = weights - prior.weights
        return float(FIRM[0] * (away @ away + (own**2).sum()) / 2 - fit)

    flat = np.concatenate((found.weights, found.own[free].ravel()))
    assert np.abs(approx_fprime(flat, loss, 1e-6)).max() < 1e-2


def test_reading_learns_what_marks_say_of_each_label() -> None:
    rng, own = np.random.default_rng(2), np.zeros((len(MARKS) + 1, 3))
    own[MARKS.index("box") + 1] = 2.0, -1.0, -1.0
    truth = Reading(("masks", *MARKS), np.ones(len(MARKS) + 1), own)
    found = (
        Reading.default(("masks",))
        .fitted([random_known(rng, truth, 500, fold, 1.0) for fold in range(3)])
        .whole
    )
    assert found.own is not None
    np.testing.assert_allclose(found.weights[:, np.newaxis] + found.own, 1.0 + own, atol=0.25)


def test_labels_are_alike_unless_what_is_held_out_says_otherwise() -> None:
    """Of few nodes, differences between labels that are not there would be learned by chance."""
    rng, alike = np.random.default_rng(3), Reading(("masks", *MARKS), np.ones(len(MARKS) + 1))
    few = [random_known(rng, alike, 20, fold, 1.0) for fold in range(4)]
    found = Reading.default(("masks",)).fitted(few).whole
    assert found.own is not None
    assert np.abs(found.own).max() < 0.5
    own = np.zeros((len(MARKS) + 1, 3))
    own[MARKS.index("box") + 1] = 3.0, -3.0, 0.0
    differ = [
        random_known(rng, Reading(alike.names, alike.weights, own), 200, fold, 1.0) for fold in range(4)
    ]
    found = Reading.default(("masks",)).fitted(differ).whole
    assert found.own is not None
    assert np.abs(found.own).max() > 1.5


def test_without_evidence_nothing_is_learned() -> None:
    prior = Reading.default(("masks", "weak"))
    assert prior.fitted([]).whole.weights.tolist() == prior.weights.tolist()


def grid_seed(label: int, node: int, n_nodes: int) -> Seed:
    return Seed(label, node, lambda _tau: np.zeros(n_nodes))


def test_clues_of_marks() -> None:
    problem = problem_of(5, [[0, 1], [1, 2], [2, 3], [3, 4]])
    box = Box(2, rows=[[3, 4]], columns=[[3], [4]])
    joint = Joint([0], [box], [grid_seed(1, 0, 5)], n_labels=4)
    possible, (boxed, seed, nearness, seeded, chance, inside) = clues_of(joint, problem)
    assert not chance.any()
    assert not inside.any()
    half = Joint([0], [Box(2, [[3, 4]], [[3], [4]], contents=[0.5, 1.0])], (), n_labels=4)
    *_, inside = clues_of(half, problem).terms
    np.testing.assert_allclose(inside[[3, 4], 2], np.log([0.5, 1.0]))
    assert np.count_nonzero(inside) == 1
    assert possible.tolist() == [[True, True, k, False] for k in (False, False, False, True, True)]
    assert np.argwhere(boxed).tolist() == [[3, 2], [4, 2]]
    assert np.argwhere(seed).tolist() == [[0, 1]]
    np.testing.assert_allclose(nearness[:, 1], -np.log1p(np.arange(5)))
    assert not nearness[:, [0, 2, 3]].any()
    assert seeded.tolist() == [[0, 1, 0, 0]] * 5
    other = clues_of(Full.from_labels([0, 1, 1, 0, -1], n_labels=2), problem)
    assert other.possible.tolist() == [
        [True, False],
        [False, True],
        [False, True],
        [True, False],
        [True, True],
    ]


def test_provable_errors_by_hand() -> None:
    # A path: the seed of label 1 is at node 0, the box of label 2 has nodes 3 and 4; label 3 is not there.
    problem = problem_of(6, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    box = Box(2, rows=[[3, 4]], columns=[[3], [4]])
    joint = Joint([0], [box], [grid_seed(1, 0, 6)], n_labels=4)
    # Node 2 has label 1, but is cut off from the seed; node 5 has a label that is absent; a column is empty.
    labels = np.array([1, 0, 1, 2, 0, 3])
    errors = provable_errors([problem], [joint], [labels])
    assert errors.asked.tolist() == [1, 1, 1, 0]
    assert errors.missed.tolist() == [0, 0, 0.25, 0]
    assert errors.wrong.tolist() == [0, 1, 0, 1]
    assert errors.given.tolist() == [2, 2, 1, 1]
    assert errors.rate == pytest.approx((0.5 / 3 + 0.25 / 3) / 3)
    # The truth has no provable error.
    assert provable_errors([problem], [joint], [np.array([1, 1, 0, 2, 2, 0])]).rate == 0


def test_labels_that_flood_an_image_merge_seeds() -> None:
    problem = problem_of(6, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    joint = Joint([0], [], [grid_seed(1, node, 6) for node in (0, 2, 4)], n_labels=2)
    apart, flooded = np.array([1, 0, 1, 0, 1, 0]), np.array([1, 1, 1, 1, 1, 0])
    assert provable_errors([problem], [joint], [apart]).rate == 0
    errors = provable_errors([problem], [joint], [flooded])
    assert errors.merged.tolist() == [0, 2]
    assert errors.seeds.tolist() == [0, 3]
    assert errors.rate == pytest.approx((2 / 3) / 3 / 2)


def test_a_label_that_is_never_given_is_no_smaller_error() -> None:
    """A labeling that hardly has any labels is hardly ever wrong where it has them."""
    problem = problem_of(6, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    seeded = Joint([0], [], [grid_seed(1, 0, 6), grid_seed(1, 3, 6)], n_labels=3)
    found, silent = np.array([1, 0, 1, 0, 1, 1]), np.zeros(6, dtype=np.intp)
    errors = [provable_errors([problem], [seeded], [labels]) for labels in (found, silent)]
    assert [one.missed[1] for one in errors] == [1, 2]
    assert errors[0].wrong[1] == 3
    # Of label 1 half is missed and three quarters are wrong, against all and all.
    assert errors[0].rate == pytest.approx((0.5 + 0.75) / 6)
    assert errors[1].rate == pytest.approx(2 / 6)


def test_seeds_reach_as_far_as_said() -> None:
    # A path with a seed at its first node; of label 0, there are no places.
    problem = problem_of(6, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    joint = Joint([0], [], [grid_seed(1, 0, 6)], n_labels=2)
    data = Nodes(make_examples([problem], [joint]), (), range(1))
    for reach in (1, 3):
        (posterior,) = from_seeds(data, within_reach(reach + 0.5), n_rounds=0)
        assert posterior.argmax(axis=1).tolist() == [1] * (reach + 1) + [0] * (5 - reach)
    assert open_labels(data)
    everywhere = Joint([], [], [grid_seed(0, 5, 6), grid_seed(1, 0, 6)], n_labels=2)
    assert not open_labels(Nodes(make_examples([problem], [everywhere]), (), range(1)))


def test_less_of_class_weights_must_lower_no_measure() -> None:
    used = Trial(0.1, 0.5, [np.array([[60.0, 40.0], [4.0, 6.0]])] * 4)
    better, traded = np.array([[90.0, 10.0], [4.0, 6.0]]), np.array([[65.0, 35.0], [4.55, 5.45]])
    # Four points of accuracy for a quarter point of recall.
    np.testing.assert_allclose(
        Trial(1.0, 0.5, [traded]).scores[:2] - used.scores[:2], (0.0405, -0.0025), atol=1e-3
    )
    assert best_trial([used, Trial(0.1, 0.25, [better] * 4)]).balance == 0.25
    assert best_trial([used, Trial(0.1, 0.25, [traded] * 4)]).balance == 0.5
    assert best_trial([used, Trial(1.0, 0.5, [traded] * 4)]).alpha == 1.0


def test_a_larger_weight_must_be_surely_better() -> None:
    good, better = np.array([[8.0, 2.0], [2.0, 8.0]]), np.array([[9.0, 1.0], [1.0, 9.0]])
    alone = Trial(0.0, 0.5, [np.array([[6.0, 4.0], [4.0, 6.0]])] * 4)
    careful = Trial(0.1, 0.5, [good] * 4)
    assert best_trial([alone, careful, Trial(1.0, 0.5, [better] * 4)]).alpha == 1.0
    unsure = Trial(1.0, 0.5, [better, better, good, np.array([[7.5, 2.5], [2.5, 7.5]])])
    assert best_trial([alone, unsure]).alpha == 1.0
    by_chance = Trial(1.0, 0.5, [better, good, good, good - [[0.8, -0.8], [-0.8, 0.8]]])
    assert by_chance.scores.mean() > careful.scores.mean()
    assert best_trial([alone, careful, by_chance]) is careful


def errors(*missed: float) -> list[Errors]:
    """Errors of some examples, with ten places of one label each, of which some are missed."""
    return [Errors(*np.array([[n], [10.0], [0.0], [10.0], [0.0], [0.0]])) for n in missed]


def test_errors_that_are_proved_can_decide_and_object() -> None:
    same, better, worse = (np.array([[x, 10 - x], [10 - x, x]]) for x in (6.0, 7.0, 5.0))
    few, many = errors(2, 3, 2, 3), errors(5, 6, 5, 6)

    def choice(matrix: Floats, first: list[Errors], second: list[Errors], all_shown: bool = True) -> float:
        alone = Trial(0.0, 0.5, [same] * 4, find_errors=lambda: first)
        mixed = Trial(1.0, 0.5, [matrix] * 4, find_errors=lambda: second)
        return best_trial([alone, mixed], all_shown).alpha

    assert choice(same, many, few) == 1.0
    assert choice(same, few, few) == choice(same, few, many) == 0.0
    # Masks are in favor, or against it; against it, they must show all labels.
    assert choice(better, few, few) == 1.0
    assert choice(better, few, many) == 0.0
    assert choice(worse, many, few) == 0.0
    assert choice(worse, many, few, all_shown=False) == 1.0
    # By chance: one example has fewer, the others have not.
    assert choice(same, errors(5, 5, 5, 5), errors(3, 6, 5, 5)) == 0.0


def test_costs_add_up_to_c_and_full_labelings_are_not_diluted() -> None:
    problems, labelings = random_problems(0, 6)
    examples = make_examples(problems, [*fulls(labelings[:2]), *tags(labelings[2:])])
    for alpha in (0.0, 0.1, 1.0):
        costs = trusted_costs(examples, 3.0, alpha)
        assert costs.sum() == pytest.approx(3.0)
        np.testing.assert_allclose(costs[2:], alpha * costs[0])
    assert trusted_costs(examples, 3.0, 0.0)[0] == 1.5


def test_class_weights_count_what_is_decided() -> None:
    """By hand: a mask of sizes 3 and 1; soft labels of sizes .8 and .2, and a node that is undecided."""
    chain, other = problem_of(4, []), problem_of(2, [])
    full, tagged = Full.from_labels([0, 0, 0, 1], n_labels=3), Tags([0, 1, 2], n_labels=3)
    examples = make_examples([chain, other], [full, tagged])
    known = [examples[0], expecting(examples[1], np.array([[0.8, 0.2, 0.0], [0.4, 0.3, 0.3]]))]
    found = class_weights(known, 1.0)
    assert found[1] / found[0] == pytest.approx(3.8 / 1.2)
    # Nobody has seen the last label.
    assert found[2] == found[1]


def test_the_more_masks_the_less_rare_labels_are_favored() -> None:
    problems, labelings = cloudy(0, 20)
    powers = []
    for n in (1, 5, 10, 20):
        examples = make_examples(problems[:n], fulls(labelings[:n], 3))
        chosen = choose(examples, [[]] * n, soft_start).balance
        powers.append(chosen)
    assert powers == [0.5, 0.5, 0.4375, 0.40625]


def test_trials_take_nothing_said_for_masks_alone() -> None:
    """Soft labels that decide nothing prove as many errors as masks alone, whatever the solver."""
    problems, labelings = cloudy(0, 30)
    annotations = [*fulls(labelings[:5], 3), *(Tags([0, 1, 2], 3) for _ in labelings[5:])]
    examples = make_examples(problems, annotations)
    data = Nodes(examples, range(5), range(5, 30))
    start = soft_start([examples[n] for n in data.weak])
    reader = Reader.taught(Masks(data, range(5)), Opinions(start, None), [[]] * 30)
    told = {SOFT: [np.full((12, 3), 1 / 3)] * 25}
    trials = Trials(reader, told, None)
    silent = trials.trial(SOFT, 1.0, trials.power)
    for one, alone in zip(silent.errors, trials.alone.errors, strict=True):
        assert [part.tolist() for part in one] == [part.tolist() for part in alone]


def test_labels_that_nothing_shows_or_places_are_not_favored() -> None:
    problems, labelings = cloudy(0, 20)
    # The last label is in no mask.
    full = fulls([np.minimum(labels, 1) for labels in labelings[:5]], 3)

    def power(annotate: Callable[[Labels, LabelingProblem], Annotation]) -> float | None:
        weak = [annotate(*pair) for pair in zip(labelings[5:], problems[5:], strict=True)]
        return choose(make_examples(problems, [*full, *weak]), [[]] * 20, soft_start, alpha=1.0).balance

    assert power(lambda *_: Tags([0, 1, 2], 3)) == 0.0
    assert power(points) == GUESSED


def test_annotations_that_decide_nothing_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even with a weight: the model is bit for bit that of masks alone."""
    problems, labelings = cloudy(0, 20)
    alone = learner(class_weight=0.5).fit(problems[:5], fulls(labelings[:5], 3))
    flat = [None] * 5 + [np.full((12, 3), 1 / 3)] * 15
    monkeypatch.setattr(multi_utility, "choose", lambda *_: Choice(flat, 1.0, 0.5))
    tagged = [Tags([0, 1, 2], 3)] * 15
    both = learner(class_weight=0.5).fit(problems, [*fulls(labelings[:5], 3), *tagged])
    assert both.weights_.tobytes() == alone.weights_.tobytes()


def test_interval_of_the_estimate_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many datasets of the same source, the interval has the true accuracy about as often as it says."""
    monkeypatch.setattr(evidence, "STAND_IN_SPREAD", np.zeros(3))
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        # Images differ: their accuracies are 0.8 in the mean.
        rights = rng.beta(8, 2, size=12)
        found = estimate([np.array([[r, 1 - r], [1 - r, r]]) for r in rights])
        assert found is not None
        hits += found.accuracy[1] <= 0.8 <= found.accuracy[2]
    assert 0.82 < hits / 200 < 0.97
    assert estimate([np.eye(2)] * 2) is None


def test_interval_of_the_estimate_allows_for_the_stand_in() -> None:
    # Held-out images are alike: all that is not known is how far the learner is from what was judged.
    found = estimate([np.array([[0.8, 0.2], [0.2, 0.8]])] * 5)
    assert found is not None
    triples = (found.accuracy, found.mean_recall, found.mean_iou)
    for triple, judged, better, spread in zip(
        triples, (0.8, 0.8, 2 / 3), evidence.STAND_IN, evidence.STAND_IN_SPREAD, strict=True
    ):
        middle = judged + better
        assert triple == pytest.approx((middle, middle - spread, middle + spread))
    perfect = estimate([np.eye(2)] * 5)
    assert perfect is not None
    assert perfect.mean_recall[0] == perfect.mean_recall[2] == 1.0


def cloudy(seed: int, n_problems: int, noise: float = 0.6) -> tuple[list[LabelingProblem], list[Labels]]:
    """Chains of nodes with noisy features of three labels; every chain has all labels."""
    rng = np.random.default_rng(seed)
    centers, edges = np.random.default_rng(99).standard_normal((3, 12)), [[n, n + 1] for n in range(11)]
    labelings = [np.sort(rng.integers(3, size=12)).astype(np.int32) for _ in range(n_problems)]
    for one in labelings:
        one[[0, 6, 11]] = 0, 1, 2
        one.sort()
    problems = [
        LabelingProblem(centers[y] + noise * 3 * rng.standard_normal((12, 12)), edges, np.ones((11, 1)))
        for y in labelings
    ]
    return problems, labelings


def learner(**changes: object) -> MultiUtilitySSVM:
    fixed = {"C": 1.0, "alpha": None, "weak_loss": "expected", "class_weight": "auto", "tol": 0.05}
    return MultiUtilitySSVM(**{**fixed, "random_state": 0, **changes})  # type: ignore[arg-type]


def points(labels: Labels, problem: LabelingProblem) -> Annotation:
    """A seed in the middle of each segment, and tags of all labels."""
    seeds = [grid_seed(k, int(np.flatnonzero(labels == k).mean()), problem.n_nodes) for k in range(3)]
    return Joint([0, 1, 2], [], seeds, n_labels=3, complete=True)


def test_tags_that_say_nothing_do_no_harm() -> None:
    """All labels everywhere: tags tell nothing, so that what is learned is about what masks alone tell."""
    problems, labelings = cloudy(0, 40)
    unseen, truth = cloudy(1, 60)
    few = learner().fit(problems[:5], fulls(labelings[:5], 3))
    more = learner().fit(problems, [*fulls(labelings[:5], 3), *(Tags([0, 1, 2], 3) for _ in labelings[5:])])
    assert more.score(unseen, fulls(truth, 3)) > few.score(unseen, fulls(truth, 3)) - 0.02
    assert more.chosen_["trials"][0]["alpha"] == 0


def test_points_help() -> None:
    gains = []
    for seed in (0, 4, 8, 12):
        problems, labelings = cloudy(seed, 60, noise=0.8)
        unseen, truth = cloudy(seed + 1, 60, noise=0.8)
        few = learner().fit(problems[:4], fulls(labelings[:4], 3))
        rest = [points(y, p) for y, p in zip(labelings[4:], problems[4:], strict=True)]
        again = [[points(y, p)] for y, p in zip(labelings[:4], problems[:4], strict=True)]
        more = learner().fit(problems, [*fulls(labelings[:4], 3), *rest], [*again, *([[]] * 56)])
        assert more.chosen_["alpha"] > 0
        assert more.chosen_["reading"]["nearness"] > 0.3
        gains.append(more.score(unseen, fulls(truth, 3)) - few.score(unseen, fulls(truth, 3)))
    assert min(gains) > -0.01
    assert np.mean(gains) > 0.03


def test_masks_know_nothing_of_labels_that_they_do_not_show() -> None:
    problems, labelings = cloudy(0, 4)
    # Label 2 is in no mask.
    shown = [np.where(y == 2, -1, y) for y in labelings]
    masks = Masks(Nodes(make_examples(problems, fulls(shown, 3)), range(4), ()), range(4))
    assert masks.shown(None).tolist() == masks.shown(0).tolist() == [True, True, False]
    features = masks.data.features(3)
    own, _, shown_logs = masks.known(problems[3], features, None)
    np.testing.assert_allclose(own[:, 2], 1 / 3)
    np.testing.assert_allclose(own[:, :2], probabilities(features, masks.whole)[:, :2])
    np.testing.assert_allclose(np.log(shown_logs), [[0.0, 0.0, -1.0]] * 12)


def test_what_judges_a_fold_did_not_teach_its_reading() -> None:
    """Of labels drawn by other weights in one fold, the reading for this fold has none."""
    rng, prior = np.random.default_rng(4), Reading.default(("masks",))
    usual, other = (Reading(prior.names, np.full(len(prior.names), weight)) for weight in (1.0, -1.0))
    known = [random_known(rng, other if fold == 0 else usual, 300, fold) for fold in range(3)]
    found = prior.fitted(known)
    rest = prior.fitted([one for one in known if one.fold != 0])
    assert found.of(0).weights[0] == pytest.approx(1.0, abs=0.3)
    assert found.of(1).weights[0] < 0.5
    assert found.of(None) is found.whole
    assert rest.of(7) is rest.whole


def test_masks_that_show_few_labels_do_not_spoil_what_tags_tell() -> None:
    """Varied tags tell all labels apart; masks that show three of eight must not make it worse."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((8, 16))
    problems, labelings = [], []
    for n in range(80):
        labels = np.repeat(rng.permutation(3 if n < 5 else 8)[:3], 4)
        features = centers[labels] + 1.5 * rng.standard_normal((12, 16))
        edges = np.column_stack((np.arange(11), np.arange(1, 12)))
        problems.append(LabelingProblem(features, edges, np.ones((11, 1))))
        labelings.append(labels.astype(np.int32))
    train, truth = slice(0, 60), fulls(labelings[60:], 8)
    weak = learner().fit(problems[train], tags(labelings[train], 8))
    mixed = [*fulls(labelings[:5], 8), *tags(labelings[5:60], 8)]
    more = learner().fit(problems[train], mixed)
    assert more.chosen_["alpha"] > 0
    assert more.score(problems[60:], truth) > weak.score(problems[60:], truth) - 0.03


def test_wrong_annotations_are_left_out_and_make_no_difference() -> None:
    """Points with labels exchanged: masks show it, and the model is bit for bit that of masks alone."""
    problems, labelings = cloudy(0, 40)
    wrong = [(y + 1) % 3 for y in labelings]
    rest = [points(np.sort(y), p) for y, p in zip(wrong[6:], problems[6:], strict=True)]
    # What the masks would have is right, so that nothing but the trial itself can tell.
    again = [[points(y, p)] for y, p in zip(labelings[:6], problems[:6], strict=True)]
    features = [one.node_features for one in problems]
    moved = [
        LabelingProblem(-one, p.edges, p.edge_features) for one, p in zip(features, problems, strict=True)
    ]
    alone = learner().fit(problems[:6], fulls(labelings[:6], 3))
    both = learner().fit(
        [*problems[:6], *moved[6:]], [*fulls(labelings[:6], 3), *rest], [*again, *([[]] * 34)]
    )
    assert both.chosen_["alpha"] == 0
    assert both.weights_.tobytes() == alone.weights_.tobytes()
    assert both.imputed_[6:] == [None] * 34


def test_what_is_given_stays() -> None:
    problems, labelings = cloudy(0, 20)
    annotations: list[Annotation] = [*fulls(labelings[:5], 3), *(Tags([0, 1, 2], 3) for _ in labelings[5:])]
    model = learner(alpha=0.3, class_weight=0.5).fit(problems, annotations)
    assert (model.chosen_["alpha"], model.chosen_["class_weight"]) == (0.3, 0.5)


def test_opinions_of_the_learner_are_changes_of_the_score() -> None:
    """Of every label at each node, while the others keep those of the best labeling."""
    problems, _ = cloudy(0, 3)
    model = Potts(3)
    weights = np.random.default_rng(0).random(model.n_weights(problems[0]))
    learned = Learned.of(weights, 3, problems)
    for problem in problems:
        best = Exact().minimize(model.energy(problem, weights)).labels
        scores = learned.scores(problem)
        for node, norm in enumerate(np.linalg.norm(problem.node_features, axis=1)):
            changed = [np.where(np.arange(12) == node, label, best) for label in range(3)]
            totals = np.array([weights @ model.joint_feature(problem, y) for y in changed])
            assert np.allclose(norm * (scores[node] - scores[node, 0]), totals - totals[0])
        assert np.allclose(
            np.log(learned(problem)[:, 1] / learned(problem)[:, 0]) * learned.margin,
            scores[:, 1] - scores[:, 0],
        )


def test_the_learner_has_no_opinion_by_what_is_held_out() -> None:
    problems, labelings = cloudy(0, 12)
    rest = [points(y, p) for y, p in zip(labelings[6:], problems[6:], strict=True)]
    examples = make_examples(problems, [*fulls(labelings[:6], 3), *rest])
    data, seen = Nodes(examples, range(6), range(6, 12)), list[set[int]]()

    def learn(some: Sequence[Example]) -> Floats:
        seen.append({one.index for one in some})
        return np.zeros(Potts(3).n_weights(problems[0]))

    masks = Masks(data, range(6), learn)
    told = masks.known(problems[0], data.features(0), 0)
    assert masks.names == ("masks", "neighbors", "shown", "learned")
    assert np.allclose(told[3], 1 / 3)
    everything = set(range(6))
    assert seen == [everything - {n for n in range(6) if n % 5 == f} for f in range(5)] + [everything]


def test_what_nothing_shows_is_missed_and_what_one_shows_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Label 1 is in one labeling only, label 2 in none."""
    monkeypatch.setattr(evidence, "STAND_IN", np.zeros(3))
    problems, labelings = cloudy(0, 6)
    some = [np.zeros(12, dtype=np.int32) for _ in labelings]
    some[2][3:7] = 1
    examples = make_examples(problems, fulls(some, 3))
    masks = Masks(Nodes(examples, range(6), []), range(6))
    missed = [np.array([[12.0 - n, 0, 0], [n, 0, 0], [0, 0, 0]]) for n in (0, 0, 4, 0, 0, 0)]
    found = masks.estimate(missed)
    assert found is not None
    assert found.accuracy[0] == 1.0
    assert found.mean_recall[0] == pytest.approx(2 / 3)
    named = masks.estimate(missed, np.array([True, True, False]))
    assert named is not None
    assert named.accuracy[0] == pytest.approx(68 / 72)
    assert named.mean_recall[0] == pytest.approx(2 / 3 * 1 / 2)


def test_trusted_annotations_have_the_benefit_of_the_doubt() -> None:
    """But only with the smallest weight, and only while neither judge is surely against it."""
    same, better, worse = (np.array([[x, 10 - x], [10 - x, x]]) for x in (6.0, 6.05, 5.0))
    few, many = errors(2, 3, 2, 3), errors(5, 6, 5, 6)

    def choice(matrix: Floats, found: list[Errors], all_shown: bool = True, trusted: bool = True) -> float:
        alone = Trial(0.0, 0.5, [same] * 4, find_errors=lambda: few)
        mixed = [Trial(alpha, 0.5, [matrix] * 4, find_errors=lambda: found) for alpha in (0.1, 1.0)]
        return best_trial([alone, *mixed], all_shown, trusted).alpha

    assert choice(better, few, trusted=False) == 0.0
    assert choice(better, few) == 0.1
    assert choice(worse, few) == 0.0
    assert choice(worse, few, all_shown=False) == 0.1
    assert choice(better, many) == 0.0


@pytest.mark.parametrize("alpha", [None, 0.1, 1.0])
@pytest.mark.parametrize("soft", [[[9.0, 4.0], [4.0, 9.0]], [[88.0, 12.0], [0.0, 8.0]]])
def test_soft_labels_must_beat_masks_whatever_is_given(alpha: float | None, soft: list[list[float]]) -> None:
    """They come first where their provable errors are fewer, and give way if masks alone are better.

    Even if only in one measure: the second kind gives up accuracy for the recall of a rare label.
    """
    bad, same, good = (np.array(one) for one in (soft, [[98.0, 2.0], [6.0, 2.0]], [[99.0, 1.0], [5.0, 3.0]]))

    class Told:
        all_shown, placed, mixed_power = True, False, 0.5
        alone = Trial(0.0, 0.5, [same] * 4, find_errors=lambda: errors(5, 6, 5, 6))

        def starts(self, _: float) -> tuple[str, str]:
            return SOFT, READ

        def trial(self, start: str, weight: float, power: float) -> Trial:
            found = [bad if start == SOFT else good] * 4
            return Trial(weight, power, found, start, lambda: errors(2, 3, 2, 3))

    best, found = compare(cast(Trials, Told()), alpha, fixed=True)
    assert (best.start, best.alpha) == (READ, alpha or 0.1)
    assert [one.alpha for one in found] == ([0.0, 0.1, 1.0] if alpha is None else [alpha])


def test_masks_that_do_not_show_all_labels_are_not_heard_alone() -> None:
    """They prefer what they teach; errors that are provable of what they do not show may object."""
    plain, taught = (np.array(one) for one in ([[6.0, 4.0], [4.0, 6.0]], [[8.0, 2.0], [2.0, 8.0]]))
    few, many = errors(2, 3, 2, 3), errors(5, 6, 5, 6)

    def first(all_shown: bool, by_soft: list[Errors], by_read: list[Errors]) -> str:
        class Told:
            mixed_power = 0.25
            told = (READ, SOFT)

            def __init__(self) -> None:
                self.all_shown = all_shown

            def trial(self, start: str, weight: float, power: float) -> Trial:
                matrix, found = (plain, by_soft) if start == SOFT else (taught, by_read)
                return Trial(weight, power, [matrix] * 4, start, lambda: found)

        return Trials.starts(cast(Trials, Told()), 0.1)[0]

    assert first(True, few, many) == READ
    assert first(False, few, many) == SOFT
    assert first(False, many, few) == first(False, few, few) == READ


def test_masks_that_show_few_labels_do_not_teach_what_a_sample_tells() -> None:
    """Points and strokes of all labels say what these look like; masks without most of them say less."""
    problems, labelings = cloudy(0, 40, noise=0.2)
    rng, center = np.random.default_rng(5), np.random.default_rng(99).standard_normal((3, 12))[0]
    for n in range(5):
        nodes = center + 0.6 * rng.standard_normal((12, 12))
        problems[n] = LabelingProblem(nodes, [[n, n + 1] for n in range(11)], np.ones((11, 1)))
    one = [np.zeros_like(y) for y in labelings[:5]]
    pointed = [points(y, p) for y, p in zip(labelings[5:], problems[5:], strict=True)]
    drawn = [strokes_of(y, [0.02, 0.01, 0.01]) for y in labelings[5:]]

    def facts(full: list[Labels], weak: Sequence[Annotation]) -> dict[str, Any]:
        return dict(choose(make_examples(problems, [*fulls(full, 3), *weak]), [[]] * 40, soft_start).facts)

    for weak, name in ((pointed, "points"), (drawn, "strokes")):
        told = facts(one, weak)
        assert told["start"] == name
        assert {one["start"] for one in told["trials"]} == {"masks only", name}
        assert facts(labelings[:5], weak)["start"] != name


def test_the_same_whatever_the_threads() -> None:
    problems, labelings = cloudy(0, 24)
    rest = [points(y, p) for y, p in zip(labelings[4:], problems[4:], strict=True)]
    found = [
        learner(n_jobs=n).fit(problems, [*fulls(labelings[:4], 3), *rest]).weights_.tobytes() for n in (1, 2)
    ]
    assert found[0] == found[1]


def test_a_single_full_labeling_cannot_judge() -> None:
    problems, labelings = cloudy(0, 12)
    rest = [points(y, p) for y, p in zip(labelings[1:], problems[1:], strict=True)]
    model = learner().fit(problems, [*fulls(labelings[:1], 3), *rest])
    assert model.estimate_ is None
    assert "provable_error" in model.chosen_


def points_but_for(label: int, labels: Labels, problem: LabelingProblem) -> Annotation:
    """A seed in the middle of each segment but that of one label, and tags of all labels."""
    whole = points(labels, problem)
    assert isinstance(whole, Joint)
    return Joint([0, 1, 2], [], [one for one in whole.seeds if one.label != label], n_labels=3, complete=True)


def test_without_full_labelings_provable_errors_decide() -> None:
    problems, labelings = cloudy(0, 40)
    unseen, truth = cloudy(1, 40)
    pairs = enumerate(zip(labelings, problems, strict=True))
    most_points = [points_but_for(n % 3, y, p) for n, (y, p) in pairs]
    examples = make_examples(problems, most_points)
    choice = choose(examples, [[]] * 40, soft_start)
    errors = choice.facts["provable_error"]
    start, power = choice.facts["start"], choice.facts["class_weight"]
    # Another way than soft labels needs surely fewer errors.
    assert errors[f"{start}, {power:g}"] <= errors["soft labels, 0"]
    # All labels have places, and regressions on these favor rare ones already.
    assert {name.rpartition(", ")[2] for name in errors} == {"0"}
    assert choice.estimate is None
    model, whole = learner().fit(problems, most_points), learner().fit(problems, fulls(labelings, 3))
    assert model.score(unseen, fulls(truth, 3)) > 0.85 * whole.score(unseen, fulls(truth, 3))


def telling(seed: int, n_problems: int) -> tuple[list[LabelingProblem], list[Labels]]:
    """As ``cloudy``, but an example has two labels of three: which, differs."""
    rng = np.random.default_rng(seed)
    problems, labelings = cloudy(seed, n_problems)
    for n, (problem, one) in enumerate(zip(problems, labelings, strict=True)):
        one[one == n % 3] = (n + 1) % 3
        centers = np.random.default_rng(99).standard_normal((3, 12))
        features = centers[one] + 0.9 * rng.standard_normal((12, 12))
        problems[n] = LabelingProblem(features, problem.edges, problem.edge_features)
    return problems, labelings


def test_points_of_all_labels_are_a_sample() -> None:
    problems, labelings = cloudy(0, 8)
    clicked = [points(y, p) for y, p in zip(labelings, problems, strict=True)]
    choice = choose(make_examples(problems, clicked), [[]] * 8, soft_start)
    assert (choice.facts["start"], choice.facts["class_weight"]) == ("points", GUESSED)
    given = choose(make_examples(problems, clicked), [[]] * 8, soft_start, balance=0.0)
    assert list(given.facts["provable_error"]) == ["points, 0"]
    # Nothing need be said of other labels.
    open_points = [Joint([], [], one.seeds, n_labels=3) for one in clicked if isinstance(one, Joint)]
    assert choose(make_examples(problems, open_points), [[]] * 8, soft_start).facts["start"] == "points"
    # A label without points, or few examples with points and others that have places of some labels: then
    # errors that are provable decide.
    partial = [points_but_for(2, y, p) for y, p in zip(labelings, problems, strict=True)]
    for others in (partial, [*clicked[:2], *partial[2:]]):
        facts = choose(make_examples(problems, others), [[]] * 8, soft_start).facts
        assert "soft labels, 0" in facts["provable_error"]
        assert f"points, {GUESSED}" not in facts["provable_error"]


def test_names_that_tell_nothing_are_left_out_beside_points() -> None:
    problems, labelings = cloudy(0, 24)
    clicked = [points(y, p) for y, p in zip(labelings[:6], problems[:6], strict=True)]
    choice = choose(make_examples(problems, [*clicked, *tags(labelings[6:], 3)]), [[]] * 24, soft_start)
    assert (choice.facts["start"], choice.facts["left_out"]) == ("points", 18)
    assert set(choice.left_out) == set(range(6, 24))
    alone, more = learner().fit(problems[:6], clicked), learner()
    more.fit(problems, [*clicked, *tags(labelings[6:], 3)])
    np.testing.assert_allclose(more.weights_, alone.weights_, atol=1e-9)


def test_names_that_tell_nothing_are_left_out_beside_masks_and_points() -> None:
    problems, labelings = cloudy(0, 24)
    told = [
        *fulls(labelings[:4], 3),
        *(points(y, p) for y, p in zip(labelings[4:10], problems[4:10], strict=True)),
        *tags(labelings[10:], 3),
    ]
    rehearsals = [[points(labelings[n], problems[n])] if n < 4 else [] for n in range(24)]
    choice = choose(make_examples(problems, told), rehearsals, soft_start)
    alone = choose(make_examples(problems[:10], told[:10]), rehearsals[:10], soft_start)
    assert set(choice.left_out) == set(range(10, 24))
    assert choice.alpha == alone.alpha > 0
    assert [one is None for one in choice.posteriors] == [n < 4 or n >= 10 for n in range(24)]


def test_names_that_tell_labels_apart_are_learned_from_beside_points() -> None:
    problems, labelings = telling(0, 60)
    clicked = [clicked_once(y, p) for y, p in zip(labelings[:6], problems[:6], strict=True)]
    named = tags(labelings[6:], 3)
    choice = choose(make_examples(problems, [*clicked, *named]), [[]] * 60, soft_start)
    assert "soft labels, 0" in choice.facts["provable_error"]
    unseen, truth = telling(1, 60)
    alone, more = (learner().fit(problems[:n], [*clicked, *named][:n]) for n in (6, 60))
    assert more.score(unseen, fulls(truth, 3)) > alone.score(unseen, fulls(truth, 3)) + 0.02


@pytest.mark.parametrize(("n_placed", "burden"), [(6, "names"), (18, "places")])
def test_many_names_must_prove_that_they_help_and_few_must_not_harm(
    n_placed: int, burden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems, labelings = cloudy(0, 24)
    told = [*(points(y, p) for y, p in zip(labelings[:n_placed], problems[:n_placed], strict=True))]
    examples = make_examples(problems, [*told, *tags(labelings[n_placed:], 3)])
    low, high = (Errors(*np.array([[n], [9.0], [n], [9.0], [0.0], [0.0]])) for n in (2.0, 4.0))
    # Errors by places, errors by names or with them, and whether names stay.
    for by_places, with_names, stay in (
        (low, high, False),
        (low, low, burden == "places"),
        (high, low, True),
    ):
        errors = [by_places] * 4, [with_names] * 4
        monkeypatch.setattr(names, "halves_errors", lambda *_, errors=errors: errors)
        left_out = choose(examples, [[]] * 24, soft_start).left_out
        assert set(left_out) == (set() if stay else set(range(n_placed, 24)))


def test_very_few_names_stay_without_being_judged() -> None:
    problems, labelings = cloudy(0, 22)
    told = [
        *(points(y, p) for y, p in zip(labelings[:20], problems[:20], strict=True)),
        *tags(labelings[20:], 3),
    ]
    with patch.object(names, "halves_errors") as judge:
        assert not choose(make_examples(problems, told), [[]] * 22, soft_start).left_out
    assert not judge.called


def clicked_once(labels: Labels, problem: LabelingProblem) -> Joint:
    """A seed in one node of each label that there is, and nothing else is there."""
    there = np.unique(labels).tolist()
    seeds = [grid_seed(k, int(np.flatnonzero(labels == k)[0]), problem.n_nodes) for k in there]
    return Joint(there, [], seeds, n_labels=3, complete=True)


def test_points_of_some_labels_count_as_much_as_those_of_all() -> None:
    problems, labelings = cloudy(0, 8)
    clicked = [points(y, p) for y, p in zip(labelings, problems, strict=True)]
    # The last two say of one label where it is, and nothing of others.
    partial = [Joint([], [], one.seeds[:1], n_labels=3) for one in clicked[6:] if isinstance(one, Joint)]
    examples = make_examples(problems, [*clicked[:6], *partial])
    with patch.object(points_module, "fit_logistic", wraps=fit_logistic) as fit:
        assert points_model(Nodes(examples, [], range(8)), 1e-3) is not None
    weights = [part.counts.sum() / len(part.counts) for part in fit.call_args.args[0]]
    assert weights == pytest.approx([1 / 3] * 8)


# Old versions of the other optimizer warn where steps leave the bounds by a last digit.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("seed", range(5))
def test_shares_are_the_likeliest(seed: int) -> None:
    """EM finds what another optimizer finds on the simplex."""
    rng = np.random.default_rng(seed)
    likelihoods, counts = rng.random((50, 3)) ** 2, rng.random(50)

    def loss(shares: Floats) -> float:
        return -float(counts @ np.log(likelihoods @ shares))

    start = np.full(3, 1 / 3)
    constraint = LinearConstraint(np.ones(3), 1, 1)
    best = minimize(loss, start, method="SLSQP", bounds=[(1e-9, 1)] * 3, constraints=constraint)
    ours = shifted_shares(likelihoods, counts, start)
    assert ours.sum() == pytest.approx(1.0, abs=1e-3)
    assert loss(ours / ours.sum()) <= best.fun + 1e-3


def test_points_do_not_say_how_large_labels_are() -> None:
    """One node in ten is of the second label, which has as many points: its share is found all the same."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [36, 4])
    clouds = [np.column_stack((truth + 0.25 * rng.standard_normal(40), np.ones(40))) for _ in range(24)]
    problems = [LabelingProblem(cloud, [], np.zeros((0, 1))) for cloud in clouds]
    clicked = Joint([], [], [grid_seed(0, 5, 40), grid_seed(1, 38, 40)], n_labels=2)
    data = Nodes(make_examples(problems, [clicked] * 24), (), range(24))
    model = points_model(data, 1e-4)
    assert model is not None
    plain = fit_logistic([Targets(data.features(n)[[5, 38]], np.eye(2)) for n in range(24)], 1e-4)
    shares = shares_of(data, plain, np.array([0.5, 0.5]))
    assert shares[1] == pytest.approx(0.1, abs=0.05)
    # What is read has the odds of the regression on points, times the root of those of the shares.
    read, alike = (probabilities(data.features(0), one) for one in (model, plain))
    odds = (read[:, 1] / read[:, 0]) / (alike[:, 1] / alike[:, 0])
    assert np.allclose(odds, (shares[1] / shares[0]) ** 0.5, rtol=0.05)


def test_places_need_every_label() -> None:
    problems, labelings = cloudy(0, 6)
    seeds = [grid_seed(k, int(np.flatnonzero(labelings[0] == k)[0]), 12) for k in (0, 1)]
    partial = [Joint([2], [], seeds, n_labels=3) for _ in problems]
    whole = [points(y, p) for y, p in zip(labelings, problems, strict=True)]
    assert places_model(Nodes(make_examples(problems, partial), (), range(6)), 1e-3) is None
    assert places_model(Nodes(make_examples(problems, whole), (), range(6)), 1e-3) is not None


def strokes_of(labels: Labels, extents: list[float], per_label: int = 2) -> Joint:
    """Strokes over some nodes of every label, with an extent for each label; and all tags."""
    found = [
        Stroke(int(node), k, extents[k])
        for k in np.unique(labels).tolist()
        for node in np.flatnonzero(labels == k)[:per_label]
    ]
    return Joint(np.unique(labels).tolist(), [], [], n_labels=3, terms=[Scribbled(found)])


def test_labels_are_as_frequent_as_they_are_drawn() -> None:
    """Without features, by hand: nodes count by extents, divided by the power 1/4 of those of their label."""
    problem = LabelingProblem(np.zeros((6, 1)), [], np.zeros((0, 1)))
    labels, extents = np.array([0, 0, 1, 1, 2, 2]), [0.6, 0.3, 0.1]
    data = Nodes(make_examples([problem] * 3, [strokes_of(labels, extents)] * 3), (), range(3))
    model = strokes_model(data, 1e-6)
    assert model is not None
    expected = np.array(extents) ** 0.75
    found = probabilities(data.features(0), model)
    assert np.allclose(found, expected / expected.sum(), atol=0.01)


def test_strokes_of_all_labels_are_a_sample() -> None:
    problems, labelings = cloudy(0, 8)
    drawn = [strokes_of(y, [0.02, 0.01, 0.01]) for y in labelings]
    choice = choose(make_examples(problems, drawn), [[]] * 8, soft_start)
    assert (choice.facts["start"], choice.facts["class_weight"]) == ("strokes", 0.0)
    assert list(choice.facts["provable_error"]) == ["strokes, 0"]
    # Extents are not known, or a label has no stroke: then errors that are provable decide.
    unknown = [strokes_of(y, [0.0] * 3) for y in labelings]
    partial = [strokes_of(np.where(y == 2, 1, y), [0.02] * 3) for y in labelings]
    partial[0] = Joint([0, 1, 2], [], [], n_labels=3)
    # Tags of others add nothing, as they are the same for all.
    alike = choose(make_examples(problems, [*drawn[:3], *tags(labelings[3:], 3)]), [[]] * 8, soft_start)
    assert (alike.facts["start"], alike.facts["left_out"]) == ("strokes", 5)
    for others in (unknown, partial):
        facts = choose(make_examples(problems, others), [[]] * 8, soft_start).facts
        assert "soft labels, 0" in facts["provable_error"]
        assert "strokes, 0" not in facts["provable_error"]


def test_expected_settles_on_the_least_expected_loss() -> None:
    problem = problem_of(3, [])
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]])
    weight = 4 ** (1 / TILT)
    expected = Expected(Tags([0, 1], n_labels=2), shares).weighted([1.0, weight])
    labelings = [np.array(y) for y in np.ndindex(2, 2, 2)]
    best = min(labelings, key=lambda y: expected.loss(problem, y))
    assert expected.start(problem).tolist() == best.tolist() == [0, 1, 1]
    # By hand: the second label is four times as likely, so that the nodes have 4/13, 8/11 and 36/37 of it.
    weights = [1 + (weight - 1) * q for q in (4 / 13, 8 / 11, 36 / 37)]
    missed = [4 / 13, 3 / 11, 1 / 37]
    assert expected.loss(problem, best) == pytest.approx(np.dot(weights, missed))
    allowed = expected.constraints(problem).allowed
    assert allowed is not None
    assert np.argwhere(allowed).tolist() == [[0, 0], [1, 1], [2, 1]]


def test_undecided_nodes_do_not_count() -> None:
    problem = problem_of(2, [])
    expected = Expected(Tags([0, 1, 2], n_labels=3), np.array([[0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]))
    assert expected.decided.tolist() == [False, True]
    assert [expected.loss(problem, [y, 2]) for y in range(3)] == pytest.approx([0.3] * 3)
    known = settled(expecting(make_examples([problem], [Tags([0, 1, 2], n_labels=3)])[0], expected.shares))
    assert known.ignored is not None
    assert known.ignored.tolist() == [True, False]
