"""Generated scenes: valid, varied, the same each time, and not too easy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from multiutility.datasets import validate
from multiutility.datasets.scenes import CLASSES, LEAST, Scene, make_scene, make_scenes

N_SCENES = 48


@cache
def scenes() -> list[Scene]:
    return [make_scene(np.random.default_rng([7, n])) for n in range(N_SCENES)]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_same_random_state_gives_the_same_files(tmp_path: Path) -> None:
    for name, random_state in (("first", 3), ("second", 3), ("other", 4)):
        make_scenes(tmp_path / name, 2, 1, random_state, size=(60, 80))
    first, second, other = (files(tmp_path / name) for name in ("first", "second", "other"))
    assert first == second
    assert all(first[name] != other[name] for name in first if name.startswith("images"))


def test_larger_dataset_begins_with_the_smaller(tmp_path: Path) -> None:
    small = make_scenes(tmp_path / "small", 2, 1, 0, size=(60, 80))
    large = make_scenes(tmp_path / "large", 4, 2, 0, size=(60, 80))
    assert small.split("train").names == large.split("train").names[:2]
    ours, theirs = files(small.path), files(large.path)
    pictures = [name for name in ours if name.startswith(("images", "masks", "instances"))]
    assert len(pictures) == 9
    assert all(ours[name] == theirs[name] for name in pictures)


def test_dataset_is_valid_and_complete(tmp_path: Path) -> None:
    dataset = make_scenes(tmp_path / "scenes", 4, 2, 0, size=(90, 120))
    assert validate(dataset.path) == []
    assert [len(dataset.split(name)) for name in ("train", "validation")] == [4, 2]
    assert not set(dataset.split("train").names) & set(dataset.split("validation").names)
    assert {tuple(sample.kinds) for sample in dataset} == {("mask",)}
    assert {"thing", "stuff", "either"} == set(dataset.classes.kinds)
    assert [path.name for path in tmp_path.iterdir()] == ["scenes"]


@pytest.mark.parametrize("size", [(24, 32), (200, 120), (241, 319), (64, 600)])
def test_any_size(size: tuple[int, int]) -> None:
    for n in range(4):
        scene = make_scene(np.random.default_rng(n), size)
        assert scene.image.shape == (*size, 3)
        assert scene.mask.shape == scene.instances.shape == size
        assert scene.mask.max() <= len(CLASSES)


def test_every_class_is_seen_often_and_none_always() -> None:
    present = np.array([np.bincount(s.mask.ravel(), minlength=len(CLASSES) + 1)[1:] > 0 for s in scenes()])
    shares = dict(zip(CLASSES.names, present.mean(axis=0), strict=True))
    assert all(0.06 < share < 0.95 for share in shares.values()), shares
    assert 3 < present.sum(axis=1).mean() < 7


def test_objects_have_one_label_and_all_things_are_objects() -> None:
    kinds = np.array(["void", *CLASSES.kinds])
    for scene in scenes():
        labeled = scene.mask > 0
        for number in np.unique(scene.instances[scene.instances > 0]):
            own = scene.instances == number
            assert len(np.unique(scene.mask[own & labeled])) <= 1
            assert own.sum() >= LEAST * own.size
        assert np.array_equal(scene.instances[labeled] > 0, kinds[scene.mask[labeled]] != "stuff")


def test_unlabeled_pixels_part_all_labels() -> None:
    for scene in scenes():
        for one, other in ((scene.mask[1:], scene.mask[:-1]), (scene.mask[:, 1:], scene.mask[:, :-1])):
            assert not ((one != other) & (one > 0) & (other > 0)).any()
    void = [np.mean(scene.mask == 0) for scene in scenes()]
    assert 0.02 < np.mean(void) < 0.12
    assert max(void) < 0.4


def test_some_objects_hide_others() -> None:
    # The box of an object that is half hidden has pixels of another object of its class or of another one.
    hidden = 0
    for scene in scenes():
        for place in ndimage.find_objects(scene.instances):
            hidden += place is not None and len(np.unique(scene.instances[place])) > 2
    assert hidden > 10


def test_pictures_have_noise_shadows_and_different_light() -> None:
    brightness, noise = [], []
    for scene in scenes():
        gray = scene.image.mean(axis=2)
        brightness.append(gray.mean())
        # Of the second differences, the median tells of noise, not of borders and textures.
        noise.append(np.median(np.abs(gray[:, 2:] - 2 * gray[:, 1:-1] + gray[:, :-2])))
    assert np.std(brightness) > 15
    assert min(noise) > 1
    assert max(noise) > 2 * min(noise)


def colors(scene: Scene) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    smooth = ndimage.uniform_filter(scene.image.astype(np.float64), (5, 5, 1))
    kept = scene.mask > 0
    return smooth[kept][::7], scene.mask[kept][::7].astype(np.intp) - 1


def test_color_alone_does_not_tell_classes() -> None:
    train, test = ([colors(scene) for scene in part] for part in (scenes()[:32], scenes()[32:]))
    x, y = (np.concatenate(part) for part in zip(*train, strict=True))
    bins = [np.histogramdd(x[y == k], 10, [(0, 255)] * 3)[0] for k in range(len(CLASSES))]
    best = np.argmax(bins, axis=0)
    x, y = (np.concatenate(part) for part in zip(*test, strict=True))
    cells = np.minimum((x / 25.5).astype(int), 9)
    accuracy = np.mean(best[tuple(cells.T)] == y)
    assert 0.3 < accuracy < 0.75
