"""The feature store: the same as computing anew, whatever happens to files, threads and processes."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.preset import FittedPreset, Prepared, Preset
from multiutility.vision.regions.superpixels import Slic
from multiutility.vision.store import FeatureStore, StoreWarning, read_prepared


@dataclass(frozen=True)
class Colors:
    """Mean colors, times a factor."""

    factor: float = 1.0

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:  # noqa: ARG002
        return {"mean": np.mean([picture.image.mean(axis=(0, 1)) for picture in pictures], axis=0)}

    def describe(self, picture: Picture, state: State) -> Features:
        return (picture.pool_mean(picture.image) - state["mean"]) * np.float32(self.factor)


@dataclass(eq=False)
class Noise:
    """A photo of noise that counts how often it is looked at."""

    seed: int
    shape: tuple[int, int] = (20, 30)
    looks: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"noise {self.seed}"

    def size(self) -> tuple[int, int]:
        return self.shape

    def image(self) -> NDArray[np.uint8]:
        self.looks.append(threading.current_thread().name)
        return np.random.default_rng(self.seed).integers(0, 256, (*self.shape, 3), dtype=np.uint8)

    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.seed} {self.shape}".encode()).hexdigest()


def noises(n: int) -> list[Noise]:
    return [Noise(seed, (20 + seed, 30)) for seed in range(n)]


def fitted(factor: float = 1.0, mean: float = 100.0) -> FittedPreset:
    preset = Preset("colors", Slic(n_segments=12), (Colors(factor),), (Boundary(),))
    return FittedPreset(preset, {"0.mean": np.full(3, mean)})


def assert_same(first: Sequence[Prepared], second: Sequence[Prepared]) -> None:
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.regions, two.regions)
        for name in ("node_features", "edges", "edge_features", "node_sizes"):
            found, expected = getattr(one.problem, name), getattr(two.problem, name)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_kept_features_are_those_computed(tmp_path: Path, n_jobs: int) -> None:
    photos, preset = noises(9), fitted()
    expected = [preset.prepare(photo.image()) for photo in photos]
    reports: list[tuple[int, int]] = []
    store = FeatureStore(tmp_path / "new" / "store")
    first = store.prepare(preset, photos, n_jobs, lambda done, total: reports.append((done, total)))
    assert_same(first, expected)
    assert reports == [(n, 9) for n in range(1, 10)]
    assert_same(FeatureStore().prepare(preset, photos, n_jobs), expected)
    looks = [len(photo.looks) for photo in photos]
    assert_same(FeatureStore(str(tmp_path / "new" / "store")).prepare(preset, photos, n_jobs), expected)
    assert [len(photo.looks) for photo in photos] == looks
    if n_jobs > 1:
        assert any(name != threading.main_thread().name for photo in photos for name in photo.looks)


@pytest.mark.parametrize("piecewise", [False, True])
def test_kept_images_may_get_another_problem(tmp_path: Path, piecewise: bool) -> None:
    photos, preset = noises(1), fitted()
    expected = preset.prepare(photos[0].image())
    (kept,) = FeatureStore(tmp_path, piecewise=piecewise).prepare(preset, photos)
    alone = kept.with_problem(kept.problem.changed(node_sizes=np.arange(1, kept.problem.n_nodes + 1)))
    assert alone.problem.node_sizes[-1] == kept.problem.n_nodes
    np.testing.assert_array_equal(alone.problem.node_features, expected.problem.node_features)
    np.testing.assert_array_equal(alone.regions, expected.regions)
    assert (alone.fetch is None) == (kept.fetch is None)


def test_files_are_safetensors_mapped_into_memory(tmp_path: Path) -> None:
    (prepared,) = FeatureStore(tmp_path).prepare(fitted(), noises(1))
    (path,) = files(tmp_path)
    assert path.suffix == ".safetensors"
    arrays = load_file(path)
    np.testing.assert_array_equal(arrays["regions"], prepared.regions)
    np.testing.assert_array_equal(arrays["node_features"], prepared.problem.node_features)
    for array in (prepared.regions, prepared.problem.node_features):
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        assert not owner.flags.owndata
        assert not array.flags.writeable
        assert array.flags.aligned


def test_an_image_of_one_region_is_kept(tmp_path: Path) -> None:
    preset = FittedPreset(
        Preset("one", Slic(n_segments=1), (Colors(),), (Boundary(),)), {"0.mean": np.zeros(3)}
    )
    photo = Noise(0, (1, 1))
    expected = [preset.prepare(photo.image())]
    for _ in range(2):
        assert_same(FeatureStore(tmp_path).prepare(preset, [photo]), expected)
    assert expected[0].problem.n_edges == 0


def test_whatever_features_depend_on_names_their_file(tmp_path: Path) -> None:
    store, photo = FeatureStore(tmp_path), Noise(1)
    store.prepare(fitted(), [photo, Noise(1)])
    assert len(files(tmp_path)) == 1
    for preset in (fitted(factor=2.0), fitted(mean=101.0)):
        expected = [preset.prepare(photo.image())]
        assert_same(store.prepare(preset, [photo]), expected)
    store.prepare(fitted(), [Noise(2)])
    assert len(files(tmp_path)) == 4


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("piecewise", [False, True])
@pytest.mark.parametrize("size", [0, 100, 2000])
def test_files_that_are_shortened_while_they_are_mapped_are_made_anew(
    tmp_path: Path, half: bool, piecewise: bool, size: int
) -> None:
    store = FeatureStore(tmp_path, half=half, piecewise=piecewise)
    photos, preset = noises(2), fitted()
    expected = FeatureStore(half=half).prepare(preset, photos)
    prepared = store.prepare(preset, photos)
    assert_same(prepared, expected)
    content = [path.read_bytes() for path in files(tmp_path)]
    for path in files(tmp_path):
        os.truncate(path, size)
    with pytest.warns(StoreWarning, match="damaged"):
        assert_same(prepared, expected)
    assert [path.read_bytes() for path in files(tmp_path)] == content


@pytest.mark.parametrize("piecewise", [False, True])
def test_files_that_are_changed_in_place_are_made_anew(tmp_path: Path, piecewise: bool) -> None:
    photos, preset = noises(1), fitted()
    expected = FeatureStore().prepare(preset, photos)
    prepared = FeatureStore(tmp_path, piecewise=piecewise).prepare(preset, photos)
    assert_same(prepared, expected)
    (path,) = files(tmp_path)
    touched = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(touched, touched))
    assert_same(prepared, expected)  # only touched: no word of it
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(len(content) - 8)
        file.write(bytes(8 * [255]))
    with pytest.warns(StoreWarning, match="damaged"):
        _ = prepared[0].regions  # of the features, a copy may be in memory
    assert_same(prepared, expected)
    assert path.read_bytes() == content


def test_what_is_mapped_survives_its_file(tmp_path: Path) -> None:
    photos, preset = noises(1), fitted()
    expected = FeatureStore().prepare(preset, photos)
    prepared = FeatureStore(tmp_path).prepare(preset, photos)
    n_looks = len(photos[0].looks)
    for path in files(tmp_path):
        path.unlink()
    assert_same(prepared, expected)
    assert len(photos[0].looks) == n_looks
    sent = pickle.loads(pickle.dumps(prepared[0].problem))
    np.testing.assert_array_equal(sent.node_features, expected[0].problem.node_features)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_work_goes_on(tmp_path: Path, n_jobs: int) -> None:
    photos, preset, store = noises(30), fitted(), FeatureStore(tmp_path)

    def interrupt(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.prepare(preset, photos, n_jobs, interrupt)
    done = len(files(tmp_path))
    assert done == sum(len(photo.looks) for photo in photos)
    assert 3 <= done < 30
    assert all(path.suffix == ".safetensors" for path in files(tmp_path))
    result = store.prepare(preset, photos, n_jobs)
    assert [len(photo.looks) for photo in photos] == [1] * 30
    assert_same(result, [preset.prepare(photo.image()) for photo in photos])


FOREIGN = {
    "empty": b"",
    "text": b"hello",
    "no header": b"\xff" * 8 + b"{}",
    "list": b"\x02" + bytes(7) + b"[]",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_foreign_files_are_replaced(tmp_path: Path, content: bytes) -> None:
    check_replaced(tmp_path, lambda _whole: content)


@pytest.mark.parametrize("place", [0, 3, 40, 300, 700, -900, -1])
def test_damaged_files_are_replaced(tmp_path: Path, place: int) -> None:
    def flipped(whole: bytes) -> bytes:
        content = bytearray(whole)
        content[place] ^= 0x55
        return bytes(content)

    check_replaced(tmp_path / "flipped", flipped)
    check_replaced(tmp_path / "truncated", lambda whole: whole[:place])


def check_replaced(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    preset, photo, store = fitted(), Noise(0), FeatureStore(folder)
    expected = store.prepare(preset, [photo])
    (path,) = files(folder)
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(damage(whole))
    with pytest.warns(StoreWarning, match=path.name):
        found = store.prepare(preset, [photo])
    assert_same(found, expected)
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="choose another folder"):
        FeatureStore(tmp_path / "file" / "store").prepare(fitted(), [Noise(0)])


PROCESS = """
    import sys
    sys.path[:0] = [{tests!r}, {here!r}]
    from test_store import FeatureStore, fitted, noises
    FeatureStore({folder!r}).prepare(fitted(), noises(40))
