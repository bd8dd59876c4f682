"""Superpixels: what all kinds promise, and merging against the plain algorithm.

Native routines and their twins in NumPy go through the same tests, and are compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage
from skimage.segmentation import watershed

from multiutility.vision.regions import basins, boundary, cells, merging, reference
from multiutility.vision.regions.borders import Borders
from multiutility.vision.regions.reference import border_lengths, nearest
from multiutility.vision.regions.superpixels import (
    Felzenszwalb,
    RegionMerging,
    Slic,
    Superpixels,
    adjacency,
    boundary_map,
    boundary_strength,
)
from noise_pictures import block_regions, noise_image

KINDS: list[Superpixels] = [Slic(40), Felzenszwalb(30, 0.5, 10), RegionMerging(20)]

shapes = st.tuples(st.integers(1, 40), st.integers(1, 40))


@dataclass(frozen=True)
class Routines:
    """One way to do it."""

    drained: Callable[..., NDArray[Any] | None]
    borders: Callable[..., Borders]
    connected: Callable[..., NDArray[Any]]
    merge_regions: Callable[..., NDArray[Any]]
    cell_weights: Callable[..., Any]
    largest_change: Callable[..., Any]


NATIVE = Routines(
    basins.drained,
    Borders.of,
    merging.connected,
    merging.merge_regions,
    cells.cell_weights,
    boundary.largest_change,
)
TWINS = Routines(
    reference.drained,
    reference.borders,
    reference.connected,
    reference.merge_regions,
    reference.cell_weights,
    reference.largest_change,
)
both = pytest.mark.parametrize("way", [NATIVE, TWINS], ids=["native", "numpy"])


def n_parts(mask: NDArray[np.bool_]) -> int:
    """Number of 4-connected parts, by SciPy."""
    return int(ndimage.label(mask)[1])


def pairs_by_loop(regions: NDArray[Any]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """All pairs of neighboring pixels in different regions, the one of the smaller label first."""
    found = []
    for y, x in np.ndindex(regions.shape):
        for other in ((y, x + 1), (y + 1, x)):
            if other[0] < regions.shape[0] and other[1] < regions.shape[1]:
                one = (y, x)
                if regions[one] != regions[other]:
                    found.append((one, other) if regions[one] < regions[other] else (other, one))
    return found


@settings(max_examples=25)
@given(shape=shapes, seed=st.integers(0, 99), kind=st.sampled_from(KINDS))
def test_regions_are_numbered_and_connected(shape: tuple[int, int], seed: int, kind: Superpixels) -> None:
    image = noise_image(*shape, seed)
    before = image.copy()
    regions = kind(image)
    assert regions.shape == shape
    assert regions.dtype == np.int32
    assert np.array_equal(np.unique(regions), np.arange(regions.max() + 1))
    assert all(n_parts(regions == region) == 1 for region in range(regions.max() + 1))
    assert np.array_equal(regions, kind(image))
    assert np.array_equal(image, before)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_regions_keep_to_strong_edges(kind: Superpixels) -> None:
    image = np.full((60, 80, 3), 40, dtype=np.uint8)
    image[20:45, 30:60] = (220, 180, 40)
    regions = kind(image)
    inside = np.zeros((60, 80), dtype=np.bool_)
    inside[20:45, 30:60] = True
    wrong = sum(min((part & inside).sum(), (part & ~inside).sum()) for part in parts(regions))
    assert wrong < 0.05 * inside.sum()


def parts(regions: NDArray[Any]) -> list[NDArray[np.bool_]]:
    return [regions == region for region in range(regions.max() + 1)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_resized_changes_the_number_of_regions(kind: Superpixels) -> None:
    image = noise_image(213, 320, 3)
    few, many = (kind.resized(n)(image).max() + 1 for n in (20, 200))
    assert few < 60
    assert many > 1.5 * few


def test_merging_gives_the_wanted_number() -> None:
    assert [RegionMerging(n)(noise_image(60, 80)).max() + 1 for n in (1, 2, 7, 30)] == [1, 2, 7, 30]


@given(shape=shapes, n_labels=st.integers(1, 6), seed=st.integers(0, 99))
def test_adjacency_and_strength_by_loops(shape: tuple[int, int], n_labels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, regions = np.unique(rng.integers(0, n_labels, shape), return_inverse=True)
    regions = regions.reshape(shape)
    boundary = rng.uniform(0, 255, shape).astype(np.float32)
    sums: dict[tuple[int, int], list[float]] = {}
    for one, other in pairs_by_loop(regions):
        value = (float(boundary[one]) + float(boundary[other])) / 2
        sums.setdefault((int(regions[one]), int(regions[other])), []).append(value)
    edges = adjacency(regions)
    assert edges.dtype == np.int32
    assert [tuple(edge) for edge in edges.tolist()] == sorted(sums)
    expected = [np.mean(sums[edge]) for edge in sorted(sums)]
    np.testing.assert_allclose(boundary_strength(regions, edges, boundary), expected, rtol=1e-6)
    np.testing.assert_allclose(boundary_strength(regions, edges[::-1], boundary), expected[::-1], rtol=1e-6)


def test_strength_of_regions_that_do_not_touch_is_an_error() -> None:
    regions = np.array([[0, 1, 2]])
    with pytest.raises(ValueError, match=r"edges\[1\] is \[0, 2\]: these regions have no common border"):
        boundary_strength(regions, np.array([[0, 1], [0, 2]], np.int32), np.zeros((1, 3), np.float32))


def merge_one_by_one(
    regions: NDArray[Any], boundary: NDArray[Any], n_regions: int, power: float
) -> NDArray[Any]:
    """The plain algorithm: merge the weakest pair, measure all borders anew."""
    regions = regions.copy()
    while len(np.unique(regions)) > n_regions:
        sums: dict[tuple[int, int], list[float]] = {}
        for one, other in pairs_by_loop(regions):
            value = (float(boundary[one]) + float(boundary[other])) / 2
            sums.setdefault((int(regions[one]), int(regions[other])), []).append(value)
        sizes = {region: (regions == region).sum() for region in np.unique(regions).tolist()}
        i, j = min(sums, key=lambda edge: np.mean(sums[edge]) * min(sizes[edge[0]], sizes[edge[1]]) ** power)
        regions[regions == j] = i
    return regions


def same_partition(one: NDArray[Any], other: NDArray[Any]) -> bool:
    pairs = np.unique(np.stack((one.ravel(), other.ravel()), axis=1), axis=0)
    return len(pairs) == len(np.unique(one)) == len(np.unique(other))


@both
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), power=st.sampled_from([0.0, 0.5, 1.0]), n_regions=st.integers(1, 20))
def test_merging_many_pairs_at_once_is_merging_one_by_one(
    way: Routines, seed: int, power: float, n_regions: int
) -> None:
    boundary = np.random.default_rng(seed).uniform(1, 255, (10, 12)).astype(np.float32)
    regions = block_regions(10, 12, 2)
    expected = merge_one_by_one(regions, boundary, n_regions, power)
    assert same_partition(way.merge_regions(regions, boundary, n_regions, power), expected)


@both
def test_coarser_cuts_join_regions_of_finer_ones(way: Routines) -> None:
    boundary = np.random.default_rng(5).uniform(0, 255, (40, 60)).astype(np.float32)
    cuts = [way.merge_regions(block_regions(40, 60, 4), boundary, n, 0.5) for n in (60, 25, 8, 1)]
    for fine, coarse in pairwise(cuts):
        assert all(len(np.unique(coarse[part])) == 1 for part in parts(fine))


@both
def test_merging_ties_still_gives_the_wanted_number(way: Routines) -> None:
    flat = np.zeros((20, 30), dtype=np.float32)
    merged = way.merge_regions(block_regions(20, 30, 2), flat, 11)
    assert merged.max() + 1 == 11
    assert all(n_parts(part) == 1 for part in parts(merged))


@both
@given(shape=shapes, n_labels=st.integers(1, 4), seed=st.integers(0, 99), min_size=st.integers(1, 30))
def test_connected_has_no_small_or_split_regions(
    way: Routines, shape: tuple[int, int], n_labels: int, seed: int, min_size: int
) -> None:
    labels = np.random.default_rng(seed).integers(0, n_labels, shape)
    regions = way.connected(labels, min_size)
    assert all(n_parts(part) == 1 for part in parts(regions))
    assert np.bincount(regions.ravel()).min() >= min(min_size, labels.size)
    if min_size == 1:
        assert regions.max() + 1 == sum(n_parts(labels == label) for label in range(n_labels))


def surface_of(shape: tuple[int, int], seed: int, n_levels: int | None) -> NDArray[np.float32]:
    """A random map; with few levels, most pixels have neighbors of the same value."""
    values = np.random.default_rng(seed).random(shape)
    return np.asarray(values if n_levels is None else np.floor(n_levels * values), dtype=np.float32)


def partition(labels: NDArray[Any]) -> list[int]:
    """Labels by the first pixel that has them."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse]).ravel().tolist()


