"""Speed and memory of learning, as ratios in one run.

    python benchmarks/learning.py [--quick] [--json FILE] [--pystruct PYTHON] [--only SUBSTRING]

Four subjects, on training sets that are made up (see training_sets.py), with one thread for everything:

- A pass of Frank-Wolfe, inference included, against the two float32 products with the features that it cannot
  avoid, as NumPy computes them: scores X W and update A^T X. The products are timed between the passes;
  medians are compared.
- The processor time of learning in shards, as on a cluster but in one process, to a relative duality gap of
  1 %, against learning in one place.
- The time to a relative duality gap of 1 %, for all of `SSVM.fit` (median of three), against PyStruct's
  learners with our oracle in both. What PyStruct needs to check the gap is not counted, what we need is. A
  learner that is not there by the time limit counts with that time, so that its ratio is an upper bound.
  PyStruct's own oracles are extrapolated from a few calls. `--pystruct` names a Python that can import both
  `pystruct` and `multiutility`. White features, unlike those of pictures, take a 1-slack method far fewer
  passes: they are shown without a target.
- Passes over a training set of SIFT-flow's size, memory-mapped from a file (5.9 GB, removed at the end): peak
  of the anonymous resident memory, which leaves out mapped pages, and growth of the time with the instances.

Exit code: 0 if all targets are met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import environments
from environments import MissingPeerError
from multiutility import LabelingProblem
from multiutility.annotations import Full
from multiutility.learning import SSVM, FrankWolfe
from multiutility.learning.optimizers.solution import Record
from multiutility.parallel import Threads
from training_sets import Sample, TrainingSet

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MISSED, MISSING = 1, 3
GIGABYTE = 1e9

MSRC = TrainingSet(276, 100, 260, 2028, 24)
WHITE = replace(MSRC, decay=0.0)
SMALL = TrainingSet(60, 100, 260, 500, 24)
SIFT_FLOW = TrainingSet(2488, 64, 160, 9345, 33)
GROWN_FROM = 250
QUICK_SHARE = 20
"""The quick run has so many times fewer instances of SIFT-flow's."""
COST = 1 / 276
"""C for each instance. On held-out instances of MSRC's size, C = 0.3, 1 and 3 are as good, 10 is worse."""
QUICK_PASSES = 12
TOLERANCE = 0.01
SIFT_PASSES, SIFT_BATCH = 4, 16
"""By default, smaller sets have smaller mini-batches, which take longer."""

PASS_TARGET = 3.0
N_SHARDS, SHARDS_TARGET = 8, 1.5
LEARNER_TARGETS = {"OneSlackSSVM": 1 / 10, "FrankWolfeSSVM": 1 / 3}
MEMORY_TARGET = 4.0
GROWTH_TARGET = 1.2
"""Time for one instance, of all against a tenth: 1 is linear, the rest is for noise and caches."""


@dataclass
class Row:
    """One line of the table: a figure of ours against another."""

    case: str
    against: str
    ours: float = np.nan
    other: float = np.nan
    unit: str = "s"
    target: float | None = None
    note: str = ""
    details: dict[str, float | list[float]] = field(default_factory=dict)
    missing: str | None = None

    @property
    def ratio(self) -> float:
        """Ours to the other."""
        return self.ours / self.other

    @property
    def met(self) -> bool | None:
        """Whether the ratio is small enough; None without a target."""
        return None if self.target is None or self.missing else self.ratio <= self.target

    def record(self) -> dict[str, object]:
        """Everything, for JSON; figures that are not known are None."""
        found = asdict(self) | {"ratio": self.ratio, "met": self.met}
        return found | {name: None for name in ("ours", "other", "ratio") if np.isnan(found[name])}

    def line(self) -> str:
        """Format in Markdown."""
        if self.missing:
            return f"| {self.case} | {self.against} | **missing**: {self.missing} | | | | | |"
        target = "" if self.target is None else f"≤ {self.target:.3g}"
        met = {True: "yes", False: "**no**", None: ""}[self.met]
        figures = f"{self.ours:.4g} {self.unit} | {self.other:.4g} {self.unit} | {self.ratio:.3g}"
        return f"| {self.case} | {self.against} | {figures} | {target} | {met} | {self.note} |"


HEADER = """\
| case | against | ours | other | ratio | target | met | note |
| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"""


