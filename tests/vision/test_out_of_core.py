"""Learning within a limit of memory: the same model, bit for bit, and no more memory for more images."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from typer.testing import CliRunner

from multiutility import memory
from multiutility.array_file import ArrayFileError, read_array, write_arrays
from multiutility.cli import app
from multiutility.datasets.folder import DatasetFolder
from multiutility.memory import ArrayCache, MemoryLimitError
from multiutility.vision import Segmenter, store
from multiutility.vision.quantize import Quantized, dequantize, quantize
from multiutility.vision.store import FeatureStore, StoreWarning
from multiutility.vision.training_set import TrainingSet, annotated_photos
from toy import toy_preset, write_mixed, write_toy


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    place = tmp_path_factory.mktemp("data")
    return write_mixed(place / "mixed", write_toy(place / "toy", n_train=6, n_validation=1))


def segmenter(**parameters: Any) -> Segmenter:
    return Segmenter(**{"features": toy_preset(), "C": 1.0, "tol": 0.3, "max_iter": 2, **parameters})


@pytest.fixture(scope="module")
def whole(dataset: DatasetFolder) -> Segmenter:
    """The model of a fit in memory."""
    return segmenter().fit(dataset)


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> list[ArrayCache]:
    """All caches that are made; with a room of a few arrays, of which each takes a page."""
    made: list[ArrayCache] = []

    def cache(room: memory.Room) -> ArrayCache:
        assert room(0) > 0
        made.append(ArrayCache(Few()))
        return made[-1]

    monkeypatch.setattr(store, "ArrayCache", cache)
    return made


class Few:
    """Room for three of six images."""

    def __call__(self, held: int) -> int:
        assert held <= 3 * 4096
        return 3 * 4096


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def assert_same(one: Segmenter, two: Segmenter) -> None:
    np.testing.assert_array_equal(one.predictor_.weights, two.predictor_.weights)
    assert one.predictor_.typical_margin == two.predictor_.typical_margin
    np.testing.assert_array_equal(one.objective_["primal"], two.objective_["primal"])


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_the_model_does_not_depend_on_the_limit(
    method: str, dataset: DatasetFolder, caches: list[ArrayCache], tmp_path: Path
) -> None:
    whole = segmenter(method=method, store=tmp_path).fit(dataset)
    limits: dict[str, Any] = {"memory_limit": "100GB", "checkpoint": tmp_path / "checkpoint", "n_jobs": 2}
    limited = segmenter(method=method, store=tmp_path, **limits).fit(dataset)
    assert_same(limited, whole)
    (cache,) = caches
    assert cache.n_read > 9 * 6 * 1000
    assert cache.held <= 3 * 4096


def test_without_a_store_features_are_in_temporary_files(
    dataset: DatasetFolder, whole: Segmenter, caches: list[ArrayCache], temporary: Path
) -> None:
    model = segmenter(memory_limit=10**11)
    training = model.prepare(annotated_photos(dataset), dataset.classes)
    assert len(list(temporary.rglob("*.safetensors"))) == 6
    assert_same(model.fit_prepared(training), whole)
    assert caches[0].n_read > 0
    # Whatever was lost is made anew.
    shutil.rmtree(temporary)
    assert_same(segmenter(memory_limit=10**11).fit_prepared(training), whole)
    del training
    assert not list(temporary.rglob("*"))


def test_damaged_files_are_made_anew_while_learning(
    dataset: DatasetFolder, whole: Segmenter, caches: list[ArrayCache], tmp_path: Path
) -> None:
    model = segmenter(store=tmp_path, memory_limit=10**11)
    training = model.prepare(annotated_photos(dataset), dataset.classes)
    for n, path in enumerate(sorted(tmp_path.glob("*/*.safetensors"))):
        path.write_bytes(path.read_bytes()[: 200 * n])
    with pytest.warns(StoreWarning, match="it is made anew"):
        model.fit_prepared(training)
    assert_same(model, whole)
    assert caches[0].held <= 3 * 4096


def test_only_small_arrays_are_kept(dataset: DatasetFolder, caches: list[ArrayCache], tmp_path: Path) -> None:
    training = segmenter(store=tmp_path, memory_limit=10**11).prepare(
        annotated_photos(dataset), dataset.classes
    )
    assert caches[0].n_read == 0
    content = pickle.dumps([(p.problem.edges, p.problem.node_sizes) for p in training.prepared])
    assert len(content) < 6 * 10_000
    for one in training.prepared:
        for array in (one.problem.edges, one.problem.edge_features, one.problem.node_sizes, one.regions):
            assert not mapped(array)
        assert one.regions is not one.regions
    seeds = [seed for one in training.annotations(1.0) for seed in getattr(one, "seeds", ())]
    assert seeds
    assert not any(isinstance(getattr(seed.mass, "regions", None), np.ndarray) for seed in seeds)


def mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return array is not None


def test_masses_of_seeds_are_the_same(dataset: DatasetFolder, tmp_path: Path) -> None:
    training = segmenter(store=tmp_path).prepare(annotated_photos(dataset), dataset.classes)
    other = segmenter(store=tmp_path, memory_limit=10**11).prepare(annotated_photos(dataset), dataset.classes)
    pairs = zip(all_seeds(training), all_seeds(other), strict=True)
    for one, two in pairs:
        assert (one.label, one.node) == (two.label, two.node)
        np.testing.assert_array_equal(one.mass(0.1), two.mass(0.1))


def all_seeds(training: TrainingSet) -> list[Any]:
    return [seed for one in training.annotations(1.0) for seed in getattr(one, "seeds", ())]


def test_a_limit_that_is_too_small_says_so_before_the_work(dataset: DatasetFolder) -> None:
    with pytest.raises(MemoryLimitError, match=r"memory_limit is 10MB: this program alone takes at least"):
        segmenter(memory_limit="10MB", features="none").fit(dataset)
    with pytest.raises(ValueError, match="memory_limit is 'much'"):
        segmenter(memory_limit="much", features="none").fit(dataset)


def test_a_limit_too_small_for_learning_says_the_least(
    dataset: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = segmenter(store=tmp_path, memory_limit="500MB")
    training = model.prepare(annotated_photos(dataset), dataset.classes)
    monkeypatch.setattr(memory, "resident_memory", lambda: 499_000_000)
    message = r"memory_limit is 500MB: learning from 6 images takes at least 5[0-9][0-9]MB; allow more"
    with pytest.raises(MemoryLimitError, match=message):
        model.fit_prepared(training)


def test_the_command_keeps_within_a_limit(
    dataset: DatasetFolder, tmp_path: Path, cheap_features: None
) -> None:
    del cheap_features
    runner, common = CliRunner(), ["train", str(dataset.path), "--C", "1", "--store", str(tmp_path / "store")]
    for name, options in {"a": ["--half"], "b": ["--half", "--memory-limit", "50GB"]}.items():
        found = runner.invoke(app, [*common, "--out", str(tmp_path / name), *options])
        assert found.exit_code == 0, found.output
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert any(folder.name.endswith("-half") for folder in (tmp_path / "store").iterdir())
    found = runner.invoke(app, [*common, "--out", str(tmp_path / "d"), "--memory-limit", "1MB"])
    assert found.exit_code == 2
    assert "memory_limit is 1MB: this program alone takes at least" in found.output


PROGRAM = """
import json, sys
import numpy as np
from multiutility import LabelingProblem
from multiutility.annotations import Full
from multiutility.learning import SSVM, FrankWolfe
from multiutility.memory import ArrayCache, CachedArray, MemoryLimit, resident_memory

