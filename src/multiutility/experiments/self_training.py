"""The comparison to self-training, after Kumar et al.: five masks, and tags and boxes on all other images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.images import write_image
from multiutility.experiments.cells import Cell, CellResult
from multiutility.experiments.methods import OURS, SELF_STRONG, SELF_WEAK
from multiutility.experiments.plots import Dots, dots
from multiutility.experiments.report import Changes, Check, Report, Runs, Sheet, pair_of, text_of
from multiutility.experiments.study import Study
from multiutility.kinds.drawing import overlay, paint
from multiutility.learning.multi_utility import ALPHA
from multiutility.learning.selection.choice import evenly
from multiutility.markdown import table
from multiutility.vision.model_file import refinement_of
from multiutility.vision.predictor import Predictor
from multiutility.vision.render import gallery, legend, stack

KINDS, FEW = "tags+boxes", 5
METHODS = (OURS, SELF_STRONG, SELF_WEAK)
# Parameters of the paper. All begin with what the model of the masks imputes.
LIKE_PAPER = (("alpha", ALPHA), ("class_weight", 0.0), ("method", "paper"))
# From each to the next, one thing is changed: the iterations, then the losses.
PAPERS = "the paper's minimization"
ONE_THING: Mapping[str, tuple[str, Changes]] = {
    PAPERS: (OURS, LIKE_PAPER),
    "one iteration of it: self-training, losses of the annotations": (SELF_WEAK, LIKE_PAPER),
    "self-training, Hamming loss to what was imputed": (SELF_STRONG, LIKE_PAPER),
}
WAYS: Mapping[str, tuple[str, Changes]] = {OURS: (OURS, ()), **ONE_THING}
# Of the same cell: row 4, column 2 of table 2.
PAPER = (0.606, 0.546)
# Test images to show, from the best to the worst of ours.
N_SHOWN = 6


class SelfTrainingComparison:
    """Ours, and the paper's minimization beside both variants of self-training, on the same subsets."""

    title = "Simultaneous minimization and self-training"

    def cells(self, study: Study) -> list[Cell]:
        """All ways on all subsets."""
        return [
            Cell(KINDS, FEW, seed, method, changes)
            for method, changes in WAYS.values()
            for seed in study.setup.seeds
        ]

    def quick_cells(self, study: Study) -> list[Cell]:
        """All ways that are like the paper's, on one subset."""
        seed = study.setup.seeds[0]
        return [Cell(KINDS, FEW, seed, method, changes) for method, changes in ONE_THING.values()]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """A table, and whether simultaneous minimization beats self-training."""
        runs = {name: sheet.runs(KINDS, FEW, *way) for name, way in WAYS.items()}
        rows = [[name, text_of(one)] for name, one in runs.items()]
        if study.setup.protocol == "paper":
            rows.append(["ours in the paper (MSRC's test split)", f"{PAPER[0]:.3f} / {PAPER[1]:.3f}"])
        _, *others = ONE_THING
        checks = [beats(name, runs[PAPERS], runs[name]) for name in others]
        note = (
            f"{FEW} masks, tags and boxes on all other images; accuracy / mean recall / mean IoU. All but "
            "the first begin alike, with what the model of the masks imputes, and have "
            f"alpha = {ALPHA:g} and no class weights. Self-training imputes once and learns again, by the "
            "losses of the annotations or by the Hamming loss to what was imputed; simultaneous "
            "minimization imputes again and again."
        )
        draw = dots(list(WAYS), [Dots("", [pair_of(one) for one in runs.values()])], self.title)
        return Report(self.title, [table(["method", "scores"], rows), note], checks, {"": draw})


def beats(name: str, ours: Runs, other: Runs) -> Check:
    """Check that simultaneous minimization is better than another way on both measures."""
    claim = f"Simultaneous minimization beats {name.removeprefix('one iteration of it: ')} on both measures"
    if not ours or not other:
        return Check(claim, None)
    gain = other.gain(ours)
    return Check(claim, gain.accuracy > 0 and gain.mean_recall > 0, gain.text())


class Qualitative:
    """Pictures of test images, labeled by ours and by both variants."""

    title = "Pictures"

    def cells(self, study: Study) -> list[Cell]:
        """All methods on the first subset."""
        return self.quick_cells(study)

    def quick_cells(self, study: Study) -> list[Cell]:
        """All methods on the first subset."""
        return [Cell(KINDS, FEW, study.setup.seeds[0], method) for method in METHODS]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """Pictures side by side, from the best of ours to its worst."""
        results = {method: sheet.runs(KINDS, FEW, method).results[0] for method in METHODS}
        heads = ["image", "truth", *METHODS]
        scores = [f"{text_of(sheet.runs(KINDS, FEW, method))} ({method})" for method in METHODS]
        note = f"Columns: {', '.join(heads)}. Accuracy / mean recall / mean IoU: {'; '.join(scores)}."
        return Report(self.title, [note], (), {"": Pictures(study, list(results.values())).write})


@dataclass(frozen=True, eq=False)
class Pictures:
    """Test images beside their masks and what models make of them."""

    study: Study
    results: Sequence[CellResult]

    def write(self, path: Path) -> None:
        """Draw and write the pictures."""
        shown = self.chosen()
        columns = [self.masks(result, shown) for result in self.results]
        images, palette = self.study.test.images, self.study.classes.palette
        rows = []
        for place, n in enumerate(shown):
            image = images.samples[n].image()
            drawn = [
                paint(images.masks[n], palette),
                *(overlay(image, one[place], palette) for one in columns),
            ]
            rows.append([image, *drawn])
        titles = ["image", "truth", *(result.cell.method for result in self.results)]
        picture = gallery(rows, titles, [images.names[n] for n in shown])
        write_image(path, stack([picture, legend(self.study.classes, width=picture.shape[1])]))

    def chosen(self) -> list[int]:
        """Return test images from the best of ours to its worst, evenly taken."""
        image, true, given, pixels = self.results[0].outcome.test.entries.T
        n_images = len(self.study.test.images)
        right = np.bincount(image, pixels * (true == given), n_images)
        ranked = np.argsort(-right / np.bincount(image, pixels, n_images), kind="stable")
        return evenly(ranked.tolist(), N_SHOWN)

    def masks(self, result: CellResult, shown: Sequence[int]) -> list[NDArray[np.uint8]]:
        """Return what a model makes of the images."""
        training, test = self.study.training, self.study.test
        model = Predictor(
            self.study.classes,
            training.preset.for_prediction(),
            result.outcome.weights,
            training.max_side,
            typical_margin=1.0,
            refine=refinement_of(result.outcome.about_model["chosen"]["refinement"]),
        )
        prepared = [test.prepared[n] for n in shown]
        labelings = model.labelings(prepared)
        return [
            model.prediction(test.images.photo(n), one, labels).mask
            for n, one, labels in zip(shown, prepared, labelings, strict=True)
        ]