class Learned(TypedDict):
    """Output of peers/pystruct_learners.py."""

    seconds: float
    passes: int
    primal: float
    dual: float
    converged: bool
    calls: int
    own_oracles: dict[str, float]


class Passes:
    """Callback that times the passes, and may do something between them that is not counted."""

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        self.records: list[Record] = []
        self.seconds: list[float] = []
        self._between = between
        self._start = time.perf_counter()

    def __call__(self, record: Record) -> None:
        """Note the time since the last pass."""
        self.seconds.append(time.perf_counter() - self._start)
        self.records.append(record)
        self._between()
        self._start = time.perf_counter()

    def sweeps(self) -> list[float]:
        """Seconds of whole passes, those apart that follow the set-up or a computation of the primal."""
        pairs = zip(self.records, self.records[1:], self.seconds[1:], strict=False)
        return [seconds for before, now, seconds in pairs if not (before.exact or now.exact)]


class Products:
    """The two products of all features: scores, and update."""

    def __init__(self, samples: Sequence[Sample], n_labels: int) -> None:
        self._features = [sample.features for sample in samples]
        n_nodes, n_features = self._features[0].shape
        rng = np.random.default_rng(0)
        self._weights = rng.standard_normal((n_features, n_labels), dtype=np.float32)
        self._scores = np.empty((n_nodes, n_labels), dtype=np.float32)
        self._update = np.empty((n_labels, n_features), dtype=np.float32)
        self.seconds: list[float] = []

    def __call__(self) -> None:
        """Compute both, instance by instance, and take the time."""
        start = time.perf_counter()
        for features in self._features:
            np.matmul(features, self._weights, out=self._scores)
        for features in self._features:
            np.matmul(self._scores.T, features, out=self._update)
        self.seconds.append(time.perf_counter() - start)


def annotated(samples: Sequence[Sample], n_labels: int) -> tuple[list[LabelingProblem], list[Full]]:
    """Return the samples in our form; the loss of an instance is its share of wrong nodes."""
    problems, annotations = [], []
    for features, edges, edge_features, labels in samples:
        sizes = np.full(len(labels), 1 / len(labels))
        problems.append(LabelingProblem(features, edges, edge_features, sizes))
        annotations.append(Full.from_labels(labels, n_labels))
    return problems, annotations


def learner(training_set: TrainingSet, passes: Passes) -> SSVM:
    """Ours, as it comes."""
    return SSVM(COST * training_set.n_instances, tol=TOLERANCE, random_state=0, callback=passes)


