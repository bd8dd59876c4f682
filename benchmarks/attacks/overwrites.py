"""Outputs set to inputs, and files of others in the way of outputs: their bytes stay as they were."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from attacks.commands import COMMANDS, MODEL, Bench, Command, contents, differences
from attacks.runner import Attempt, Outcome, Part
from multiutility.outputs import MANIFEST

TARGETS = (
    *("toy", "toy/images", "toy/masks", "toy/splits", "toy/classes.csv", "toy/images/picture00.png"),
    *("mixed", "mixed/images", "mixed/tags.csv", "coco", "coco/annotations", MODEL, "."),
)
"""Places in the folder of inputs that an output is set to."""

OWN = ("store", "out/cells")
"""Folders of hashes, whose files are made anew when they are not what they should be."""

CODES = (0, 2)


def begin(folder: Path) -> Attempt:
    """Make datasets and a model; what commands write is known when they were first chosen."""
    bench = Bench(folder)
    written: dict[str, list[str]] = {}
    # Without them, all inputs are files of somebody else; commands may replace their own.
    for manifest in list(bench.inputs.rglob(MANIFEST)):
        manifest.unlink()
    shutil.copytree(bench.inputs, folder / "kept")

    def attempt(rng: np.random.Generator) -> Outcome:
        command = COMMANDS[int(rng.integers(len(COMMANDS)))]
        for place in (bench.inputs, bench.place):
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder / "kept", bench.inputs)
        bench.place.mkdir()
        if rng.random() < 0.4:
            return onto_input(bench, command, rng)
        if command.name not in written:
            bench.run(bench.words(command))
            written[command.name] = outputs(bench.place)
            shutil.rmtree(bench.place)
            bench.place.mkdir()
        return in_the_way(bench, command, written[command.name], rng)

    return attempt


def outputs(place: Path) -> list[str]:
    """Return the files that a command has written for its user."""
    names = sorted(str(Path(name).relative_to(place)) for name in contents(place))
    return [name for name in names if not name.startswith(OWN)]


def onto_input(bench: Bench, command: Command, rng: np.random.Generator) -> Outcome:
    """Set the output of a command to an input, or to a part of one."""
    # A model is no input of training, which may replace one of its own.
    targets = [target for target in TARGETS if target != MODEL or "{model}" in command.words]
    target = str(rng.choice(targets))
    words = bench.words(command, {"out": bench.inputs / target})
    return compare(bench, command, words, rng, f"the output is {target}")


def in_the_way(bench: Bench, command: Command, names: list[str], rng: np.random.Generator) -> Outcome:
    """Put something of the user's where a command writes a file."""
    if not names:
        return Outcome()
    name = str(rng.choice(names))
    path, own = bench.place / name, bench.inputs / "own" / "diary.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    own.parent.mkdir()
    own.write_bytes(b"dear diary")
    ways: dict[str, Callable[[], object]] = {
        "a file": lambda: path.write_bytes(b"of the user's"),
        "a photo": lambda: shutil.copy(bench.inputs / "toy" / "images" / "picture00.png", path),
        "a folder": lambda: shutil.copytree(own.parent, path),
        "a link": lambda: path.symlink_to(own),
    }
    way = str(rng.choice([*ways]))
    ways[way]()
    return compare(bench, command, bench.words(command), rng, f"{way} is at {name}")


def compare(bench: Bench, command: Command, words: list[str], rng: np.random.Generator, what: str) -> Outcome:
    """Run the command, and compare what was there before."""
    outcome, before = Outcome(), contents(bench.inputs, bench.place)
    words += command.resume.split() if rng.random() < 0.3 else []
    ended = bench.run(words)
    after = contents(bench.inputs, bench.place)
    different = differences({name: after[name] for name in before if name in after}, before, bench.inputs)
    said = f"{command.name}: {what}"
    outcome.check(not different, f"{said}: {', '.join(different[:4])} (exit code {ended.code})")
    outcome.check(ended.code in CODES, f"{said}: exit code {ended.code}: {ended.said[-300:]}")
    outcome.check("Traceback" not in ended.said, f"{said}: a traceback: {ended.said[-300:]}")
    outcome.counts["written" if ended.code == 0 else "refused"] += 1
    return outcome


PART = Part("overwrites", begin, share=0.1, short=4, patience=120)
