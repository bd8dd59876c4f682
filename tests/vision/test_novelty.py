"""How different images are, against distances computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from multiutility.problem import LabelingProblem
from multiutility.vision.novelty import Novelty, place_of


def problem(features: np.ndarray, sizes: np.ndarray) -> LabelingProblem:
    return LabelingProblem(features.astype(np.float32), np.zeros((0, 2)), np.zeros((0, 1)), sizes)


def test_places_keep_angles_and_do_not_depend_on_the_cut() -> None:
    rng = np.random.default_rng(3)
    one, two = rng.standard_normal((2, 6, 500)) + 0.3 * rng.standard_normal(500)
    sizes = rng.uniform(1, 5, 6)
    places = [np.array(place_of(problem(x, sizes), weighted=False)) for x in (one, two)]
    means = [sizes @ x for x in (one, two)]
    cosine = means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1])
    assert places[0] @ places[1] == pytest.approx(cosine, abs=0.25)
    assert np.linalg.norm(places[0]) == pytest.approx(1.0)
    # Features that are multiplied by sizes already say the same.
    weighted = place_of(problem(one * sizes[:, np.newaxis], sizes), weighted=True)
    assert np.allclose(weighted, places[0], atol=1e-5)
    # A region that is cut in two, as well.
    halves = problem(one[[0, 0, 1, 2, 3, 4, 5]], np.array([sizes[0] / 2, sizes[0] / 2, *sizes[1:]]))
    assert np.allclose(place_of(halves, weighted=False), places[0], atol=1e-5)
    assert place_of(problem(np.zeros((2, 3)), np.ones(2)), weighted=False) == ()


def test_novelty_is_the_distance_to_the_nearest_of_the_others() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((8, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    names = [f"image{n}" for n in range(8)]
    novelty = Novelty({n: tuple(p) for n, p in zip(names, points, strict=True)}, n_levels=3)
    for number, level in ((2, 0), (5, 1), (6, 2)):
        novelty.take(names[number], level)
    distances = 1 - points @ points.T
    scale = distances[~np.eye(8, dtype=bool)].mean()
    for level, taken in enumerate(([2, 5, 6], [5, 6], [6])):
        for n in range(8):
            near = [distances[n, other] for other in taken if other != n]
            wanted = min(1.0, min(near) / scale) if near else 1.0
            assert novelty.of(np.array([n]), np.array([level]))[0] == pytest.approx(wanted, abs=1e-12)
