"""The comparison to self-training, after Kumar et al.: five masks, and tags and boxes on all other images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.images import write_image
from multiutility.experiments.cells import Cell, CellResult
from multiutility.experiments.methods import OURS, SELF_STRONG, SELF_WEAK
from multiutility.experiments.plots import Dots, dots
from multiutility.experiments.report import Check, Report, Sheet, pair_of, text_of
from multiutility.experiments.study import Study
from multiutility.kinds.drawing import overlay, paint
from multiutility.learning.selection.choice import evenly
from multiutility.markdown import table
from multiutility.vision.model_file import refinement_of
from multiutility.vision.predictor import Predictor
from multiutility.vision.render import gallery, legend, stack

KINDS, FEW = "tags+boxes", 5
METHODS = (OURS, SELF_STRONG, SELF_WEAK)
# Of the same cell: row 4, column 2 of table 2.
PAPER = (0.606, 0.546)
# Test images to show, from the best to the worst of ours.
N_SHOWN = 6


class SelfTrainingComparison:
    """Ours, and both variants of self-training, on the same subsets."""

    title = "Simultaneous minimization and self-training"

    def cells(self, study: Study) -> list[Cell]:
        """All methods on all subsets."""
        return [Cell(KINDS, FEW, seed, method) for method in METHODS for seed in study.setup.seeds]

    def quick_cells(self, study: Study) -> list[Cell]:
        """All methods on one subset."""
        return [Cell(KINDS, FEW, study.setup.seeds[0], method) for method in METHODS]

    def report(self, sheet: Sheet, study: Study) -> Report:
        """A table, and whether ours is the best."""
        runs = {method: sheet.runs(KINDS, FEW, method) for method in METHODS}
        rows = [[method, text_of(one)] for method, one in runs.items()]
        if study.setup.protocol == "paper":
            rows.append(["ours in the paper (MSRC's test split)", f"{PAPER[0]:.3f} / {PAPER[1]:.3f}"])
        checks = []
        for method in METHODS[1:]:
            claim = f"Simultaneous minimization beats {method} on both measures"
            if runs[OURS] and runs[method]:
                gain = runs[method].gain(runs[OURS])
                checks.append(Check(claim, gain.accuracy > 0 and gain.mean_recall > 0, str(gain)))
            else:
                checks.append(Check(claim, None))
        note = (
            f"{FEW} masks, tags and boxes on all other images. Self-training learns from the masks, imputes "
            "once, and learns again: by the Hamming loss to what was imputed, or by the losses of the "
            "annotations."
        )
        draw = dots(METHODS, [Dots("", [pair_of(one) for one in runs.values()])], self.title)
        return Report(
            self.title, [table(["method", "accuracy / mean recall"], rows), note], checks, {"": draw}
        )


class Qualitative(SelfTrainingComparison):
    """Pictures of test images, labeled by ours and by both variants."""

    title = "Pictures"

    def cells(self, study: Study) -> list[Cell]:
        """All methods on the first subset."""
        return self.quick_cells(study)

    def report(self, sheet: Sheet, study: Study) -> Report:
        """Pictures side by side, from the best of ours to its worst."""
        results = {method: sheet.runs(KINDS, FEW, method).results[0] for method in METHODS}
        heads = ["image", "truth", *METHODS]
        scores = [f"{text_of(sheet.runs(KINDS, FEW, method))} ({method})" for method in METHODS]
        note = f"Columns: {', '.join(heads)}. Accuracy / mean recall: {'; '.join(scores)}."
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
