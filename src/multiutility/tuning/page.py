"""A page about a search for parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from multiutility.datasets.files import replacing
from multiutility.markdown import table
from multiutility.tuning.search import Setting, Tuning, value_text

# Pages of searches are known by it.
BEGINNING = "tuning"


def write_tuning_page(path: Path, command: Sequence[str], tuning: Tuning) -> None:
    """Write the command, the scores of all settings on all folds, and the best setting."""
    with replacing(path) as file:
        file.write(tuning_page(command, tuning).encode())


def tuning_page(command: Sequence[str], tuning: Tuning) -> str:
    """Return the page.

    >>> from multiutility.tuning.search import Trial
    >>> trials = Trial({"C": 1.0}, 0, 0.5), Trial({"C": 1.0}, 1, 0.7), Trial({"C": 3.0}, 0, 0.9)
    >>> print(tuning_page(["multiutility", "tune", "DIR"], Tuning("accuracy", trials)))
    ### Search for parameters
    <BLANKLINE>
    ```
    multiutility tune DIR
    ```
    <BLANKLINE>
    | C | accuracy | by fold |
    | --- | --- | --- |
    | 3 | 0.900 | 0.900 |
    | 1 | 0.600 | 0.500, 0.700 |
    <BLANKLINE>
    """
    names = list(tuning.best)
    rows = [
        [*(value_text(setting[name]) for name in names), f"{mean:.3f}", ", ".join(scores_of(tuning, setting))]
        for setting, mean in tuning.means()
    ]
    parts = [
        "### Search for parameters",
        f"```\n{' '.join(command)}\n```",
        table([*names, tuning.metric, "by fold"], rows),
    ]
    return "\n\n".join(parts) + "\n"


def scores_of(tuning: Tuning, setting: Setting) -> list[str]:
    """Return the scores of a setting, fold by fold."""
    return [f"{trial.score:.3f}" for trial in tuning.trials if trial.setting == setting]
