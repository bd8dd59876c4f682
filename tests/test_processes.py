"""Processes that end with the one that started them, and dead ones that are told of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from multiutility.parallel.processes import WorkerError, in_processes
from process_worker import finish_or_die, nothing, raise_value_error, until, want_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

HERE = Path(__file__).parent


def alive(pid: int) -> bool:
    """Whether there is such a process; one that has ended, but nobody has asked about, is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def pids(place: Path) -> list[int]:
    """Numbers of processes that noted them."""
    return [int(name.partition("-")[0]) for name in os.listdir(place)]


@pytest.mark.parametrize(
    ("kind", "number"),
    [("processes", signal.SIGKILL), ("processes", signal.SIGTERM), ("cluster", signal.SIGKILL)],
)
def test_processes_end_with_the_one_that_started_them(
    kind: str, number: signal.Signals, tmp_path: Path
) -> None:
    command = [sys.executable, str(HERE / "process_worker.py"), kind, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as parent:
        assert until(lambda: len(os.listdir(tmp_path)) == 2)
        workers = pids(tmp_path)
        assert all(alive(pid) for pid in workers)
        parent.send_signal(number)
        parent.wait(60)
    assert until(lambda: not any(alive(pid) for pid in workers), 20)


def test_a_dead_process_is_told_of_after_all_that_is_finished(tmp_path: Path) -> None:
    items = [("finish", str(tmp_path)), ("die", str(tmp_path)), ("wait", str(tmp_path))]
    found: list[int] = []
    with pytest.raises(WorkerError, match=r"memory ran out; what is finished is kept: .*--jobs 1"):
        found.extend(number for number, _ in in_processes(finish_or_die, items, 2, nothing))
    assert found == [0]
    # The one that waits has ended, too.
    assert until(lambda: not any(map(alive, pids(tmp_path))), 20)


def test_errors_of_functions_come_as_they_are_but_for_memory() -> None:
    with pytest.raises(ValueError, match="item 7 is bad"):
        list(in_processes(raise_value_error, [7], 1, nothing))
    with pytest.raises(WorkerError, match="memory ran out"):
        list(in_processes(want_memory, [7], 1, nothing))


def test_who_stops_early_does_not_wait(tmp_path: Path) -> None:
    items = [("finish", str(tmp_path)), ("wait", str(tmp_path))]
    with closing(in_processes(finish_or_die, items, 2, nothing)) as coming:
        assert next(coming)[0] == 0
        assert until(lambda: len(os.listdir(tmp_path)) == 2)
    assert until(lambda: not any(map(alive, pids(tmp_path))), 20)
