"""Many models at once, each in a process of its own: learning one has parts that only one core works on."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from threadpoolctl import threadpool_limits

from multiutility.experiments.study import Outcome, Setup, Study
from multiutility.experiments.supervision import Choice


@dataclass(frozen=True)
class Task:
    """A model to learn and judge."""

    method: str
    kinds: str
    choice: Choice
    parameters: Mapping[str, Any]

    def run(self, study: Study) -> Outcome:
        """Learn and judge."""
        return study.outcome(self.method, self.kinds, self.choice, self.parameters)


def outcomes(study: Study, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
    """Yield numbers of tasks with their outcomes, as they come; which do not depend on how many processes."""
    n_processes = min(study.setup.n_processes, len(tasks))
    if n_processes <= 1:
        yield from ((number, task.run(study)) for number, task in enumerate(tasks))
        return
    # Features are mapped from the store, so that processes share them.
    setup = replace(study.setup, n_processes=1, n_jobs=max(1, study.setup.n_jobs // n_processes))
    # Not by forking: threads of the libraries would be lost.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_processes, context, initializer=begin, initargs=(setup,))
    try:
        yield from in_turn(pool, tasks, n_processes)
    finally:
        pool.shutdown(cancel_futures=True)


def in_turn(
    pool: ProcessPoolExecutor, tasks: Sequence[Task], n_processes: int
) -> Iterator[tuple[int, Outcome]]:
    """Yield numbers of tasks with their outcomes; none waits in the pool, where it cannot be called off."""
    coming = enumerate(tasks)
    running = {pool.submit(work, task): number for number, task in islice(coming, n_processes)}
    while running:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            number = running.pop(future)
            running.update({pool.submit(work, task): n for n, task in islice(coming, 1)})
            yield number, future.result()


# The study of this process, opened once.
STUDIES: list[Study] = []


def begin(setup: Setup) -> None:
    """Open the study in a new process, whose products of matrices take one core."""
    threadpool_limits(limits=1, user_api="blas")
    STUDIES.append(Study.open(setup))


def work(task: Task) -> Outcome:
    """Run a task in this process."""
    return task.run(STUDIES[-1])
