"""Learning beyond memory and beyond one machine, as ratios in one run.

    python benchmarks/scale.py [--quick] [--json FILE] [--scratch DIR] [--only SUBSTRING]

Training sets of SIFT-flow's shape are made up (see training_sets.py), and their features written to a file,
which is removed at the end. Every measurement is a fresh process with one thread, of which the system tells
the peak of the resident memory, pages of mapped files included.

- `growth`: passes of Frank-Wolfe over 10 times as many images, with the same `memory_limit`, which is less
  than a tenth of the features: time for one image, and memory. The file is in the system's cache if that is
  large enough; from a disk, features come as fast as it reads.
- `whole`: all of SIFT-flow's training images, from the file to a relative gap of 5 %.
- Rows of the cluster are in scale_cluster.py.

Exit code: 0 if all targets are met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from learning import COST, GIGABYTE, HEADER, SIFT_FLOW, Passes, Row, conclude, with_one_thread
from multiutility import LabelingProblem
from multiutility.annotations import Full
from multiutility.learning import SSVM, FrankWolfe
from multiutility.memory import ArrayCache, CachedArray, MemoryLimit
from training_sets import TrainingSet

T = TypeVar("T")

FEW, TIMES = 512, 10
LIMIT, WHOLE_LIMIT = 1_000_000_000, 3_000_000_000
QUICK_SHARE, QUICK_LIMIT = 8, 350_000_000
"""The quick run has so many times fewer images, and a limit that is less than their features, too."""
PASSES, BATCH = 4, 16
"""By default, smaller sets have smaller mini-batches, which take longer."""
TOLERANCE = 0.05
WITHIN = 1.15
MEMORY_TARGET = 4.0


@dataclass(frozen=True)
class Measured:
    """What a process took: seconds of whole passes and of all, bytes read and at the peak, and the gap."""

    passes: list[float]
    seconds: float
    n_read: int
    memory: int
    gap: float


def read_at(path: Path, offset: int, out: NDArray[np.float32]) -> None:
    """Read features from a file that holds those of all images."""
    with path.open("rb", buffering=0) as file:
        file.seek(offset)
        view, done = out.data.cast("B"), 0
        while done < out.nbytes:
            done += file.readinto(view[done:])


def problems_in(
    path: Path, training_set: TrainingSet, cache: ArrayCache
) -> tuple[list[LabelingProblem], list[Full]]:
    """Return problems whose features are read from the file; losses are shares of wrong nodes."""
    shape = training_set.n_nodes, training_set.n_features
    sizes = np.full(training_set.n_nodes, 1 / training_set.n_nodes)
    problems, annotations = [], []
    for number in range(training_set.n_instances):
        _, edges, edge_features, labels = training_set.without_features(number)
        fill = partial(read_at, path, number * 4 * shape[0] * shape[1])
        source = CachedArray(cache, shape, np.float32, fill)
        problems.append(LabelingProblem.from_source(source, edges, edge_features, sizes))
        annotations.append(Full.from_labels(labels, training_set.n_labels))
    return problems, annotations


def learned(path: Path, limit: int, tolerance: float, max_passes: int, training_set: TrainingSet) -> Measured:
    """Learn within the limit, from features in a file."""
    begin, cache, passes = time.perf_counter(), ArrayCache(MemoryLimit(limit)), Passes()
    few = FrankWolfe(max_passes, BATCH, check_every=max_passes + 1, average=False)
    model = SSVM(
        COST * training_set.n_instances,
        tol=tolerance,
        optimizer=few if max_passes == PASSES else FrankWolfe(),
        random_state=0,
        callback=passes,
        memory_limit=limit,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*problems_in(path, training_set, cache))
    last = passes.records[-1]
    return Measured(
        passes.sweeps(), time.perf_counter() - begin, cache.n_read, peak_memory(), last.relative_gap
    )


def peak_memory() -> int:
    """Peak of the resident memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("/proc/self/status has no VmHWM")