@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(0, 10**6),
    st.sampled_from([None, None, 2, 5, 30, 300]),
)
def test_basins_are_those_of_flooding(shape: tuple[int, int], seed: int, n_levels: int | None) -> None:
    surface = surface_of(shape, seed, n_levels)
    assert partition(basins.basins(surface)) == partition(watershed(surface, connectivity=1))


@both
def test_basins_need_no_queue_unless_pixels_tie(way: Routines) -> None:
    surface = surface_of((40, 60), 0, None)
    found = way.drained(surface)
    assert found is not None
    assert partition(found) == partition(watershed(surface, connectivity=1))
    surface[:9, :20] = surface[30:, 30:] = 0  # flat bottoms, as of overexposed sky
    found = way.drained(surface)
    assert found is not None
    assert partition(found) == partition(watershed(surface, connectivity=1))
    assert way.drained(surface_of((40, 60), 0, 5)) is None


@given(st.integers(0, 10**6), st.integers(2, 12), st.booleans())
def test_nearest_by_loops(seed: int, n_regions: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(n_regions), 2) if rng.random() < 0.4]
    edges = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    distances = rng.integers(-2, 2, len(edges)).astype(np.float64) if ties else rng.normal(size=len(edges))
    expected = []
    for region in range(n_regions):
        own = [e for e, pair in enumerate(edges.tolist()) if region in pair]
        best = min(own, key=lambda e: (distances[e], e), default=None)
        expected.append(-1 if best is None else int(edges[best].sum()) - region)
    assert nearest(edges, distances, n_regions).tolist() == expected


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10**6))
def test_lengths_of_borders_are_those_of_their_pixels(height: int, width: int, seed: int) -> None:
    regions = merging.connected(np.random.default_rng(seed).integers(0, 4, (height, width)), min_size=1)
    edges, lengths = border_lengths(regions)
    assert np.array_equal(edges, Borders.of(regions).edges)
    assert np.array_equal(lengths, Borders.of(regions).lengths)


