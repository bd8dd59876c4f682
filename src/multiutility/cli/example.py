"""The command ``demo``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiutility.cli.messages import guarded, show_json, stages, tell
from multiutility.cli.options import JobsOption, JsonOption, OverwriteOption, RandomStateOption
from multiutility.cli.options import n_jobs as cores


@guarded
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the report goes.")] = Path(
        "demo"
    ),
    random_state: RandomStateOption = 0,
    overwrite: OverwriteOption = False,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Learn from generated scenes with a mix of annotations, and write a report with pictures and scores.

    Takes about a minute and needs no network.

    Example: [b]multiutility demo --out demo[/b], then open demo/report.html
    """
    from multiutility.demo.run import run_demo

    with stages() as note:
        scores = run_demo(
            out, random_state=random_state, n_jobs=cores(jobs), progress=note, overwrite=overwrite
        )
    if json:
        show_json(scores)
    tell(f"Report: {out / 'report.html'}")
