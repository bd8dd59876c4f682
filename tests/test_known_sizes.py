"""A label has no more of a node than is in its boxes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from multiutility.annotations import Joint
from multiutility.kinds import PixelAnnotation, PixelBox
from multiutility.learning.examples import make_examples
from multiutility.learning.starts.known_sizes import capped, within_boxes
from multiutility.problem import LabelingProblem
from multiutility.vision.rasterize import rasterize


@pytest.mark.parametrize("seed", range(5))
def test_capped_shares_are_in_proportion_by_one_factor_a_node(seed: int) -> None:
    """Found by bisection: ``min(ceiling, factor * share)`` that adds up to 1."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), size=30)
    ceilings = np.where(rng.random((30, 4)) < 0.5, rng.random((30, 4)), 1.0)
    found = capped(shares, ceilings)
    for share, ceiling, row in zip(shares, ceilings, found, strict=True):
        if ceiling.sum() < 1:
            continue
        factor = brentq(lambda f, q=share, c=ceiling: np.minimum(c, f * q).sum() - 1, 1e-9, 1e9, xtol=1e-14)
        np.testing.assert_allclose(row, np.minimum(ceiling, factor * share), atol=1e-6)


def random_regions(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Regions of an image by the nearest of some points."""
    points = rng.random((12, 2)) * shape
    places = np.stack(np.meshgrid(*(np.arange(side) + 0.5 for side in shape), indexing="ij"), axis=-1)
    nearest = np.linalg.norm(places[:, :, np.newaxis] - points, axis=-1).argmin(axis=-1)
    return np.unique(nearest, return_inverse=True)[1].reshape(shape).astype(np.int32)


@pytest.mark.parametrize("seed", range(5))
def test_no_mask_has_more_of_a_node_than_its_boxes_allow(seed: int) -> None:
    """Boxes that are made from a mask, and the histogram of the same mask."""
    rng = np.random.default_rng(seed)
    shape = (24, 30)
    regions = random_regions(rng, shape)
    mask = np.ones(shape, dtype=np.uint8)
    for label in (2, 3):
        top, left = rng.integers(0, 18, size=2)
        height, width = rng.integers(2, 12, size=2)
        mask[top : top + height, left : left + width] = label
    boxes = []
    for label in (1, 2):
        rows, columns = np.nonzero(mask == label + 1)
        if len(rows):
            right, bottom = float(columns.max() + 1), float(rows.max() + 1)
            boxes.append(PixelBox(label, float(columns.min()), float(rows.min()), right, bottom))
    joint = rasterize(PixelAnnotation(tags=(0,), boxes=tuple(boxes)), regions, 3)
    assert isinstance(joint, Joint)
    problem = LabelingProblem(
        np.zeros((regions.max() + 1, 1)), [], np.zeros((0, 1)), np.bincount(regions.ravel())
    )
    counts = np.stack([np.bincount(regions.ravel(), mask.ravel() == k + 1) for k in range(3)], axis=1)
    ceilings = joint.ceilings(problem)
    inside = joint.possible(problem)
    parts = counts / problem.node_sizes[:, np.newaxis]
    assert (parts <= ceilings + 1e-12)[inside].all()
    (example,) = make_examples([problem], [joint])
    posterior = within_boxes(example, np.where(inside, 1.0, 0.0) / inside.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert (posterior <= ceilings + 1e-12)[inside].all()


def test_ceilings_are_what_is_in_the_box_before_it_is_shrunk() -> None:
    regions = np.repeat(np.arange(4, dtype=np.int32), 10)[np.newaxis].repeat(10, axis=0)
    annotation = PixelAnnotation(tags=(0,), boxes=(PixelBox(1, left=5, top=0, right=22, bottom=10),))
    joint = rasterize(annotation, regions, 2)
    assert isinstance(joint, Joint)
    problem = LabelingProblem(np.zeros((4, 1)), [], np.zeros((0, 1)), np.full(4, 100.0))
    np.testing.assert_allclose(joint.ceilings(problem)[:, 1], [0.5, 1.0, 0.2, 0.0])