"""


def started(folder: Path, code: str) -> subprocess.Popen[bytes]:
    here = Path(__file__).parent
    text = textwrap.dedent(code).format(tests=str(here.parent), here=str(here), folder=str(folder))
    return subprocess.Popen([sys.executable, "-W", "error", "-c", text])


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    both = [started(tmp_path, PROCESS) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    photos = noises(40)
    found = FeatureStore(tmp_path).prepare(fitted(), photos)
    assert not any(photo.looks for photo in photos)
    assert_same(found, [fitted().prepare(photo.image()) for photo in photos])
    assert len(files(tmp_path)) == 40


FEW_FILES = """
    import resource, sys
    sys.path[:0] = [{tests!r}, {here!r}]
    from test_store import FeatureStore, assert_same, fitted, noises
    preset, photos = fitted(), noises(60)
    expected = [preset.prepare(photo.image()) for photo in photos]
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    assert_same(FeatureStore({folder!r}).prepare(preset, photos), expected)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit on Windows")
def test_more_images_than_files_may_be_open(tmp_path: Path) -> None:
    assert started(tmp_path, FEW_FILES).wait() == 0


def test_a_missing_file_is_no_reason_to_warn(tmp_path: Path) -> None:
    assert read_prepared(tmp_path / "none.safetensors") is None
