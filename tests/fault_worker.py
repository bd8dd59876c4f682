"""Runs commands in processes of their own, which may be killed at a chosen moment.

Started once for many tests, so that imports are paid for once. Takes jobs from stdin, one JSON object a line,
and tells the numbers of their processes, and when all have ended their exit codes; negative ones are signals.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from multiutility import array_file, files
from multiutility.cli import app
from multiutility.learning.checkpoint import journal
from multiutility.vision import features, model_file, segmenter
from multiutility.vision.features import presets
from toy import toy_preset

assert segmenter  # what the commands import is there before processes are forked


def killed_at(call: int, after: bool, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, in whose n-th call the process is killed."""
    left = [call]

    def run(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = work(*args, **kwargs)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return run


def killed_halfway(call: int) -> Callable[..., Any]:
    """Return a way to replace files that writes one half of the n-th, and then is killed."""
    left = [call]

    @contextmanager
    def replacing(path: Path, **options: Any) -> Iterator[Any]:
        left[0] -= 1
        with files.replacing(path, **options) as opened:
            file: Any = opened
            if left[0] == 0:
                file.write = half(file)
            yield file

    return replacing


def half(file: Any) -> Callable[[bytes], None]:
    """Return a way to write that writes one half, and then is killed."""
    descriptor = file.fileno()

    def write(content: bytes) -> None:
        os.write(descriptor, content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    return write


def slowed(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which takes its time."""

    def run(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.05)
        return work(*args, **kwargs)

    return run


def patch(target: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Change a function, named as ``module:Class.name``."""
    module, _, name = target.partition(":")
    owner: Any = import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    setattr(owner, last, change(getattr(owner, last)))


def run(job: dict[str, Any]) -> None:
    """Run a command, and end the process with its exit code."""
    for number, name in enumerate(("stdout", "stderr"), start=1):
        os.dup2(os.open(f"{job['log']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    presets.PRESETS["deep"] = toy_preset
    features.KINDS["MeanColor"] = "toy"
    journal.EVERY = journal.SHARE = 0
    for target, call, after in job.get("kill", []):
        if target == "halfway":
            vars(array_file)["replacing"] = vars(model_file)["replacing"] = killed_halfway(call)
        else:
            patch(target, partial(killed_at, call, after))
    for target in job.get("slow", []):
        patch(target, slowed)
    for command in job.get("before", []):
        subprocess.run(command, check=True)
    if "file_size" in job:
        # Beyond it the system refuses to write, as on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], resource.RLIM_INFINITY))
    code = 1
    try:
        app(job["arguments"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Run jobs until there are none left."""
    for line in sys.stdin:
        jobs, children = json.loads(line), []
        for job in jobs:
            child = os.fork()
            if child == 0:
                run(job)
            children.append(child)
        print(json.dumps(children), flush=True)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(codes), flush=True)


if __name__ == "__main__":
    main()