def pass_rows(max_passes: int | None) -> list[Row]:
    """A pass against the products that it cannot avoid, on the way to the tolerance."""
    samples = MSRC.samples()
    products = Products(samples, MSRC.n_labels)
    passes = Passes(products)
    model = learner(MSRC, passes)
    if max_passes is not None:
        model.set_params(optimizer=FrankWolfe(max_passes=max_passes, check_every=max_passes, average=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*annotated(samples, MSRC.n_labels))
    sweeps = passes.sweeps()
    row = Row(f"one pass, {MSRC.name}", "NumPy's float32 products X W and A^T X", target=PASS_TARGET)
    row.ours, row.other = float(np.median(sweeps)), float(np.median(products.seconds))
    row.note = f"median of {len(sweeps)} passes"
    row.details = {"passes": sweeps, "products": products.seconds}
    return [row]


def gap_rows(training_set: TrainingSet, python: Path | None, limit: float) -> list[Row]:
    """Time to the tolerance, ours against PyStruct's learners."""
    case = f"{TOLERANCE:.0%} gap, {training_set.name}"
    if python is None:
        reason = "name a Python that can import pystruct and multiutility: --pystruct PYTHON"
        return [Row(case, name, missing=reason) for name in LEARNER_TARGETS]
    samples = training_set.samples()
    data = annotated(samples, training_set.n_labels)
    first, records = timed_fit(training_set, *data)
    seconds, rows = [first], []
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "instances.npz"
        environments.save(archive, [sample._asdict() for sample in samples])
        for name in LEARNER_TARGETS:
            try:
                learned = run_pystruct(python, archive, name, training_set, limit)
            except MissingPeerError as error:
                rows.append(Row(case, name, missing=str(error)))
                continue
            check_objectives(name, records, learned)
            rows += learner_rows(case, name, records, learned)
            seconds.append(timed_fit(training_set, *data)[0])
    for row in rows:
        row.ours, row.details["fits"] = float(np.median(seconds)), seconds
    return rows


def timed_fit(
    training_set: TrainingSet, problems: Sequence[LabelingProblem], annotations: Sequence[Full]
) -> tuple[float, list[Record]]:
    """Learn to the tolerance; return the seconds and all passes."""
    passes, start = Passes(), time.perf_counter()
    learner(training_set, passes).fit(problems, annotations)
    return time.perf_counter() - start, passes.records


def shard_rows(training_set: TrainingSet) -> list[Row]:
    """Processor time to the tolerance in shards, against one place."""
    data = annotated(training_set.samples(), training_set.n_labels)
    row = Row(f"{TOLERANCE:.0%} gap in {N_SHARDS} shards, {training_set.name}", "in one place")
    row.target, passes = SHARDS_TARGET, (Passes(), Passes())
    seconds = []
    for executor, callback in zip((None, Threads(n_shards=N_SHARDS)), passes, strict=True):
        start = time.process_time()
        learner(training_set, callback).set_params(executor=executor).fit(*data)
        seconds.append(time.process_time() - start)
    row.other, row.ours = seconds
    row.note = f"processor time; {len(passes[1].records)} against {len(passes[0].records)} passes"
    return [row]


def run_pystruct(python: Path, archive: Path, name: str, training_set: TrainingSet, limit: float) -> Learned:
    """Learn with PyStruct in a process of its own environment."""
    output = archive.with_suffix(".json")
    script = environments.SCRIPTS / "pystruct_learners.py"
    # PyStruct's C is the weight of each slack, ours that of their mean.
    numbers = (training_set.n_labels, COST, TOLERANCE, limit)
    command = [str(python), "-W", "ignore", str(script), str(archive), str(output), name]
    environments.call([*command, *map(str, numbers)], f"PyStruct's {name} failed")
    learned: Learned = json.loads(output.read_text())
    return learned


def check_objectives(name: str, records: Sequence[Record], learned: Learned) -> None:
    """Raise unless both have bounded the same minimum: every dual is below every primal."""
    primal = min(record.primal for record in records if record.exact)
    if max(records[-1].dual, learned["dual"]) > min(primal, learned["primal"]) * (1 + TOLERANCE / 10):
        ours = f"we find the objective in [{records[-1].dual}, {primal}]"
        raise AssertionError(f"{ours}, {name} in [{learned['dual']}, {learned['primal']}]")


def learner_rows(case: str, name: str, records: Sequence[Record], learned: Learned) -> Iterator[Row]:
    """Yield a row for the learner with our oracle, and one for each oracle of its own; ours is left open."""
    gap = (learned["primal"] - learned["dual"]) / learned["primal"]
    state = "" if learned["converged"] else f", gap still {gap:.1%}: an upper bound of the ratio"
    row = Row(case, f"PyStruct {name}, our oracle", other=learned["seconds"], target=LEARNER_TARGETS[name])
    row.note = f"{len(records)} against {learned['passes']} passes{state}"
    row.details = {"passes": len(records), "other_passes": learned["passes"], "other_gap": gap}
    yield row
    for method, extrapolated in learned["own_oracles"].items():
        note = f"extrapolated to {learned['calls']:,} calls{state}"
        yield replace(row, against=f"PyStruct {name}, {method}", other=extrapolated, note=note, details={})


class Mapped(NamedTuple):
    """Passes over features in a file: seconds of passes and of products, and the peak of memory, in GB."""

    passes: list[float]
    products: list[float]
    memory: float


def sift_rows(scratch: Path | None, share: int) -> list[Row]:
    """Memory and growth at SIFT-flow's size, or a share of it."""
    large = replace(SIFT_FLOW, n_instances=SIFT_FLOW.n_instances // share)
    small = replace(SIFT_FLOW, n_instances=GROWN_FROM // share)
    memory = Row(f"memory of a pass, {large.name}", "limit, anonymous memory", unit="GB", target=1.0)
    growth = Row(f"time for one instance, {large.name}", f"{small.n_instances} instances", unit="ms")
    growth.target = GROWTH_TARGET
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        free = shutil.disk_usage(folder).free
        if free < 1.1 * large.n_bytes:
            reason = f"needs {large.n_bytes / GIGABYTE:.1f} GB in {folder}, {free / GIGABYTE:.1f} GB are free"
            return [replace(row, missing=reason) for row in (memory, growth)]
        path = Path(folder) / "features"
        large.write(path)
        # Each in a fresh process, since memory that was freed may stay with a process; the small set before
        # and after the large one, since other work on the machine comes and goes.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as processes:
            before, found, after = processes.map(partial(mapped_passes, path), (small, large, small))
    memory.ours, memory.other = found.memory, MEMORY_TARGET
    few = before.passes + after.passes
    growth.ours = 1e3 * float(np.median(found.passes)) / large.n_instances
    growth.other = 1e3 * float(np.median(few)) / small.n_instances
    products = np.median(found.products) / np.median(before.products + after.products)
    linear = large.n_instances / small.n_instances
    growth.note = f"passes {np.median(few):.3g} s and {np.median(found.passes):.3g} s"
    growth.note += f"; the products alone grow by {products / linear:.3g}"
    growth.details = {"passes": found.passes, "other_passes": few, "products": found.products}
    growth.details |= {"other_products": before.products + after.products}
    return [memory, growth]


def mapped_passes(path: Path, training_set: TrainingSet) -> Mapped:
    """Learn from features in a file, for a few passes."""
    optimizer = FrankWolfe(SIFT_PASSES, SIFT_BATCH, check_every=SIFT_PASSES + 1, average=False)
    with peak_of(anonymous_memory) as peak, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        samples = training_set.mapped(path)
        passes = Passes(products := Products(samples, training_set.n_labels))
        model = learner(training_set, passes).set_params(optimizer=optimizer, tol=TOLERANCE / 100)
        model.fit(*annotated(samples, training_set.n_labels))
    return Mapped(passes.sweeps(), products.seconds, peak[0] / GIGABYTE)


@contextmanager
def peak_of(measure: Callable[[], float], interval: float = 0.01) -> Iterator[list[float]]:
    """Sample the measure while the context lasts; the list then holds the largest value."""
    peak, done = [measure()], threading.Event()

    def sample() -> None:
        while not done.wait(interval):
            peak[0] = max(peak[0], measure())

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def anonymous_memory() -> float:
    """Anonymous resident memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * float(line.split()[1])
    raise OSError("/proc/self/status has no RssAnon")


def measure(quick: bool, python: Path | None, limit: float, scratch: Path | None, only: str) -> list[Row]:
    """All rows, each printed as soon as it is known."""
    jobs: dict[str, Callable[[], list[Row]]] = {
        "pass": partial(pass_rows, QUICK_PASSES if quick else None),
        "shards": partial(shard_rows, SMALL if quick else MSRC),
        "gap": partial(gap_rows, SMALL if quick else MSRC, python, limit),
        "sift": partial(sift_rows, scratch, QUICK_SHARE if quick else 1),
    }
    if not quick:
        jobs["gap, white"] = lambda: [replace(row, target=None) for row in gap_rows(WHITE, python, limit)]
    rows = []
    print(HEADER, flush=True)
    for name, job in jobs.items():
        if only in name:
            rows += (found := job())
            print("\n".join(row.line() for row in found), flush=True)
    return rows


def conclude(rows: list[Row], file: Path | None) -> int:
    """Write the rows to a file, if there is to be one, and count them; return the exit code."""
    if file:
        file.write_text(json.dumps([row.record() for row in rows], indent=1) + "\n")
    missed = [row for row in rows if row.met is False]
    missing = [row for row in rows if row.missing]
    print(
        f"\n{sum(row.met is True for row in rows)} targets met, {len(missed)} missed, {len(missing)} missing"
    )
    return MISSING if missing else MISSED if missed else 0


def with_one_thread() -> None:
    """Start anew unless products take one thread: BLAS reads that when NumPy is imported."""
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1"))


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure speed and memory of learning.")
    parser.add_argument("--quick", action="store_true", help="smaller training sets, in about a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    parser.add_argument(
        "--pystruct", type=Path, metavar="PYTHON", help="that imports pystruct and multiutility"
    )
    parser.add_argument(
        "--limit", type=float, metavar="SECONDS", help="of each PyStruct learner (900, quick: 30)"
    )
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where the mapped file is made")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of pass, shards, gap, sift")
    options = parser.parse_args()
    limit = options.limit or (30.0 if options.quick else 900.0)
    rows = measure(options.quick, options.pystruct, limit, options.scratch, options.only)
    return conclude(rows, options.json)


if __name__ == "__main__":
    with_one_thread()
    sys.exit(main())