@both
def test_borders_of_one_region_are_empty(way: Routines) -> None:
    borders = way.borders(np.zeros((3, 4), dtype=np.int32))
    assert borders.edges.shape == (0, 2)
    assert borders.means(np.ones((3, 4))).shape == (0,)


@given(
    shape=st.tuples(st.integers(1, 25), st.integers(1, 25)),
    seed=st.integers(0, 10**6),
    n_levels=st.sampled_from([None, 2, 5, 30, 300]),
    n_regions=st.integers(1, 30),
    power=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_native_routines_give_what_their_twins_give(
    shape: tuple[int, int], seed: int, n_levels: int | None, n_regions: int, power: float
) -> None:
    surface = surface_of(shape, seed, n_levels)
    drops = NATIVE.drained(surface), TWINS.drained(surface)
    assert (drops[0] is None) == (drops[1] is None)
    if drops[0] is not None:
        np.testing.assert_array_equal(*drops)
    labels = np.floor(4 * surface_of(shape, seed + 1, None)).astype(np.int32)
    for min_size in (1, 4):
        parts = NATIVE.connected(labels, min_size)
        np.testing.assert_array_equal(parts, TWINS.connected(labels, min_size))
        expected = TWINS.merge_regions(parts, surface, n_regions, power)
        np.testing.assert_array_equal(NATIVE.merge_regions(parts, surface, n_regions, power), expected)
        one, other = NATIVE.borders(parts), TWINS.borders(parts)
        for field in ("edges", "owner", "first", "second"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


@given(shape=shapes, grid=st.tuples(st.integers(1, 9), st.integers(1, 9)), seed=st.integers(0, 99))
def test_weights_of_cells_add_up_to_sizes(shape: tuple[int, int], grid: tuple[int, int], seed: int) -> None:
    regions = merging.connected(np.random.default_rng(seed).integers(0, 3, shape), min_size=5)
    one, other = NATIVE.cell_weights(regions, grid), TWINS.cell_weights(regions, grid)
    np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.sum(axis=1), np.bincount(regions.ravel()), rtol=1e-5)


def test_native_code_gets_no_labels_that_it_cannot_count() -> None:
    for wrong in (np.array([[0, -1]]), np.zeros((0, 3), np.int32), np.zeros(4, np.int32)):
        with pytest.raises(ValueError, match=r"expected \[H, W\] with labels from 0 on"):
            Borders.of(wrong)
    with pytest.raises(ValueError, match="but the boundary map"):
        merging.merge_regions(np.zeros((2, 3), np.int32), np.zeros((3, 2), np.float32), 1)


@both
@given(seed=st.integers(0, 99), n=st.integers(0, 9), depth=st.integers(1, 7))
def test_the_largest_change_is_that_of_all_directions(way: Routines, seed: int, n: int, depth: int) -> None:
    across, down = np.random.default_rng(seed).normal(size=(2, n, depth)).astype(np.float32)
    angles = np.linspace(0, np.pi, 1000)[:, np.newaxis, np.newaxis]
    changes = np.linalg.norm(np.cos(angles) * across + np.sin(angles) * down, axis=2)
    np.testing.assert_allclose(way.largest_change(across, down, 0.5), changes.max(axis=0) / 2, rtol=1e-4)


def test_boundary_map_of_a_flat_image_is_zero() -> None:
    assert boundary_map(np.full((30, 40, 3), 90, dtype=np.uint8)).max() < 1e-3


@given(shape=shapes, seed=st.integers(0, 99))
def test_boundary_map_is_in_range_for_any_size(shape: tuple[int, int], seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (*shape, 3)).astype(np.uint8)
    boundary = boundary_map(image)
    assert boundary.shape == shape
    assert boundary.dtype == np.float32
    assert np.isfinite(boundary).all()
    assert boundary.min() >= 0
    assert boundary.max() <= 255


def test_boundary_map_is_the_same_from_every_side() -> None:
    image = noise_image(64, 80, 2)
    boundary = boundary_map(image)
    for turned, back in ((image[:, ::-1], np.fliplr), (image[::-1], np.flipud)):
        np.testing.assert_allclose(back(boundary_map(np.ascontiguousarray(turned))), boundary, atol=0.5)
    across = boundary_map(np.ascontiguousarray(image.swapaxes(0, 1)))
    np.testing.assert_allclose(across.T, boundary, atol=0.5)


def test_stripes_are_weaker_inside_than_where_they_turn() -> None:
    y, x = np.indices((96, 128))
    stripes = np.where(x < 64, y // 3, x // 3) % 2 * 60 + 90
    boundary = boundary_map(np.repeat(stripes[..., np.newaxis], 3, axis=2).astype(np.uint8))
    turn = boundary[20:-20, 60:68].mean()
    inside = max(boundary[20:-20, 16:40].mean(), boundary[20:-20, 88:112].mean())
    assert turn > 2 * inside