def growth_rows(path: Path, few: TrainingSet, limit: int) -> list[Row]:
    """Time and memory of passes, 10 times as many images against the rest."""
    many = replace(few, n_instances=TIMES * few.n_instances)
    work = partial(learned, path, limit, TOLERANCE / 1000, PASSES)
    # The small set before and after the large one, since other work on the machine comes and goes.
    before, found, after = (apart(partial(work, one)) for one in (few, many, few))
    case, against = f"{many.n_instances:,} images, limit {limit / GIGABYTE:g} GB", f"{few.n_instances} images"
    duration = Row(f"one pass, time for one image, {case}", against, unit="ms", target=WITHIN)
    duration.ours = 1e3 * float(np.median(found.passes)) / many.n_instances
    duration.other = 1e3 * float(np.median(before.passes + after.passes)) / few.n_instances
    duration.note = (
        f"{found.n_read / many.n_bytes:.1f} and {after.n_read / few.n_bytes:.1f} times all was read"
    )
    duration.details = {"passes": found.passes, "other_passes": before.passes + after.passes}
    memory = Row(f"resident memory, {case}", against, unit="GB", target=WITHIN)
    memory.ours, memory.other = found.memory / GIGABYTE, max(before.memory, after.memory) / GIGABYTE
    memory.note = f"features: {many.n_bytes / GIGABYTE:.1f} GB"
    return [duration, memory]


def whole_rows(path: Path, training_set: TrainingSet, limit: int) -> list[Row]:
    """Learn to the tolerance: memory and gap against their targets."""
    found = apart(partial(learned, path, limit, TOLERANCE, FrankWolfe().max_passes, training_set))
    case = f"end to end, {training_set.name}"
    memory = Row(f"resident memory, {case}", "the target", unit="GB", target=1.0)
    memory.ours, memory.other = found.memory / GIGABYTE, MEMORY_TARGET
    memory.note = f"limit {limit / GIGABYTE:g} GB, features {training_set.n_bytes / GIGABYTE:.1f} GB"
    gap = Row(f"relative gap, {case}", "the target", 100 * found.gap, 100 * TOLERANCE, "%", 1.0)
    gap.note = f"{found.seconds:.0f} s, {len(found.passes)} passes of {np.median(found.passes):.1f} s"
    gap.details = {"seconds": found.seconds, "passes": found.passes, "n_read": float(found.n_read)}
    return [memory, gap]


def apart(work: Callable[[], T]) -> T:
    """Do the work in a fresh process: memory that was freed may stay with one."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(work).result()


@contextmanager
def written(training_set: TrainingSet, scratch: Path | None) -> Iterator[Path]:
    """A file with the features of all images, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        free = shutil.disk_usage(folder).free
        if free < 1.1 * training_set.n_bytes:
            wanted = f"{training_set.n_bytes / GIGABYTE:.1f} GB in {folder}"
            raise OSError(f"needs {wanted}, {free / GIGABYTE:.1f} GB are free: see --scratch")
        training_set.write(Path(folder) / "features")
        yield Path(folder) / "features"


def measure(quick: bool, scratch: Path | None, only: str) -> list[Row]:
    """All rows, each printed as soon as it is known."""
    share, limit = (QUICK_SHARE, QUICK_LIMIT) if quick else (1, LIMIT)
    few = replace(SIFT_FLOW, n_instances=FEW // share)
    whole = replace(SIFT_FLOW, n_instances=SIFT_FLOW.n_instances // share)
    rows: list[Row] = []
    print(HEADER, flush=True)

    def show(found: list[Row]) -> None:
        rows.extend(found)
        print("\n".join(row.line() for row in found), flush=True)

    wanted = [name for name in ("growth", "whole") if only in name]
    if wanted:
        most = TIMES * few.n_instances if "growth" in wanted else whole.n_instances
        with written(replace(whole, n_instances=most), scratch) as path:
            if "growth" in wanted:
                show(growth_rows(path, few, limit))
            if "whole" in wanted:
                show(whole_rows(path, whole, WHOLE_LIMIT // share))
    if only in "cluster":
        # It imports this module.
        from scale_cluster import cluster_rows  # noqa: PLC0415

        show(cluster_rows(quick, scratch))
    return rows


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure learning beyond memory and beyond one machine.")
    parser.add_argument("--quick", action="store_true", help="smaller training sets, in about a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="where the file is made (12 GB)")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of growth, whole, cluster")
    options = parser.parse_args()
    rows = measure(options.quick, options.scratch, options.only)
    return conclude(rows, options.json)


if __name__ == "__main__":
    with_one_thread()
    sys.exit(main())