n_images, extra = int(sys.argv[1]), int(sys.argv[2])
limit = resident_memory() + extra
cache, peak = ArrayCache(MemoryLimit(limit)), []
labels = np.arange(50) % 3
means = np.random.default_rng(0).standard_normal((3, 5000), dtype=np.float32)

def fill(seed, out):
    rng = np.random.default_rng(seed)
    np.add(means[labels] / 50, rng.standard_normal(out.shape, dtype=np.float32), out=out)

def problem(seed):
    source = CachedArray(cache, (50, 5000), np.float32, lambda out: fill(seed, out))
    chain = np.stack((np.arange(49), np.arange(1, 50)), axis=1)
    return LabelingProblem.from_source(source, chain, np.ones((49, 1)))

optimizer = FrankWolfe(max_passes=2, check_every=3, average=False, batch_size=4)
model = SSVM(tol=0.9, optimizer=optimizer, random_state=0, memory_limit=limit,
             callback=lambda record: peak.append(resident_memory()))
problems = [problem(seed) for seed in range(n_images)]
model.fit(problems, [Full.from_labels(labels, 3)] * n_images)
print(json.dumps({"limit": limit, "peak": max(peak), "held": cache.held, "n_read": cache.n_read}))
"""


def test_memory_does_not_grow_with_the_images() -> None:
    """Features of 100 MB in a room of 40, and a quarter of them; counted by the system, mapped pages too."""
    found = {}
    for n_images in (25, 100):
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(n_images), str(45 * 10**6)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[n_images] = json.loads(done.stdout)
    for n_images, one in found.items():
        assert one["peak"] <= one["limit"], n_images
        assert one["held"] <= 45 * 10**6
    assert found[25]["n_read"] == 25 * 10**6
    # Two passes and a look at all, for most images.
    assert found[100]["n_read"] > 2 * 10**8
    assert found[100]["peak"] - found[25]["peak"] < 30 * 10**6


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(0, 4), st.integers(0, 4)),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    )
)
def test_half_precision_is_near(features: Any) -> None:
    kept = quantize(features)
    found = dequantize(kept)
    largest = np.abs(features).max(initial=0.0)
    np.testing.assert_allclose(found, features, rtol=2.0**-11, atol=max(float(largest) * 2.0**-39, 1e-43))
    assert found.dtype == np.float32
    out = np.full_like(features, 5)
    assert dequantize(kept, out) is out
    np.testing.assert_array_equal(out, found)


def test_all_numbers_of_half_precision_are_exact() -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16)
    numbers = numbers[np.isfinite(numbers)]
    found = dequantize(Quantized(numbers, np.zeros(1, dtype=np.int32)))
    np.testing.assert_array_equal(found.view(np.int32), numbers.astype(np.float32).view(np.int32))


def test_half_features_are_the_same_from_memory_files_and_pieces(
    dataset: DatasetFolder, tmp_path: Path
) -> None:
    photos = annotated_photos(dataset)
    sets = [
        segmenter(half=True, **options).prepare(photos, dataset.classes).prepared
        for options in (
            {},
            {"store": tmp_path},
            {"store": tmp_path},
            {"store": tmp_path, "memory_limit": "1TB"},
        )
    ]
    exact = segmenter(store=tmp_path).prepare(photos, dataset.classes).prepared
    for n, one in enumerate(exact):
        first = sets[0][n].problem.node_features
        assert not np.array_equal(first, one.problem.node_features)
        np.testing.assert_allclose(first, one.problem.node_features, rtol=1e-3, atol=1e-6)
        for other in sets[1:]:
            np.testing.assert_array_equal(other[n].problem.node_features, first)
            np.testing.assert_array_equal(other[n].regions, one.regions)
    sizes = {folder.name.endswith("-half"): total(folder) for folder in tmp_path.iterdir() if folder.is_dir()}
    assert sizes[True] < sizes[False]


def total(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_prepared_images_can_be_pickled_by_their_files(dataset: DatasetFolder, tmp_path: Path) -> None:
    kept = FeatureStore(tmp_path, piecewise=True)
    training = TrainingSet.prepare(annotated_photos(dataset), dataset.classes, toy_preset(), 640, store=kept)
    problems, annotations = training.problems(), training.annotations(1.0)
    content = pickle.dumps((problems, annotations))
    assert b"preset" not in content
    for one, two in zip(problems, pickle.loads(content)[0], strict=True):
        np.testing.assert_array_equal(one.node_features, two.node_features)
    for problem, said, again in zip(problems, annotations, pickle.loads(content)[1], strict=True):
        assert said is not None
        np.testing.assert_array_equal(said.prior(problem), again.prior(problem))
    shutil.rmtree(tmp_path)
    fresh = pickle.loads(content)[0][0]
    with pytest.raises(OSError, match="is the store on a disk that all machines share"):
        _ = fresh.node_features


def test_one_array_of_a_file(tmp_path: Path) -> None:
    path, content = tmp_path / "a.safetensors", {"x": np.arange(6.0).reshape(2, 3), "none": np.zeros((0, 2))}
    write_arrays(path, content)
    for name, array in content.items():
        np.testing.assert_array_equal(read_array(path, name), array)
    out = np.zeros((2, 3))
    assert read_array(path, "x", out) is out
    with pytest.raises(ArrayFileError, match=r"x is float64 of shape \(2, 3\), not float32"):
        read_array(path, "x", np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(ArrayFileError, match="y"):
        read_array(path, "y")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ArrayFileError):
            _ = [read_array(path, name) for name in content]
