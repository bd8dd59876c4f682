"""Everything that is wrong with a dataset folder, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from multiutility.datasets.contents import (
    BOXES,
    CLASSES,
    SEEDS,
    Contents,
    ImageNames,
    read_contents,
    read_split,
)
from multiutility.datasets.errors import DatasetError, Finding, Problem
from multiutility.datasets.images import read_image, read_instances, read_mask
from multiutility.datasets.placement import (
    box_problem,
    mask_problem,
    overhang_problem,
    seed_problem,
    size_problem,
)


def validate(
    path: str | Path, *, n_jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[Finding]:
    """All problems of a dataset folder; every image and mask is read.

    ``progress`` is called with the number of images that are done, and of all. An image without any
    annotation is no problem, nor is a box that reaches no more than a pixel beyond its image.
    """
    folder = Path(path)
    contents = read_contents(folder)
    errors = [*contents.problems, *contents.strays]
    names = ImageNames(contents.images)
    for split in contents.splits.values():
        errors += read_split(split, names)[1]
    with ThreadPoolExecutor(n_jobs) as pool:  # Decoders let other threads run.
        found = pool.map(partial(check_image, folder, contents), contents.images)
        try:
            for done, wrong in enumerate(found, start=1):
                errors += wrong
                if progress is not None:
                    progress(done, len(contents.images))
        finally:  # Whoever interrupts does not want to wait for the rest.
            pool.shutdown(wait=False, cancel_futures=True)
    return sorted((error.within(folder) for error in errors), key=place)


def place(finding: Finding) -> tuple[bool, bool, str, int]:
    """Order of findings: classes first, since more may follow from what is wrong there; then tables."""
    return finding.file != CLASSES, "/" in finding.file, finding.file, finding.row or 0


def check_image(folder: Path, contents: Contents, name: str) -> list[DatasetError]:
    """Problems of an image, and of all that is annotated in it."""
    try:
        height, width, _ = read_image(contents.images[name]).shape
    except DatasetError as error:
        return [error]
    problems = list(misplaced(folder, contents, name, height, width))
    n_classes = len(contents.classes) if contents.classes else None
    readers = ((contents.masks, read_mask, n_classes), (contents.instances, read_instances, None))
    for files, read, limit in readers:
        if name in files:
            problems += check_indices(files[name], read, height, width, limit)
    return problems


def misplaced(folder: Path, contents: Contents, name: str, height: int, width: int) -> Iterator[DatasetError]:
    """Boxes and seeds that are not where they can be."""
    for row, box in contents.boxes.get(name, ()):
        problem = box_problem(box, height, width) or overhang_problem(box, height, width)
        if problem:
            yield DatasetError(folder / BOXES, row, *problem)
    for row, seed in contents.seeds.get(name, ()):
        problem = seed_problem(seed, height, width)
        if problem:
            yield DatasetError(folder / SEEDS, row, *problem)


def check_indices(
    path: Path, read: Callable[[Path], NDArray[Any]], height: int, width: int, n_classes: int | None
) -> Iterator[DatasetError]:
    """Problems of a mask or map of objects."""
    try:
        indices = read(path)
    except DatasetError as error:
        yield error
        return
    problems: list[Problem | None] = [size_problem(indices, height, width)]
    if n_classes is not None:
        problems.append(mask_problem(indices, n_classes))
    for problem in filter(None, problems):
        yield DatasetError(path, None, *problem)
