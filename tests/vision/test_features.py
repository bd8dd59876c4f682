"""Descriptors: each against a plain computation of the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import linalg, ndimage
from sklearn.kernel_approximation import AdditiveChi2Sampler

from multiutility.vision.features.descriptor import Descriptor, Features, State
from multiutility.vision.features.descriptors.border_words import SIDES, BorderWords
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.channel_words import ChannelWords
from multiutility.vision.features.descriptors.chi_square import ChiSquare, chi_square_map
from multiutility.vision.features.descriptors.color_moments import ColorMean, ColorSpread
from multiutility.vision.features.descriptors.color_words import ColorWords
from multiutility.vision.features.descriptors.constant import Constant
from multiutility.vision.features.descriptors.context import Neighbors, Parents, Scene
from multiutility.vision.features.descriptors.dilated import Dilated
from multiutility.vision.features.descriptors.filters import Filters, resized_responses
from multiutility.vision.features.descriptors.gist import Gist
from multiutility.vision.features.descriptors.grid import grid_axes, spread
from multiutility.vision.features.descriptors.joint import Joint
from multiutility.vision.features.descriptors.location import Location
from multiutility.vision.features.descriptors.log_covariance import log_map
from multiutility.vision.features.descriptors.moments import Moments, symmetric, whitening_axes
from multiutility.vision.features.descriptors.normalize import L1, L2
from multiutility.vision.features.descriptors.shape import Area, Center, Extent, Outline, Top
from multiutility.vision.features.descriptors.sift_words import SiftWords, dense_sift
from multiutility.vision.features.descriptors.similarity import Similarity
from multiutility.vision.features.descriptors.standardized import Standardized
from multiutility.vision.features.descriptors.texton_words import TextonWords
from multiutility.vision.features.descriptors.thumbnail import Thumbnail
from multiutility.vision.features.descriptors.words import Words, learn_centers, nearest_centers
from multiutility.vision.features.picture import Picture
from multiutility.vision.regions.merging import merge_regions
from noise_pictures import block_regions, noise_image, noise_picture

PICTURE = noise_picture()
TRAINING = [noise_picture(40, 50, seed) for seed in range(1, 5)]


def fitted(descriptor: Descriptor, picture: Picture = PICTURE) -> Features:
    state = descriptor.fit(TRAINING, np.random.default_rng(0))
    return descriptor.describe(picture, state)


def members(picture: Picture) -> list[NDArray[np.bool_]]:
    return [picture.regions == region for region in range(picture.n_regions)]


@dataclass(frozen=True)
class Given:
    """A descriptor with given values, to test what others make of them."""

    values: tuple[tuple[float, ...], ...]

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        return {"offset": np.ones(1)}

    def describe(self, picture: Picture, state: State) -> Features:  # noqa: ARG002
        return np.array(self.values, dtype=np.float32) * state["offset"].astype(np.float32)


def given_counts(picture: Picture, n: int = 3, seed: int = 0) -> Given:
    counts = np.random.default_rng(seed).integers(0, 9, (picture.n_regions, n))
    return Given(tuple(map(tuple, counts.tolist())))


def test_picture_pools_over_regions() -> None:
    pixelwise = np.random.default_rng(0).normal(size=(*PICTURE.shape, 2)).astype(np.float32)
    means = [pixelwise[mask].mean(axis=0) for mask in members(PICTURE)]
    np.testing.assert_allclose(PICTURE.pool_mean(pixelwise), means, rtol=1e-4, atol=1e-5)
    assert PICTURE.sizes.tolist() == [mask.sum() for mask in members(PICTURE)]


def test_picture_computes_once() -> None:
    picture, calls = noise_picture(), [0]

    def compute() -> int:
        calls[0] += 1
        return 7

    assert [picture.once("key", compute), picture.once("key", compute)] == [7, 7]
    assert calls == [1]


def test_picture_of_another_size_than_its_regions_is_an_error() -> None:
    with pytest.raises(ValueError, match="regions"):
        Picture(noise_image(4, 5), np.zeros((5, 4), dtype=np.int32))


@given(n=st.integers(1, 40), n_centers=st.integers(1, 9), seed=st.integers(0, 99))
def test_nearest_centers(n: int, n_centers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples, centers = (rng.normal(size=(k, 3)).astype(np.float32) for k in (n, n_centers))
    distances = np.linalg.norm(samples[:, np.newaxis] - centers, axis=2)
    found = nearest_centers(samples, centers)
    np.testing.assert_allclose(distances[np.arange(n), found], distances.min(axis=1), rtol=1e-3, atol=1e-4)


def test_centers_find_clusters_and_are_never_more_than_the_samples() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([[0, 0], [50, 0], [0, 50]], dtype=np.float32)
    samples = truth[rng.integers(0, 3, 3000)] + rng.normal(size=(3000, 2))
    centers = learn_centers([samples[:1000], samples[1000:]], 3, rng)
    assert np.abs(np.array(sorted(centers.tolist())) - np.array(sorted(truth.tolist()))).max() < 1
    assert len(learn_centers([truth, truth], 10, rng)) == 3


WORDS: list[Words] = [
    SiftWords(16),
    SiftWords(16, cells=(5,)),
    ColorWords(12),
    ColorWords(12, lab=True),
    TextonWords(14),
    Location(2, 3),
    ChannelWords(1, 7),
]


@pytest.mark.parametrize("words", WORDS, ids=repr)
@pytest.mark.parametrize("shape", [(48, 64), (1, 1), (3, 90), (50, 2)])
def test_words_are_counted_in_regions(words: Words, shape: tuple[int, int]) -> None:
    picture = noise_picture(*shape, seed=9)
    state = words.fit(TRAINING, np.random.default_rng(0))
    found = words.find(picture, state)
    assert found.shape[1:] == shape
    counts = words.describe(picture, state)
    expected = [np.bincount(found[:, mask].ravel(), minlength=words.n_words) for mask in members(picture)]
    assert np.array_equal(counts, expected)


@pytest.mark.parametrize("words", WORDS, ids=repr)
def test_words_depend_on_the_seed_alone(words: Words) -> None:
    states = [words.fit([noise_picture(40, 50, 1)], np.random.default_rng(3)) for _ in range(2)]
    assert states[0].keys() == states[1].keys()
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


def test_color_words_are_the_nearest_colors() -> None:
    state = {"centers": np.array([[0, 0, 0], [255, 0, 0], [255, 255, 255]], dtype=np.float32)}
    image = np.array([[[10, 0, 20], [200, 30, 30], [250, 240, 255]]], dtype=np.uint8)
    picture = Picture(image, np.zeros((1, 3), dtype=np.int32))
    assert ColorWords(3).find(picture, state).tolist() == [[[0, 1, 2]]]


def sift_by_loop(gray: NDArray[np.uint8], row: int, column: int, cell: int) -> NDArray[np.float64]:
    """One SIFT descriptor, pixel by pixel (the image's borders far away)."""
    smooth = cv2.GaussianBlur(gray.astype(np.float32) / 255, (0, 0), max(0.5, cell / 6))
    found = np.zeros((4, 4, 8))
    offsets = ((np.arange(4) - 1.5) * cell).round()
    for y in range(row - 3 * cell, row + 3 * cell + 1):
        for x in range(column - 3 * cell, column + 3 * cell + 1):
            across, down = smooth[y, x + 1] - smooth[y, x - 1], smooth[y + 1, x] - smooth[y - 1, x]
            turn = np.arctan2(down, across) % (2 * np.pi) * 8 / (2 * np.pi)
            for i, dy in enumerate(offsets):
                for j, dx in enumerate(offsets):
                    window = max(0, 1 - abs(y - row - dy) / cell) * max(0, 1 - abs(x - column - dx) / cell)
                    size = np.hypot(across, down) * window
                    found[i, j, int(turn) % 8] += size * (1 - turn % 1)
                    found[i, j, (int(turn) + 1) % 8] += size * (turn % 1)
    vector = np.minimum(found.ravel() / np.linalg.norm(found), 0.2)
    return np.asarray(vector / np.linalg.norm(vector))


def smooth_gray(height: int, width: int) -> NDArray[np.uint8]:
    return np.asarray(cv2.GaussianBlur(noise_image(height, width, 4)[..., 0], (0, 0), 2), dtype=np.uint8)


@pytest.mark.parametrize("cell", [3, 4])
def test_sift_pixel_by_pixel(cell: int) -> None:
    gray = smooth_gray(60, 60)
    found = dense_sift(gray, 5, cell)
    rows, columns = grid_axes((60, 60), 5)
    np.testing.assert_allclose(found[6, 5], sift_by_loop(gray, rows[6], columns[5], cell), atol=2e-3)


def test_sift_does_not_see_brightness_and_contrast() -> None:
    gray = smooth_gray(50, 60)
    half = (gray // 2 + 60).astype(np.uint8)
    one, other = (dense_sift(values, 4, 4).reshape(-1, 128) for values in (gray, half))
    strong = np.linalg.norm(one, axis=1) > 0.99
    assert strong.sum() > 50
    cosines = (one * other).sum(axis=1) / np.linalg.norm(other, axis=1)
    assert np.median(cosines[strong]) > 0.98


def test_sift_of_a_flat_image_is_zero() -> None:
    assert not dense_sift(np.full((20, 20), 99, dtype=np.uint8), 4, 4).any()


@given(st.tuples(st.integers(1, 30), st.integers(1, 30)), st.integers(1, 7))
def test_spread_gives_each_pixel_its_square(shape: tuple[int, int], step: int) -> None:
    rows, columns = grid_axes(shape, step)
    values = np.arange(len(rows) * len(columns)).reshape(len(rows), len(columns))
    pixels = spread(values, step, shape)
    assert pixels.shape == shape
    assert np.array_equal(pixels[np.ix_(rows, columns)], values)


@given(seed=st.integers(0, 99), interval=st.sampled_from([0.3, 0.5, 0.65]))
def test_chi_square_map_has_the_inner_products_of_scikit_learn(seed: int, interval: float) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.uniform(size=(6, 9)) * (rng.uniform(size=(6, 9)) < 0.6)).astype(np.float32)
    peer = AdditiveChi2Sampler(sample_steps=2, sample_interval=interval).fit_transform(values.astype(float))
    mapped = chi_square_map(values, interval)
    assert mapped.shape == (6, 27)
    np.testing.assert_allclose(mapped @ mapped.T, peer @ peer.T, rtol=1e-4, atol=1e-5)


def test_normalization() -> None:
    picture = Picture(noise_image(2, 2), np.array([[0, 1], [2, 2]], dtype=np.int32))
    values = Given(((3.0, 4.0), (0.0, 0.0), (1.0, 0.0)))
    state = L1(values).fit([picture], np.random.default_rng(0))
    shares, units = np.array([[3 / 7, 4 / 7], [0, 0], [1, 0]]), np.array([[0.6, 0.8], [0, 0], [1, 0]])
    np.testing.assert_allclose(L1(values).describe(picture, state), shares, rtol=1e-6)
    np.testing.assert_allclose(L2(values).describe(picture, state), units, rtol=1e-6)


def test_joint_puts_parts_side_by_side_with_their_states_and_weights() -> None:
    one, other = given_counts(PICTURE, 3), given_counts(PICTURE, 2, seed=1)
    joint = Joint((one, other), weights=(1.0, 0.5))
    state = joint.fit([noise_picture()], np.random.default_rng(0))
    assert sorted(state) == ["0.offset", "1.offset"]
    state = {"0.offset": np.array([1.0]), "1.offset": np.array([10.0])}
    expected = np.concatenate((np.array(one.values), 5 * np.array(other.values)), axis=1)
    assert np.array_equal(joint.describe(noise_picture(), state), expected.astype(np.float32))
    with pytest.raises(ValueError, match="2 parts, but 1 weights"):
        Joint((one, other), weights=(1.0,))


def test_parts_that_are_equal_are_fitted_once() -> None:
    pictures = [noise_picture(40, 50, 1)]
    joint = Joint((L1(ColorWords(5)), Neighbors(ColorWords(5)), Scene(ColorWords(6))))
    state = joint.fit(pictures, np.random.default_rng(0))
    assert state["0.centers"] is state["1.centers"]
    assert len(state["2.centers"]) == 6


def test_context_sums_counts() -> None:
    picture = noise_picture(seed=2)
    base = given_counts(picture)
    counts, state = np.array(base.values), {"offset": np.ones(1)}
    touching = np.zeros((picture.n_regions, picture.n_regions))
    for i, j in picture.edges:
        touching[i, j] = touching[j, i] = 1
    assert np.array_equal(Neighbors(base).describe(picture, state), touching @ counts)
    assert np.array_equal(Scene(base).describe(picture, state), np.tile(counts.sum(axis=0), (len(counts), 1)))
    larger = merge_regions(picture.regions, picture.boundary, 5, size_power=0.5)
    first = [int(np.flatnonzero(picture.regions.ravel() == v)[0]) for v in range(picture.n_regions)]
    group = larger.ravel()[first]
    expected = [counts[group == mine].sum(axis=0) for mine in group]
    assert len(set(group.tolist())) == 5
    assert np.array_equal(Parents(base, 5).describe(picture, state), expected)


def test_dilated_counts_words_around_regions() -> None:
    picture = Picture(noise_image(64, 96, 3), block_regions(64, 96, 16))
    words = Location(64 // 4, 96 // 4)  # one word for each square of the grid
    found = Dilated(words, reach=8 / 96).describe(picture, {})
    disc = np.hypot(*np.mgrid[-2:3, -2:3]) <= 2
    for region, mask in enumerate(members(picture)):
        squares = ndimage.binary_dilation(mask[2::4, 2::4], disc)
        assert np.array_equal(found[region] > 0, squares.ravel())
        assert found[region].sum() == squares.sum() * 16


def test_border_words_are_those_of_the_sides() -> None:
    picture = noise_picture(30, 40, seed=5)
    words = ChannelWords(0, 5)
    found, regions = words.find(picture, {})[0], picture.regions
    steps = {"left": (0, -1), "right": (0, 1), "top": (-1, 0), "bottom": (1, 0)}
    for side in SIDES:
        expected = np.zeros((picture.n_regions, 5))
        for y, x in np.ndindex(*picture.shape):
            other = (y + steps[side][0], x + steps[side][1])
            inside = 0 <= other[0] < 30 and 0 <= other[1] < 40
            if inside and regions[other] != regions[y, x]:
                expected[regions[y, x], [found[y, x]]] += 1
                expected[regions[y, x], [found[other]]] += 1
        assert np.array_equal(BorderWords(words, side).describe(picture, {}), expected)
    with pytest.raises(ValueError, match="side is 'up'"):
        BorderWords(words, "up")


def test_border_words_of_a_single_column() -> None:
    picture = Picture(noise_image(4, 1), np.array([[0], [0], [1], [1]], dtype=np.int32))
    words = ChannelWords(0, 1)
    sums = [BorderWords(words, side).describe(picture, {}).ravel().tolist() for side in SIDES]
    assert sums == [[0, 0], [0, 0], [0, 2], [2, 0]]


def test_shapes_of_a_rectangle_and_an_l() -> None:
    regions = np.zeros((8, 16), dtype=np.int32)
    regions[4:, :8] = 1
    picture = Picture(noise_image(8, 16), regions)
    assert Extent().describe(picture, {}).tolist() == [[1, 1], [0.5, 0.5]]
    assert Area().describe(picture, {}).tolist() == [[0.75], [0.25]]
    assert Top().describe(picture, {}).tolist() == [[0], [0.5]]
    assert Outline(2).describe(picture, {}).tolist() == [[1, 1, 0, 1], [1, 1, 1, 1]]
    np.testing.assert_allclose(Center().describe(picture, {})[1], [0.25, 0.75])
    assert Constant().describe(picture, {}).tolist() == [[1], [1]]


def test_outline_is_the_mask_in_its_bounding_box() -> None:
    picture = noise_picture(90, 120, seed=6)
    for region, mask in enumerate(members(picture)):
        (rows, columns) = ndimage.find_objects(mask.astype(int))[0]
        share = mask[rows, columns].mean()
        assert abs(Outline().describe(picture, {})[region].mean() - share) < 0.12


def test_thumbnails_are_small_pictures() -> None:
    image = np.zeros((16, 32, 3), dtype=np.uint8)
    image[:, 16:] = (255, 0, 51)
    regions = np.zeros((16, 32), dtype=np.int32)
    regions[8:, 16:] = 1
    picture = Picture(image, regions)
    plain, masked = (
        Thumbnail(2, masked).describe(picture, {}).reshape(2, 2, 2, 3) for masked in (False, True)
    )
    color = np.array([1, 0, 0.2])
    np.testing.assert_allclose(plain[0], [[0 * color, color]] * 2, atol=1e-6)
    np.testing.assert_allclose(masked[0], [[0 * color, color], [0 * color, 0 * color]], atol=1e-6)
    np.testing.assert_allclose(masked[1], [[color, color]] * 2, atol=1e-6)


def test_color_moments() -> None:
    colors = PICTURE.image / 255
    means = [colors[mask].mean(axis=0) for mask in members(PICTURE)]
    spreads = [colors[mask].std(axis=0) for mask in members(PICTURE)]
    np.testing.assert_allclose(ColorMean().describe(PICTURE, {}), means, atol=1e-5)
    np.testing.assert_allclose(ColorSpread().describe(PICTURE, {}), spreads, atol=1e-5)


def test_gist_tells_the_angle_of_stripes() -> None:
    y, x = np.indices((64, 64))
    for stripes, angle in ((x, 0), (y, 2)):
        wave = (128 + 100 * np.sin(stripes * 2 * np.pi / 6)).astype(np.uint8)
        picture = Picture(np.repeat(wave[..., np.newaxis], 3, axis=2), np.zeros((64, 64), dtype=np.int32))
        energy = Gist(angles=(4,), cells=2).describe(picture, {}).reshape(4, 4)
        assert (energy.argmax(axis=1) == angle).all()


def test_boundary_similarities_are_the_papers() -> None:
    found = Boundary().describe(PICTURE, {})
    c = PICTURE.strength
    expected = np.stack((np.exp(-c / 10), np.exp(-c / 40), np.exp(-c / 100), np.ones(len(c))), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_similarities_have_distance_one_on_average() -> None:
    similarity = Similarity((ColorWords(8), Location(3, 3)), (ColorMean(), Outline()))
    pictures = [noise_picture(40, 50, seed) for seed in range(1, 4)]
    state = similarity.fit(pictures, np.random.default_rng(0))
    found = np.concatenate([similarity.describe(picture, state) for picture in pictures])
    assert found.shape[1] == 5
    np.testing.assert_allclose(-np.log(found).mean(axis=0), 1, rtol=1e-3)


def test_chi_square_distances_by_hand() -> None:
    picture = Picture(noise_image(1, 3), np.array([[0, 1, 2]], dtype=np.int32))
    similarity = Similarity(
        (Given(((2.0, 2.0), (0.0, 5.0), (0.0, 0.0))),), (Given(((3.0,), (7.0,), (7.0,))),)
    )
    state = {"0.offset": np.ones(1), "1.offset": np.ones(1), "means": np.ones(3)}
    distances = similarity.distances(picture, state)[:, :2]
    # (1/2 - 0)² / (1/2) + (1/2 - 1)² / (3/2) is 2/3, and half of it 1/3; no counts at all are 1/2 away.
    np.testing.assert_allclose(distances, [[1 / 3, 4], [1 / 2, 0]], rtol=1e-6)


def test_chi_square_of_a_descriptor_maps_it() -> None:
    base = L1(Location(2, 2))
    expected = chi_square_map(fitted(base, noise_picture()))
    assert np.array_equal(fitted(ChiSquare(base), noise_picture()), expected)


def test_moments_of_unions_are_sums_and_count_points() -> None:
    moments = Moments(sift=((0, 4, 4), (1, 4, 3)))
    state = moments.fit(TRAINING, np.random.default_rng(0))
    picture = noise_picture(seed=7)
    local = moments.local(picture, state).astype(np.float64)
    owner = picture.regions[np.ix_(*grid_axes(picture.shape, 4))].ravel()
    found = symmetric(moments.describe(picture, state))
    assert local.shape[1] == moments.n_local == found.shape[1]
    for region in range(picture.n_regions):
        own = local[owner == region]
        np.testing.assert_allclose(found[region], own.T @ own, rtol=1e-3, atol=1e-2)
        assert found[region, 0, 0] == len(own)
    whole = Picture(picture.image, np.zeros(picture.shape, dtype=np.int32))
    np.testing.assert_allclose(
        Scene(moments).describe(picture, state)[:1], moments.describe(whole, state), rtol=1e-3, atol=0.1
    )


def test_whitening_axes_whiten() -> None:
    rng = np.random.default_rng(0)
    samples = (rng.normal(size=(4000, 5)) @ rng.normal(size=(5, 5)) * [1, 2, 3, 4, 5]).astype(np.float32)
    projected = samples @ whitening_axes(samples, 3)
    np.testing.assert_allclose(np.cov(projected, rowvar=False), np.eye(3), atol=1e-3)


def test_log_map_is_the_matrix_logarithm() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3, 40, 4))
    points[..., 0] = 1
    first, second = np.triu_indices(4)
    sums = np.einsum("vni,vnj->vij", points, points)
    found = log_map(sums[:, first, second].astype(np.float32))
    for one, total in zip(found, sums, strict=True):
        mean = (total + 5 * 0.1 * np.eye(4)) / 45 + 1e-3 * np.eye(4)
        expected = linalg.logm(mean)[first, second] * np.where(first == second, 1, np.sqrt(2))
        np.testing.assert_allclose(np.sign(one) * np.abs(one) ** (4 / 3), expected, rtol=1e-3, atol=1e-4)
    assert np.isfinite(log_map(np.zeros((2, 10), dtype=np.float32))).all()


def test_standardized_features_have_no_mean_and_unit_length() -> None:
    descriptor = Standardized(ColorMean())
    pictures = [noise_picture(40, 50, seed) for seed in range(3)]
    state = descriptor.fit(pictures, np.random.default_rng(0))
    found = np.concatenate([descriptor.describe(picture, state) for picture in pictures])
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-4)
    assert (found**2).sum(axis=1).mean() == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("sigma", [0.7, 1.6, 3.5, 7.0])
