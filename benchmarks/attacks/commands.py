"""All long commands on tiny datasets, in forked processes that have imported everything already."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from attacks import toys
from attacks.toys import use_toys
from multiutility import cli
from toy import write_mixed, write_toy

# What commands import when they run, and what that imports, takes longer than the work itself.
for _module in ("experiments.experiment", "tuning.page", "vision.report", "vision.results"):
    import_module(f"multiutility.{_module}")
for _module in ("coco", "coco_export", "labelme", "labelstudio_export", "masks", "voc_export"):
    import_module(f"multiutility.datasets.formats.{_module}")
import_module("matplotlib.backends.backend_agg")

Contents: TypeAlias = dict[str, bytes | str]

MODEL = "m.safetensors"
FAST = "--set C=1 --set tol=0.5 --set max_iter=1"
TRAIN = "train {mixed} --store {place}/store --out {out} --C 0.5 --alpha 1"
TABLE = "experiment table2 --data {toy} --train train --test validation --quick --store {place}/store"
EVALUATE = "evaluate {model} {toy} --split validation --store {place}/store --out {out} --jobs 1"
TUNE = "tune {toy} --out {out} --store {place}/store --folds 2 --grid C=0.1,1 --jobs 1"
PREDICT = "predict {model} {toy} --overlay --scores --coco --out {out}"


@dataclass(frozen=True)
class Command:
    """A command: ``words`` with places in braces, and what it goes on with after an interruption."""

    name: str
    words: str
    resume: str = ""
    out: str = "out"


COMMANDS = (
    Command("train", f"{TRAIN} --jobs 1", "--resume", MODEL),
    Command("train --jobs 2", f"{TRAIN} --jobs 2 --memory-limit 1GB --half", "--resume", MODEL),
    Command("prepare", "prepare {mixed} --store {place}/store --jobs 2"),
    Command("predict", f"{PREDICT} --jobs 1", "--resume"),
    Command("evaluate", EVALUATE),
    Command("tune", f"{TUNE} {FAST}", out="t.json"),
    Command("experiment", f"{TABLE} --out {{out}} {FAST} --jobs 1"),
    Command("experiment --jobs 2", f"{TABLE} --out {{out}} {FAST} --jobs 2"),
    Command("demo", "demo --out {out} --jobs 1"),
    Command("weaken", "weaken {toy} {out} --keep-masks 1 --tags --boxes"),
    Command("import", "convert coco {coco} {out}"),
    *(
        Command(f"export {name}", f"convert {{toy}} {{out}} --to {name}")
        for name in ("coco", "voc", "labelme", "labelstudio", "masks")
    ),
)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal; what it said; how long it took."""

    code: int
    said: str
    seconds: float


class Bench:
    """A folder with datasets and a model, and the processes of commands that use them."""

    def __init__(self, folder: Path) -> None:
        os.environ["MULTIUTILITY_CACHE"] = str(folder / "cache")
        # They are told where there is no need to guess, and lines must not be broken.
        os.environ["COLUMNS"] = "1000"
        self.inputs, self.place, self._log = folder / "inputs", folder / "place", folder / "log"
        toy = write_toy(self.inputs / "toy", n_train=6, n_validation=2)
        write_mixed(self.inputs / "mixed", toy)
        model = self.inputs / MODEL
        self.places = {
            "place": self.place,
            "toy": toy.path,
            "mixed": self.inputs / "mixed",
            "model": model,
            "coco": self.inputs / "coco",
        }
        self.run_once("convert {toy} {coco} --to coco")
        self.run_once("train {mixed} --out {model} --C 5 --alpha 1 --store {place}/store")

    def run_once(self, words: str) -> None:
        """Run a command that has to succeed."""
        ended = self.run(self.words(Command("", words)))
        if ended.code != 0:
            raise RuntimeError(f"{words}: exit code {ended.code}: {ended.said}")

    def words(self, command: Command, places: Mapping[str, Path] | None = None) -> list[str]:
        """Return the arguments of a command, with some of the places set to others."""
        known = {**self.places, "out": self.place / command.out, **(places or {})}
        return [word.format_map(known) for word in command.words.split()]

    def run(self, words: list[str], stop: Callable[[int], None] | None = None) -> Ended:
        """Run a command in a process; ``stop`` is given its number when it has begun."""
        ready, begun = os.pipe()
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            os.close(ready)
            self._be(words, begun)
        os.close(begun)
        os.read(ready, 1)
        os.close(ready)
        if stop is not None:
            stop(child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = " ".join(self._log.read_text(errors="replace").split())
        return Ended(code, said, time.monotonic() - begin)

    def _be(self, words: list[str], begun: int) -> None:
        """Be the process of a command, to its end."""
        code = 1
        try:
            os.setsid()
            log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(log, stream)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            use_toys()
            sys.modules["__main__"] = toys  # what processes of the command begin with
            sys.argv = ["multiutility", *words]
            os.write(begun, b".")
            os.close(begun)
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def contents(*folders: Path) -> Contents:
    """Return all files of folders, hidden ones too, and where links lead."""
    return {str(path): content(path) for folder in folders for path in found(folder)}


def found(folder: Path) -> Iterator[Path]:
    """All that is in a folder but folders, or the file itself."""
    if not folder.is_dir() or folder.is_symlink():
        yield from [folder] if os.path.lexists(folder) else []
        return
    yield from (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def content(path: Path) -> bytes | str:
    """Return what is in a file, or where a link leads."""
    return os.readlink(path) if path.is_symlink() else path.read_bytes()


def differences(found: Contents, wanted: Contents, below: Path) -> list[str]:
    """Name files that are not as wanted."""
    names = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
    how = {(True, False): "is too much", (False, True): "is gone", (True, True): "differs"}
    return [f"{os.path.relpath(name, below)} {how[name in found, name in wanted]}" for name in names]
