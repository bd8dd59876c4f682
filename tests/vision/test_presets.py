"""Presets: sizes, determinism, and a way through files."""

from __future__ import annotations

import json
from dataclasses import is_dataclass, replace
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from multiutility.models import Potts
from multiutility.vision import features
from multiutility.vision.features import KINDS
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.descriptors.location import Location
from multiutility.vision.features.descriptors.shape import Center
from multiutility.vision.features.parameters import decode, encode
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.preset import FittedPreset, Preset
from multiutility.vision.features.presets import PRESETS, preset
from multiutility.vision.regions.borders import Borders
from multiutility.vision.regions.superpixels import RegionMerging, Slic
from noise_pictures import noise_image

IMAGES = [noise_image(60, 80, seed) for seed in range(3)]
NAMES = ["paper", "scene", "context"]


@pytest.fixture(scope="module", params=NAMES)
def fitted(request: pytest.FixtureRequest) -> FittedPreset:
    return preset(request.param, n_superpixels=20).fit(IMAGES, random_state=0)


def arrays(fitted: FittedPreset, image: NDArray[np.uint8]) -> list[NDArray[np.generic]]:
    prepared = fitted.prepare(image)
    problem = prepared.problem
    return [
        problem.node_features,
        problem.edges,
        problem.edge_features,
        problem.node_sizes,
        prepared.regions,
    ]


def same(one: list[NDArray[np.generic]], other: list[NDArray[np.generic]]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_all_names_are_known() -> None:
    assert sorted(PRESETS) == ["context", "deep", "paper", "scene"]
    with pytest.raises(ValueError, match="'papers': expected one of"):
        preset("papers")


def test_prepared_problems_fit_their_regions(fitted: FittedPreset) -> None:
    image = noise_image(70, 50, 8)
    prepared = fitted.prepare(image)
    problem, regions = prepared.problem, prepared.regions
    assert regions.shape == (70, 50)
    assert np.array_equal(problem.node_sizes, np.bincount(regions.ravel()))
    assert problem.node_features.dtype == problem.edge_features.dtype == np.float32
    assert len({tuple(row) for row in problem.node_features.tolist()}) > 1
    assert problem.edge_features.min() >= 0


def test_numbers_of_features() -> None:
    sizes = {}
    for name in ("paper", "scene"):
        problem = preset(name, n_superpixels=20).fit(IMAGES, 0).prepare(IMAGES[0]).problem
        sizes[name] = problem.node_features.shape[1], problem.edge_features.shape[1]
    assert sizes == {"paper": (3 * (512 + 128 + 36), 4), "scene": (3 * 3108, 26)}


def test_paper_features_have_unit_length_before_the_map() -> None:
    found = preset("paper", n_superpixels=20).fit(IMAGES, 0).prepare(IMAGES[0]).problem.node_features
    # The first third is sqrt(x / 2): its fourth powers sum to a quarter of the squared length of x.
    roots = found[:, : found.shape[1] // 3]
    np.testing.assert_allclose((roots**4).sum(axis=1), 1 / 4, rtol=1e-4)


def test_a_fitted_preset_goes_through_json_and_arrays(fitted: FittedPreset) -> None:
    parameters = json.loads(json.dumps(fitted.parameters()))
    state = {name: array.copy() for name, array in fitted.state.items()}
    again = FittedPreset.from_parts(parameters, state)
    assert again.preset == fitted.preset
    assert again.parameters() == fitted.parameters()
    assert same(arrays(again, IMAGES[1]), arrays(fitted, IMAGES[1]))
    assert all(array.dtype == np.float32 for array in fitted.state.values())


def test_fits_are_the_same_whatever_the_workers(fitted: FittedPreset) -> None:
    seen: list[tuple[int, int]] = []
    sources = [partial(np.copy, image) for image in IMAGES]
    again = fitted.preset.fit(sources, 0, n_jobs=2, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert same(list(again.state.values()), list(fitted.state.values()))


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (40, 2)])
def test_any_size_of_image(fitted: FittedPreset, shape: tuple[int, int]) -> None:
    problem = fitted.prepare(noise_image(*shape, 4)).problem
    assert problem.node_sizes.sum() == shape[0] * shape[1]
    assert np.isfinite(problem.node_features).all()


def test_gray_images_are_images(fitted: FittedPreset) -> None:
    gray = noise_image(40, 50, 4)[..., 0]
    assert same(arrays(fitted, gray), arrays(fitted, np.repeat(gray[..., np.newaxis], 3, axis=2)))


def test_images_of_other_kinds_are_errors(fitted: FittedPreset) -> None:
    wrongs: list[NDArray[Any]] = [
        np.zeros((4, 4, 3)),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4), np.uint8),
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"expected uint8 \[H, W, 3\]"):
            fitted.prepare(wrong)


def test_weighted_features_are_relative_to_sizes_and_lengths() -> None:
    plain = Preset("own", Slic(20), (Location(2, 2),), (Boundary(),))
    weighted = Preset("own", Slic(20), (Location(2, 2),), (Boundary(),), weighted=True)
    one, other = (kind.fit(IMAGES, 0).prepare(IMAGES[0]).problem for kind in (plain, weighted))
    ratio = one.node_sizes / one.node_sizes.mean()
    np.testing.assert_allclose(other.node_features, one.node_features * ratio[:, np.newaxis], rtol=1e-5)
    lengths = Borders.of(Slic(20)(IMAGES[0])).lengths
    ratio = lengths / lengths.mean()
    np.testing.assert_allclose(other.edge_features, one.edge_features * ratio[:, np.newaxis], rtol=1e-5)
    assert ratio.std() > 0.05


