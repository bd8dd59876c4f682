"""Maps of networks in the cache: the same as computed, computed once, bounded, and whole."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.networks import kept_maps
from multiutility.vision.features.networks.backbone import Backbone
from multiutility.vision.features.networks.kept_maps import MapsWarning
from multiutility.vision.features.networks.network import Onnx
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic
from noise_pictures import noise_image
from small_networks import resnet, transformer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULTIUTILITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MULTIUTILITY_MAPS", raising=False)
    monkeypatch.setattr(kept_maps, "counter", kept_maps.Counter())
    return tmp_path / "cache" / "maps"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Sizes of inputs that networks were run on."""
    found: list[tuple[int, int]] = []
    usual = Backbone.prepared

    def counted(self: Backbone, image: Any, size: tuple[int, int]) -> Any:
        found.append(size)
        return usual(self, image, size)

    monkeypatch.setattr(Backbone, "prepared", counted)
    return found


def net(tmp_path: Path, seed: int = 0, **how: Any) -> Backbone:
    path = tmp_path / f"{seed}.onnx"
    found = Onnx(str(resnet(path, seed=seed)), ("block1", "block3"), **how).backbone()
    return Backbone(**{**vars(found), "inner": True})


def same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(
        a[1] == b[1] and np.array_equal(a[0], b[0]) for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("tokens", [False, True])
def test_kept_maps_are_those_that_were_computed(
    tmp_path: Path, runs: list[Any], tokens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = net(tmp_path)
    if tokens:
        path = str(transformer(tmp_path / "t.onnx", dense=True))
        network = Onnx(path, ("tokens",), multiple=14).backbone()
    image = noise_image(60, 80, 0)
    monkeypatch.setenv("MULTIUTILITY_MAPS", "0")
    expected = network.maps(image)
    monkeypatch.delenv("MULTIUTILITY_MAPS")
    computed, kept = network.maps(image), network.maps(image)
    assert same(computed, expected)
    assert same(kept, expected)
    assert len(runs) == 2


def test_what_maps_depend_on_is_told_apart(tmp_path: Path, runs: list[Any]) -> None:
    image = noise_image(60, 80, 0)
    how: list[dict[str, Any]] = [{}, {"scale": 2.0}, {"mean": (1.0, 2.0, 3.0)}, {"std": (1.0, 2.0, 3.0)}]
    networks = [*(net(tmp_path, **one) for one in how), net(tmp_path, 1)]
    networks.append(Backbone(**{**vars(networks[0]), "outputs": ("block2",)}))
    for network in networks:
        network.maps(image)
    networks[0].maps(noise_image(60, 80, 1))
    networks[0].maps(image.reshape(80, 60, 3))
    assert len(runs) == 8
    # The scale is no part of the key where it leads to the same input.
    net(tmp_path, scale=0.99).maps(image)
    assert len(runs) == 8


def test_other_superpixels_and_more_images_need_no_other_run(tmp_path: Path, runs: list[Any]) -> None:
    path = str(transformer(tmp_path / "t.onnx", dense=True))
    network = Onnx(path, ("tokens",), multiple=14)
    images = [noise_image(60, 80, seed) for seed in range(3)]

    def prepared(n_images: int, n_superpixels: int) -> None:
        fitted = Preset("own", Slic(n_superpixels), (network,), (Boundary(),)).fit(images[:n_images], 0)
        for image in images[:n_images]:
            fitted.prepare(image)

    prepared(2, 20)
    assert len(runs) == 2
    prepared(2, 40)
    assert len(runs) == 2
    prepared(3, 40)
    assert len(runs) == 3


def test_no_more_is_kept_than_allowed(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, images = net(tmp_path), [noise_image(60, 80, seed) for seed in range(12)]
    network.maps(images[0])
    (first,) = folder.iterdir()
    size = first.stat().st_size
    monkeypatch.setenv("MULTIUTILITY_MAPS", str(5 * size))
    for n, image in enumerate(images):
        os.utime(first, ns=(1, 1))  # longest ago, but for the next line
        network.maps(images[0])
        network.maps(image)
        for path in folder.iterdir():
            if path != first:
                os.utime(path, ns=(10**17 + n, 10**17 + n))
    assert first.exists()
    assert 3 <= len(list(folder.iterdir())) <= 5
    monkeypatch.setenv("MULTIUTILITY_MAPS", "much")
    with pytest.raises(ValueError, match="MULTIUTILITY_MAPS is 'much' in the environment"):
        network.maps(images[0])


def test_damaged_files_are_made_anew(tmp_path: Path, folder: Path, runs: list[Any]) -> None:
    network, image = net(tmp_path), noise_image(60, 80, 0)
    expected = network.maps(image)
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[-3] ^= 8
    path.write_bytes(content)
    with pytest.warns(MapsWarning, match="damaged"):
        assert same(network.maps(image), expected)
    assert same(network.maps(image), expected)
    assert len(runs) == 2


def test_a_cache_that_cannot_be_written_to_is_told_of(tmp_path: Path, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("in the way")
    with pytest.warns(MapsWarning, match="cannot be kept"):
        assert len(net(tmp_path).maps(noise_image(60, 80, 0))) == 2


def test_threads_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, images = net(tmp_path), [noise_image(60, 80, seed) for seed in range(6)]
    monkeypatch.setenv("MULTIUTILITY_MAPS", "0")
    expected = [network.maps(image) for image in images]
    monkeypatch.setenv("MULTIUTILITY_MAPS", "60KB")  # one or two of them
    with ThreadPoolExecutor(4) as pool:
        for found, wanted in zip(pool.map(network.maps, images * 5), expected * 5, strict=True):
            assert same(found, wanted)


def test_processes_share_a_folder(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, images = net(tmp_path), [noise_image(60, 80, seed) for seed in range(6)]
    monkeypatch.setenv("MULTIUTILITY_MAPS", "0")
    expected = [network.maps(image) for image in images]
    monkeypatch.setenv("MULTIUTILITY_MAPS", "60KB")  # one or two of them
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for found, wanted in zip(pool.map(network.maps, images * 5), expected * 5, strict=True):
            assert same(found, wanted)
    assert not list(folder.glob(".*.tmp"))
