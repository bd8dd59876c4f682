"""Many models at once, each in a process of its own: learning one has parts that only one core works on."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from threadpoolctl import threadpool_limits

from multiutility.experiments.study import Outcome, Setup, Study
from multiutility.experiments.supervision import Supervision
from multiutility.parallel.processes import in_processes


@dataclass(frozen=True)
class Task:
    """A model to learn and judge."""

    method: str
    kinds: str
    choice: Supervision
    parameters: Mapping[str, Any]

    def run(self, study: Study) -> Outcome:
        """Learn and judge."""
        return study.outcome(self.method, self.kinds, self.choice, self.parameters)


def outcomes(study: Study, tasks: Sequence[Task]) -> Generator[tuple[int, Outcome], None, None]:
    """Yield numbers of tasks with their outcomes, as they come; which do not depend on how many processes."""
    n_processes = min(study.setup.n_processes, len(tasks))
    if n_processes <= 1:
        yield from ((number, task.run(study)) for number, task in enumerate(tasks))
        return
    # Features are mapped from the store, so that processes share them.
    setup = replace(study.setup, n_processes=1, n_jobs=max(1, study.setup.n_jobs // n_processes))
    yield from in_processes(work, tasks, n_processes, begin, setup)


# What this process learns with; the study is opened at the first task, whose errors are told.
SETUPS: list[Setup] = []
STUDIES: list[Study] = []


def begin(setup: Setup) -> None:
    """Begin in a new process, whose products of matrices take one core."""
    threadpool_limits(limits=1, user_api="blas")
    SETUPS.append(setup)


def work(task: Task) -> Outcome:
    """Run a task in this process."""
    if not STUDIES:
        STUDIES.append(Study.open(SETUPS[-1]))
    return task.run(STUDIES[-1])