def test_fit_sees_few_images_chosen_by_the_seed() -> None:
    opened: list[int] = []

    def source(index: int) -> NDArray[np.uint8]:
        opened.append(index)
        return IMAGES[0]

    own = Preset("own", Slic(20), (Location(2, 2),), (), fit_images=5)
    chosen = []
    for seed in (0, 0, 1):
        opened.clear()
        own.fit([partial(source, index) for index in range(40)], seed)
        chosen.append(sorted(opened))
    assert len(set(chosen[0])) == 5
    assert chosen[0] == chosen[1] != chosen[2]
    with pytest.raises(ValueError, match="no images"):
        own.fit([], 0)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_can_be_named_in_a_model(name: str) -> None:
    found = preset(name)
    assert decode(encode(found.nodes)) == found.nodes
    assert decode(encode(found.edges)) == found.edges
    assert decode(encode(found.superpixels)) == found.superpixels


def test_every_descriptor_of_the_package_can_be_named_in_a_model() -> None:
    for module in map(import_module, sorted({*KINDS.values(), *modules_of_features()})):
        own = (
            one
            for one in vars(module).values()
            if isinstance(one, type) and one.__module__ == module.__name__
        )
        for kind in own:
            if is_dataclass(kind) and {"describe", "fit"} <= set(dir(kind)):
                assert KINDS[kind.__name__] == module.__name__


def modules_of_features() -> list[str]:
    return [found.name for found in walk_packages(features.__path__, f"{features.__name__}.")]


def test_only_known_kinds_can_be_named() -> None:
    with pytest.raises(ValueError, match="unknown kind of feature 'Slick'; did you mean 'Slic'"):
        decode({"kind": "Slick"})
    with pytest.raises(ValueError, match=r"unknown kind of feature 'os\.system'"):
        decode([{"kind": "os.system"}])
    with pytest.raises(ValueError, match="Slic cannot be made from"):
        decode({"kind": "Slic", "n": 3})
    assert decode(encode(RegionMerging(9))) == RegionMerging(9)


def test_another_version_of_features_is_an_error() -> None:
    found = Preset("own", Slic(20), (), ()).fit(IMAGES, 0)
    parameters = {**found.parameters(), "version": 0}
    with pytest.raises(ValueError, match="version 0"):
        FittedPreset.from_parts(parameters, found.state)


def squares(side: int) -> NDArray[np.int32]:
    """Regions of an image of 16 x 16 pixels: squares of this side."""
    grid = np.arange((16 // side) ** 2, dtype=np.int32).reshape(16 // side, -1)
    return np.kron(grid, np.ones((side, side), dtype=np.int32)).astype(np.int32)


def test_finer_regions_leave_nodes_and_borders_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where regions are cut into four alike, every labeling of the large ones has four times its energy.
    image = np.full((16, 16, 3), 100, dtype=np.uint8)
    learned = Preset("own", RegionMerging(16), (Center(),), (Boundary(),), weighted=True, finer=4)
    fitted = learned.fit([image], 0)
    finer = fitted.for_prediction()
    sides = {16: 4, 64: 2}

    def picture(self: Preset, image: NDArray[np.uint8]) -> Picture:
        assert isinstance(self.superpixels, RegionMerging)
        return Picture(image, squares(sides[self.superpixels.n_regions]))

    monkeypatch.setattr(Preset, "picture", picture)
    large, small = fitted.prepare(image), finer.prepare(image)
    assert (large.problem.n_nodes, small.problem.n_nodes) == (16, 64)
    rng = np.random.default_rng(0)
    n_local, n_pairwise = 2 * large.problem.n_features, large.problem.edge_features.shape[1]
    weights = np.append(rng.normal(size=n_local), rng.uniform(size=n_pairwise))
    inside = np.zeros(64, dtype=np.int64)
    inside[small.regions] = large.regions
    energies = [Potts(2).energy(one.problem, weights) for one in (large, small)]
    for _ in range(10):
        labels, none = rng.integers(0, 2, 16), np.zeros(16, dtype=np.int64)
        one, other = (
            energy.evaluate(y) - energy.evaluate(z)
            for energy, y, z in zip(energies, (labels, labels[inside]), (none, none[inside]), strict=True)
        )
        assert other == pytest.approx(4 * one, rel=1e-4)


def test_a_preset_that_learns_with_fewer_regions_than_it_predicts_with() -> None:
    learned = Preset("own", RegionMerging(10), (Location(2, 2),), (Boundary(),), weighted=True, finer=3)
    used = learned.for_prediction()
    assert (used.superpixels, used.learned_with) == (RegionMerging(30), 10)
    assert used.for_prediction() is used
    assert used.for_learning() == learned
    fitted = learned.fit(IMAGES, 0)
    finer = fitted.for_prediction()
    assert finer.prepare(IMAGES[0]).problem.n_nodes > fitted.prepare(IMAGES[0]).problem.n_nodes
    again = FittedPreset.from_parts(json.loads(json.dumps(finer.parameters())), finer.state)
    assert again.preset == used
    # Features of learning do not depend on what predictions will have.
    assert fitted.parameters() == replace(learned, finer=1).fit(IMAGES, 0).parameters()


def test_other_regions_are_only_for_features_that_are_relative_to_sizes() -> None:
    for one in (
        Preset("own", RegionMerging(10), (Location(2, 2),), (Boundary(),), finer=3),
        Preset("own", Slic(10), (Location(2, 2),), (Boundary(),), weighted=True, finer=3),
    ):
        assert one.for_prediction() is one
    with pytest.raises(ValueError, match="finer is 0: expected a whole number from 1"):
        Preset("own", Slic(10), (), (), finer=0)
    with pytest.raises(ValueError, match="learned_with is 'x': expected a whole number"):
        Preset("own", Slic(10), (), (), learned_with="x")  # type: ignore[arg-type]
