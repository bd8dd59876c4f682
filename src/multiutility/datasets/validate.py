"""Everything that is wrong with a dataset folder, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from multiutility.datasets.contents import CLASSES, Contents, ImageNames, read_contents, read_split
from multiutility.datasets.errors import DatasetError, Finding
from multiutility.datasets.images import read_image, read_instances, read_mask
from multiutility.kinds import INDEX_IMAGES, TABLES, IndexImages
from multiutility.kinds.problems import Problem, size_problem


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
    for kind, images in INDEX_IMAGES.items():
        if name in contents.files[kind]:
            problems += check_indices(contents.files[kind][name], images, height, width, n_classes)
    if name in contents.instances:
        problems += check_instances(contents.instances[name], height, width)
    return problems


def misplaced(folder: Path, contents: Contents, name: str, height: int, width: int) -> Iterator[DatasetError]:
    """Entries of tables that are not where they can be."""
    for kind, table in TABLES.items():
        for row, entry in contents.entries[kind].get(name, ()):
            problem = table.problem(entry, height, width) or table.doubt(entry, height, width)
            if problem:
                yield DatasetError(folder / table.file, row, *problem)


def check_indices(
    path: Path, images: IndexImages, height: int, width: int, n_classes: int | None
) -> Iterator[DatasetError]:
    """Problems of a mask, or another index image."""
    try:
        indices = read_mask(path)
    except DatasetError as error:
        yield error
        return
    problems: list[Problem | None] = [size_problem(indices, height, width)]
    if n_classes is not None:
        problems.append(images.problem(indices, n_classes))
    for problem in filter(None, problems):
        yield DatasetError(path, None, *problem)


def check_instances(path: Path, height: int, width: int) -> Iterator[DatasetError]:
    """Problems of a map of objects."""
    try:
        problem = size_problem(read_instances(path), height, width)
    except DatasetError as error:
        yield error
        return
    if problem:
        yield DatasetError(path, None, *problem)
