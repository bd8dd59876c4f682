"""Attack the package for some minutes: ``python benchmarks/attack.py --minutes 10``; see README.md.

Prints what was tried and what failed; the exit code is 1 if anything did. Every attempt is determined by the
part, the seed and its number, so that each failure can be had again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from attacks import energies, flips, formats, kills, overwrites
from attacks.runner import Part, Tally, run

PARTS = (energies.PART, formats.PART, flips.PART, kills.PART, overwrites.PART)


def numbered(seconds: float) -> Iterator[int]:
    """Yield numbers of attempts until the time is up."""
    end = time.monotonic() + seconds
    for number in count():
        if time.monotonic() > end:
            return
        yield number


def numbers_of(part: Part, options: argparse.Namespace, total: float) -> Iterator[int]:
    """Return the numbers of the attempts that a part makes."""
    if options.attempt is not None:
        return iter([options.attempt])
    if options.quick:
        return iter(range(part.short))
    if options.attempts is not None:
        return iter(range(options.attempts))
    return numbered(60 * options.minutes * part.share / total)


def report(part: Part, tally: Tally, seed: int) -> None:
    """Print what came of a part."""
    counts = ", ".join(f"{n:,} {name}" for name, n in sorted(tally.counts.items()))
    slowest = f", slowest {tally.slowest:.1f} x a benign call" if tally.slowest else ""
    print(
        f"{part.name}: {tally.attempts:,} attempts in {tally.seconds:.0f} s, {len(tally.failures)} failures"
        f"{slowest}{' (' + counts + ')' if counts else ''}",
        flush=True,
    )
    again = f"python benchmarks/attack.py --only {part.name} --seed {seed}"
    for number, what in tally.failures:
        print(f"  {what}\n    {again} --attempt {number}", flush=True)


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description="Attack the package, and list what fails.")
    parser.add_argument("--minutes", type=float, default=10, help="time for all parts together")
    parser.add_argument("--only", choices=[part.name for part in PARTS], action="append", help="parts to run")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same attempts")
    parser.add_argument("--jobs", type=int, default=1, help="processes that attack at the same time")
    parser.add_argument("--attempts", type=int, help="so many of each part, whatever time they take")
    parser.add_argument("--attempt", type=int, help="only the attempt of this number")
    parser.add_argument("--quick", action="store_true", help="the few attempts that the tests make")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the attack, and return the exit code."""
    options = parsed(arguments)
    known = (energies.UNTIMED, *PARTS[1:]) if options.quick else PARTS
    parts = [part for part in known if not options.only or part.name in options.only]
    total, failures = sum(part.share for part in parts), 0
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        for part in parts:
            numbers = numbers_of(part, options, total)
            tally = run(part, options.seed, numbers, Path(folder, part.name), options.jobs)
            report(part, tally, options.seed)
            failures += len(tally.failures)
    print(f"{failures} failures" if failures else "No failures.")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