def test_filters_find_gradient_and_hessian_of_a_quadratic(sigma: float) -> None:
    a, b, c, slope = 0.02, -0.01, 0.006, 0.3
    y, x = np.mgrid[:161, :161].astype(np.float32) - 80
    light = (a * x * x + b * y * y) / 2 + c * x * y + slope * y
    lab = np.dstack([light, np.full_like(light, 3.0), x]).astype(np.float32)
    at_center = resized_responses(lab, sigma)[78:83, 78:83].mean(axis=(0, 1))
    eigenvalues = np.linalg.eigvalsh([[a, c], [c, b]])[::-1]
    # Smoothing leaves the second derivatives of a quadratic as they are, and the first ones at its center.
    expected = [3.0, 0.0, sigma * slope, *(sigma**2 * eigenvalues)]
    assert np.allclose(at_center[1:], expected, rtol=0.05, atol=0.05 * sigma**2 * a)


def test_filters_tell_regions_from_the_image_they_are_in() -> None:
    found = Filters().means(PICTURE)
    assert found.shape == (PICTURE.n_regions, 27)
    assert np.allclose(PICTURE.sizes @ found, 0, atol=0.5)
    smoothed = np.dstack([ndimage.gaussian_filter(PICTURE.lab[..., k], 1.6) for k in range(3)])
    plain = np.array([smoothed[one].mean(axis=0) for one in members(PICTURE)])
    away = plain - smoothed.mean(axis=(0, 1))
    inner = found[:, 9:12]
    # OpenCV cuts its Gaussian off earlier, and continues images beyond their borders in another way.
    assert np.abs(inner - away).max() < 0.05 * np.abs(away).max()


def test_filters_of_training_pictures_have_deviation_one() -> None:
    descriptor = Filters((1.6,))
    state = descriptor.fit(TRAINING, np.random.default_rng(0))
    found = np.concatenate([descriptor.describe(one, state) for one in TRAINING])
    assert np.allclose((found**2).mean(axis=0), 1, atol=1e-4)
    flat = Picture(np.full((8, 9, 3), 77, dtype=np.uint8), block_regions(8, 9, 3))
    assert np.allclose(descriptor.describe(flat, state), 0, atol=1e-4)
