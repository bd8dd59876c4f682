"""Constants of learning at half and twice their values: ``python benchmarks/constants.py DATASET...``.

A third of the training images is held out. From the others, with no masks or with five, weak annotations are
read as in training; the learner's stand-in, fitted to what was read, is judged by these. The table has the
change of the mean of accuracy, mean recall and mean IoU, in points.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

from multiutility.annotations import expected
from multiutility.arrays import FloatArray
from multiutility.experiments.study import Fold, Setup, Study
from multiutility.kinds.kind import nearest
from multiutility.kinds.mask import label_histograms
from multiutility.learning import fitting, multi_utility
from multiutility.learning.examples import Example
from multiutility.learning.selection import (
    choice,
    evidence,
    masks,
    points,
    reading,
    regression,
    stand_in,
    trials,
    unmasked,
)
from multiutility.learning.selection.choice import Choice, Data
from multiutility.learning.selection.choose import choose
from multiutility.learning.selection.evidence import confusion, scores
from multiutility.learning.selection.learned import Learn
from multiutility.learning.selection.stand_in import fit_hinges
from multiutility.learning.starts import locality, soft, soft_labels
from multiutility.vision.learning import without_advice
from multiutility.vision.segmenter import Segmenter

# Constants by module; those of functions' arguments are changed where the function is called.
NAMES: dict[ModuleType, Sequence[str]] = {
    soft: ("BALANCE",),
    soft_labels: ("CERTAIN", "LEAST", "LEAST_COVERED"),
    locality: ("TELLING",),
    reading: ("FIRM", "LEAST_LOG"),
    fitting: ("LOOSE",),
    expected: ("TILT",),
    evidence: ("TOLERATED",),
    masks: ("RIDGES",),
    trials: ("ALPHAS",),
    unmasked: ("UNJUDGED", "FALL", "REACHES"),
    points: ("FAVOR",),
    choice: ("RIDGE", "FEW", "MANY", "GUESSED", "MOST_WEAK"),
    regression: ("N_AXES", "FREE"),
    stand_in: ("ROUNDED",),
}
ARGUMENTS: dict[str, Any] = {
    "sharpness": soft.SHARPNESS,
    "locality": 5.0,
    "n_iterations": 15,
    "shrinkage": (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 5e-4, 5e-4),
}


Start: TypeAlias = Callable[..., Any]


class CapturedError(Exception):
    """What learning begins with was captured."""


def captured(study: Study, kinds: str, n_masks: int) -> tuple[list[Example], Sequence[Any], Learn]:
    """Return the examples, rehearsals and rough learner that training would choose by."""
    kept: list[Any] = []

    def keep(examples: Any, rehearsals: Any, *others: Any) -> Choice:
        kept.extend((examples, rehearsals, others[-1]))
        raise CapturedError

    training = study.training_set(kinds, study.choice(kinds, n_masks, 0))
    with patch.object(multi_utility, "choose", keep), without_advice(), suppress(CapturedError):
        Segmenter(training.preset.preset).fit_prepared(training)
    return kept[0], kept[1], kept[2]


def score(
    study: Study, examples: list[Example], rehearsals: Sequence[Any], learn: Learn, start: Start
) -> float:
    """Mean of the measures on held-out images, in points."""
    chosen = choose(examples, rehearsals, start, learn=learn)
    full = [n for n, one in enumerate(examples) if one.annotation.strong]
    weak = [n for n, one in enumerate(examples) if not one.annotation.strong]
    data = Data(examples, full, weak)
    parts = [regression.Targets(data.features(n), choice.truth_of(examples[n])) for n in full]
    if chosen.alpha:
        for n in weak:
            posterior = chosen.posteriors[n]
            assert posterior is not None
            parts.append(data.targets(n, posterior).times(chosen.alpha))
    weights = fit_hinges(parts, choice.RIDGE, chosen.balance or 0.0)
    found = [
        confusion(truth, (data.space(one.problem) @ weights.T.astype(np.float32)).argmax(axis=1))
        for one, truth in zip(study.test.prepared, truths(study), strict=True)
    ]
    return 100 * float(scores(np.sum(found, axis=0)).mean())


def truths(study: Study) -> list[FloatArray]:
    """Sizes of the true labels of the held-out images' regions, which add up to 1."""
    found = []
    for one, mask in zip(study.test.prepared, study.test.images.masks, strict=True):
        # Large photos have fewer pixels in learning than their masks.
        sizes = label_histograms(nearest(mask, one.regions.shape), one.regions, len(study.classes))
        found.append(sizes / max(float(sizes.sum()), 1.0))
    return found


def settings() -> Iterator[tuple[str, Any]]:
    """Yield names of constants with a context in which each is changed by a factor."""
    for module, names in NAMES.items():
        for name in names:
            yield name.lower(), partial(changed, module, name)
    for name, value in ARGUMENTS.items():
        yield name, partial(with_argument, name, value)


@contextmanager
def changed(module: ModuleType, name: str, factor: float) -> Iterator[Start]:
    """Multiply a constant by a factor, wherever it is known."""
    value = scaled(getattr(module, name), factor)
    with ExitStack() as stack:
        for one in NAMES:
            if hasattr(one, name):
                stack.enter_context(patch.object(one, name, value))
        yield soft.soft_start


@contextmanager
def with_argument(name: str, value: Any, factor: float) -> Iterator[Start]:
    """Multiply an argument of the soft start by a factor."""
    yield partial(soft.soft_start, **{name: scaled(value, factor)})


def scaled(value: Any, factor: float) -> Any:
    """Multiply a number, or all of a sequence; what counts stays whole."""
    if isinstance(value, tuple):
        return tuple(scaled(one, factor) for one in value)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--mixes", default="tags+boxes:0,points:0,tags+boxes:5")
    options = parser.parse_args()
    cells = []
    for data in options.data:
        study = Study.open(
            Setup(data, "train", "train", "deep", "msrc21", store=options.store, fold=Fold(0, 3))
        )
        for mix in options.mixes.split(","):
            kinds, n_masks = mix.split(":")
            what = captured(study, kinds, int(n_masks))
            base = score(study, *what, soft.soft_start)
            cells.append((f"{data.name}, {kinds}, {n_masks} masks", study, what, base))
    print("| constant | " + " | ".join(f"{cell[0]} ({cell[-1]:.1f})" for cell in cells) + " |", flush=True)
    print("| --- |" + " --- |" * len(cells), flush=True)
    for name, context in settings():
        row = []
        for _, study, what, base in cells:
            differences = []
            for factor in (0.5, 2.0):
                with context(factor) as start:
                    differences.append(f"{score(study, *what, start) - base:+.1f}")
            row.append(" / ".join(differences))
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
