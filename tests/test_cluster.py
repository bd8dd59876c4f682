"""A cluster of processes: what it learns does not depend on who lives, dies or joins."""

from __future__ import annotations

import os
import pickle
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from learning_cases import fulls, pid_after, random_problems, tags
from multiutility.cli import app
from multiutility.datasets import DatasetFolder, read_mask
from multiutility.inference import Expansion, Pinpoint
from multiutility.learning import SSVM
from multiutility.learning.cluster import shards
from multiutility.learning.cluster.backends import ShardedBackend
from multiutility.learning.examples import make_examples
from multiutility.learning.optimizers.solution import Record
from multiutility.learning.starts.soft import soft_start
from multiutility.parallel import Threads
from multiutility.parallel.dask import Cluster, ClusterError
from multiutility.vision import Segmenter
from multiutility.vision.training_set import annotated_photos
from toy import toy_preset, write_toy

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
    # Of Dask, which closes some of its files when they are collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A scheduler with two worker processes."""
    with Cluster("local:2") as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of few examples, so that there are several."""
    monkeypatch.setattr(shards, "LEAST_EXAMPLES", 16)


class Killer:
    """Kills a worker that is at work, after the first pass; another one takes its place when it can."""

    def __init__(self, machines: Any) -> None:
        self.machines = machines
        self.killed = 0
        self.n_passes = 0
        self._thread = Thread(target=self._kill)

    def __call__(self, _record: Record) -> None:
        self.n_passes += 1
        if self.n_passes == 1:
            self._thread.start()

    def _kill(self) -> None:
        pids = {nanny.worker_address: nanny.pid for nanny in self.machines.workers.values()}
        while not self.killed:
            # The scheduler is in this process: what it knows can be read at any time.
            workers = list(self.machines.scheduler.workers.values())
            busy = [one.address for one in workers if one.processing]
            if busy:
                os.kill(pids[busy[0]], signal.SIGKILL)
                self.killed = pids[busy[0]]
            time.sleep(0.001)


def test_a_worker_killed_and_another_one_joining_change_nothing(cluster: Cluster) -> None:
    problems, labelings = random_problems(6, 32)
    with Threads(n_shards=cluster.n_shards) as executor:
        quiet = SSVM(C=5, tol=0.01, random_state=0, executor=executor).fit(problems, fulls(labelings))
    killer = Killer(cluster._local)
    noisy = SSVM(C=5, tol=0.01, random_state=0, executor=cluster, callback=killer)
    noisy.fit(problems, fulls(labelings))
    assert killer.killed
    assert killer.n_passes > 2
    assert noisy.weights_.tobytes() == quiet.weights_.tobytes()
    assert len(noisy.objective_) == len(quiet.objective_)
    # The one that has joined works, too.
    killer.machines.wait_for_workers(2)
    pids = {nanny.pid for nanny in killer.machines.workers.values()}
    assert killer.killed not in pids
    assert {one.result() for one in [cluster.call(pid_after, n) for n in range(8)]} == pids


def test_example(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[1] / "examples" / "cluster.py"
    runpy.run_path(str(example))["main"](cluster.address)
    accuracy, same = (line.split()[-1] for line in capsys.readouterr().out.splitlines())
    assert float(accuracy) > 0.6
    assert same == "True"


def test_what_annotations_leave_open_is_found_by_workers(cluster: Cluster) -> None:
    """Soft labels and imputed labelings, as in one process."""
    problems, labelings = random_problems(7, 32)
    examples = make_examples(problems, [*fulls(labelings[:8]), *tags(labelings[8:])])
    found = []
    with Threads() as threads:
        for executor in (threads, cluster):
            backend = ShardedBackend(executor, Expansion(), Pinpoint(Expansion()))
            sent = backend.shards(examples).examples
            soft = soft_start(examples, [0.01], 2, executor=executor, shards=sent)
            likely = backend.likeliest(examples, soft.shares)
            imputed = backend.imputer(examples).impute(soft.weights, likely)
            found.append((soft.weights, *soft.shares, *soft.told, *likely, *imputed.labelings, imputed.gains))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.usefixtures("cheap_features")
def test_commands_on_a_cluster(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model and masks as by shards in one process; features are computed by workers."""
    monkeypatch.setattr(shards, "LEAST_EXAMPLES", 4)
    dataset, model = toy(tmp_path), tmp_path / "model.safetensors"
    store, where = tmp_path / "store", ["--cluster", cluster.address]
    run("prepare", dataset.path, "--store", store, *where)
    prepared = {file: file.stat().st_mtime_ns for file in store.rglob("*.safetensors")}
    assert len(prepared) == 1 + len(dataset)
    run("train", dataset.path, "--store", store, "--C", 1, "--out", model, *where)
    assert {file: file.stat().st_mtime_ns for file in store.rglob("*.safetensors")} == prepared
    with Threads(n_shards=16) as executor:
        alone = Segmenter(C=1.0, store=store, executor=executor).fit(dataset)
    alone.save(tmp_path / "alone.safetensors")
    assert model.read_bytes() == (tmp_path / "alone.safetensors").read_bytes()
    images = [sample.path for sample in dataset]
    run("predict", model, *images, "--out", tmp_path / "masks", *where)
    for sample, mask in zip(dataset, Segmenter.load(model).predict(images), strict=True):
        assert np.array_equal(read_mask(tmp_path / "masks" / f"{sample.name}.png"), mask)


def toy(folder: Path) -> DatasetFolder:
    return write_toy(folder / "toy", n_train=12, n_validation=0)


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def test_shards_are_sent_by_the_names_of_files(tmp_path: Path) -> None:
    """Not even a part of the features is in what goes to a worker."""
    dataset = toy(tmp_path)
    model = Segmenter(toy_preset(), store=tmp_path / "store", executor=Threads())
    problems = model.prepare(annotated_photos(dataset), dataset.classes).problems()
    features = problems[0].node_features
    sent = pickle.dumps(problems[0].changed(node_sizes=np.arange(1.0, 1 + problems[0].n_nodes)))
    assert np.ascontiguousarray(features[0]).tobytes() not in sent
    assert np.array_equal(pickle.loads(sent).node_features, features)


def test_what_is_wrong_with_a_cluster_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"'local:0' is no cluster: expected local:N"):
        Cluster("local:0")
    with pytest.raises(ClusterError, match="'host' is no cluster"):
        Cluster("host")
    monkeypatch.setattr("multiutility.parallel.dask.TIMEOUT", 0.2)
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9: there is no scheduler"):
        Cluster("tcp://127.0.0.1:9")
    with pytest.raises(ValueError, match="store is None: a cluster needs a folder"):
        Segmenter(executor=Threads()).fit(toy(tmp_path))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'multiutility\[cluster\]'"):
        Cluster("local:2")


def test_dask_is_loaded_by_those_only_who_ask_for_it() -> None:
    code = (
        "import sys, multiutility.vision, multiutility.cli.learning; assert 'distributed' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
