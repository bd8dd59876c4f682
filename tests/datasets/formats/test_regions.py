"""Shapes to pixels and back, to the pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.path import Path as Outline
from numpy.typing import NDArray

from format_cases import fill_by_coco, nested_mask
from multiutility.datasets.formats.regions import Canvas, fill_disk, fill_polygon, outlines

HEIGHT, WIDTH = 12, 15
places = st.tuples(st.floats(-5, WIDTH + 5), st.floats(-5, HEIGHT + 5))
masks = hnp.arrays(
    np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9), elements=st.integers(0, 3)
)


def centers() -> NDArray[np.float64]:
    """Places [H * W, 2] of the centers of pixels."""
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.stack([x.ravel(), y.ravel()], axis=1)


def distance_to_border(points: list[tuple[float, float]]) -> NDArray[np.float64]:
    """Distances [H, W] of the centers to the border of a polygon."""
    nearest = np.full(HEIGHT * WIDTH, np.inf)
    for begin, end in zip(points, points[1:] + points[:1], strict=True):
        a, b = np.array(begin), np.array(end)
        length = (b - a) @ (b - a)
        t = np.clip((centers() - a) @ (b - a) / length, 0, 1) if length > 0 else np.zeros(HEIGHT * WIDTH)
        nearest = np.minimum(nearest, np.linalg.norm(centers() - (a + t[:, np.newaxis] * (b - a)), axis=1))
    return nearest.reshape(HEIGHT, WIDTH)


def winding_numbers(points: list[tuple[float, float]]) -> NDArray[np.int64]:
    """How often a polygon goes around each center, [H, W], by the angles under which its sides are seen."""
    rays = np.array(points)[:, np.newaxis] - centers()
    ahead = np.roll(rays, -1, axis=0)
    cross = rays[..., 0] * ahead[..., 1] - rays[..., 1] * ahead[..., 0]
    angles = np.arctan2(cross, (rays * ahead).sum(axis=2))
    turns = np.round(angles.sum(axis=0) / (2 * np.pi))
    return np.asarray(turns.reshape(HEIGHT, WIDTH), dtype=np.int64)


def test_a_polygon_through_whole_numbers_covers_whole_pixels() -> None:
    area = fill_polygon([(2, 1), (6, 1), (6, 4), (2, 4)], HEIGHT, WIDTH)
    wanted = np.zeros((HEIGHT, WIDTH), dtype=bool)
    wanted[1:4, 2:6] = True
    np.testing.assert_array_equal(area, wanted)


@pytest.mark.parametrize(
    ("shift", "first"), [(0.49, 2), (0.5, 2), (0.51, 3), (-0.5, 1), (-0.49, 2), (-0.51, 1)]
)
def test_pixels_belong_by_their_centers(shift: float, first: int) -> None:
    area = fill_polygon([(2 + shift, 0), (6 + shift, 0), (6 + shift, 1), (2 + shift, 1)], 1, WIDTH)
    np.testing.assert_array_equal(np.flatnonzero(area[0]), np.arange(first, first + 4))


@given(points=st.lists(places, min_size=3, max_size=3))
def test_triangles_as_matplotlib_sees_them(points: list[tuple[float, float]]) -> None:
    inside = Outline(np.array(points)).contains_points(centers()).reshape(HEIGHT, WIDTH)
    clear = distance_to_border(points) > 1e-6
    np.testing.assert_array_equal(fill_polygon(points, HEIGHT, WIDTH)[clear], inside[clear])


@given(points=st.lists(places, min_size=3, max_size=9))
def test_polygons_that_cross_themselves_are_filled_where_they_wind_oddly(
    points: list[tuple[float, float]],
) -> None:
    clear = distance_to_border(points) > 1e-6
    odd = winding_numbers(points) % 2 == 1
    np.testing.assert_array_equal(fill_polygon(points, HEIGHT, WIDTH)[clear], odd[clear])


@given(points=st.lists(st.tuples(st.integers(0, WIDTH), st.integers(0, HEIGHT)), min_size=2, max_size=8))
def test_rectilinear_polygons_as_pycocotools_fills_them(points: list[tuple[int, int]]) -> None:
    corners = [corner for k, (x, y) in enumerate(points) for corner in [(x, points[k - 1][1]), (x, y)]]
    flat = [float(value) for corner in corners for value in corner]
    ours = fill_polygon(corners, HEIGHT, WIDTH)
    # Where a polygon runs back over itself, sides bound nothing, and pycocotools may differ.
    sides = [
        tuple(sorted(pair))
        for pair in zip(corners, corners[1:] + corners[:1], strict=True)
        if pair[0] != pair[1]
    ]
    if overlapping(sides):
        return
    np.testing.assert_array_equal(ours, fill_by_coco(flat, HEIGHT, WIDTH))


def overlapping(sides: list[tuple[tuple[int, int], ...]]) -> bool:
    """Whether two sides along rows or columns have a piece in common."""
    pieces: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for (x0, y0), (x1, y1) in sides:
        steps = max(abs(x1 - x0), abs(y1 - y0))
        dx, dy = np.sign(x1 - x0), np.sign(y1 - y0)
        pieces += [((x0 + k * dx, y0 + k * dy), (x0 + (k + 1) * dx, y0 + (k + 1) * dy)) for k in range(steps)]
    return len(set(pieces)) < len(pieces)


@given(points=st.lists(places, min_size=3, max_size=8), center=places)
def test_polygons_with_common_sides_share_and_miss_no_pixel(
    points: list[tuple[float, float]], center: tuple[float, float]
) -> None:
    whole = fill_polygon(points, HEIGHT, WIDTH)
    sides = zip(points, points[1:] + points[:1], strict=True)
    parts = [fill_polygon([center, *side], HEIGHT, WIDTH).astype(int) for side in sides]
    np.testing.assert_array_equal(np.sum(parts, axis=0) % 2 == 1, whole)


def test_polygons_far_outside_cost_nothing_and_fill_right() -> None:
    area = fill_polygon([(-1e9, -1e9), (1e9, -1e9), (1e9, 1e9), (-1e9, 1e9)], HEIGHT, WIDTH)
    assert area.all()
    assert not fill_polygon([(1e12, 0), (1e12, 5), (2e12, 3)], HEIGHT, WIDTH).any()


def test_many_corners_are_filled_in_portions() -> None:
    angles = np.linspace(0, 2 * np.pi, 500_000, endpoint=False)
    points = np.stack([7 + 5 * np.cos(angles), 6 + 5 * np.sin(angles)], axis=1)
    clear = np.abs(np.hypot(*(centers() - [7, 6]).T) - 5).reshape(HEIGHT, WIDTH) > 1e-3
    disk = fill_disk(7, 6, 5, HEIGHT, WIDTH)
    np.testing.assert_array_equal(fill_polygon(points, HEIGHT, WIDTH)[clear], disk[clear])


@given(mask=masks, data=st.data())
def test_outlines_give_the_mask_back(mask: NDArray[np.uint8], data: st.DataObject) -> None:
    instances = data.draw(st.none() | hnp.arrays(np.int32, mask.shape, elements=st.sampled_from([0, 1, 500])))
    painted, ids = np.zeros(mask.shape, dtype=int), np.zeros(mask.shape, dtype=int)
    by_coco = np.zeros(mask.shape, dtype=int)
    for one in outlines(mask, instances):
        area = fill_polygon(one.corners, *mask.shape)
        painted[area], ids[area] = one.value, one.instance
        by_coco[fill_by_coco(one.corners.ravel().astype(float).tolist(), *mask.shape)] = one.value
    np.testing.assert_array_equal(painted, mask)
    np.testing.assert_array_equal(by_coco, mask)
    np.testing.assert_array_equal(ids, np.where(mask, 0 if instances is None else instances, 0))


def test_outlines_have_corners_only_and_void_only_in_holes() -> None:
    found = outlines(nested_mask())
    for one in found:
        steps = np.diff(one.corners, axis=0, append=one.corners[:1])
        assert ((steps == 0).sum(axis=1) == 1).all()
        assert ((steps != 0) != (np.roll(steps, 1, axis=0) != 0)).all()
    assert [one.value for one in found][:4] == [1, 2, 0, 3]
    assert sum(one.value == 0 for one in found) == 1


def test_outlines_of_large_masks_give_them_back() -> None:
    mask = (np.add.outer(np.arange(200), np.arange(300)) // 25 % 3).astype(np.uint8)
    painted = np.zeros_like(mask)
    for one in outlines(mask):
        painted[fill_polygon(one.corners, 200, 300)] = one.value
    np.testing.assert_array_equal(painted, mask)


def test_canvas_paints_the_last_on_top() -> None:
    canvas = Canvas(1, 3)
    assert canvas.mask is None
    canvas.paint(np.array([[True, True, True]]), 0, 4)
    canvas.paint(np.array([[False, True, False]]), -1)
    assert canvas.mask is not None
    assert canvas.mask.tolist() == [[1, 0, 1]]
    assert canvas.instances is not None
    assert canvas.instances.tolist() == [[4, 0, 4]]
