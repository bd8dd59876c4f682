"""Pictures that go with datasets and evaluations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.images import write_image
from multiutility.vision.evaluation import Evaluation, predictions
from multiutility.vision.predictor import Predictor
from multiutility.vision.render import (
    COMPARED,
    compare,
    confusion_picture,
    gallery,
    legend,
    samples_picture,
    stack,
)
from multiutility.vision.store import FeatureStore

# What an evaluation saves.
PICTURES = CONFUSION, GALLERY = "confusion.png", "gallery.png"
# Images in a gallery of best and worst, of each.
SHOWN = 6


def save_samples(dataset: DatasetFolder, path: Path, n_samples: int = 12) -> None:
    """Draw some images, evenly taken of those that are annotated if any is, and save them as one picture."""
    annotated = [sample for sample in dataset if sample.kinds] or list(dataset)
    places = np.linspace(0, len(annotated) - 1, min(n_samples, len(annotated))).round().astype(int)
    chosen = [annotated[place] for place in places.tolist()]
    samples = [(sample.name, sample.image(), sample.annotation()) for sample in chosen]
    write_image(path, samples_picture(samples, dataset.classes))


def save_evaluation(
    evaluation: Evaluation,
    predictor: Predictor,
    dataset: DatasetFolder,
    folder: Path,
    n_jobs: int = 1,
    store: FeatureStore | None = None,
) -> None:
    """Save ``confusion.png``, and ``gallery.png`` with the best and the worst images."""
    folder.mkdir(parents=True, exist_ok=True)
    write_image(folder / CONFUSION, confusion_picture(evaluation.matrix, evaluation.names))
    ranked = evaluation.ranked()
    n_best = min(SHOWN, (len(ranked) + 1) // 2)
    n_worst = min(SHOWN, len(ranked) - n_best)
    chosen = ranked[:n_best] + ranked[len(ranked) - n_worst :]
    rows: list[list[NDArray[np.uint8]]] = []
    captions: list[str] = []
    known = known_values(dataset.classes, predictor.classes)
    for sample, prediction in predictions(predictor, dataset.select(chosen), n_jobs, store):
        truth = sample.mask()
        if truth is not None:
            rows.append(compare(sample.image(), truth, known[prediction.mask], dataset.classes.palette))
            kind = "best" if len(captions) < n_best else "worst"
            captions.append(f"{kind}: {sample.name}, accuracy {evaluation.accuracies[sample.name]:.1%}")
    picture = gallery(rows, COMPARED, captions)
    write_image(folder / GALLERY, stack([picture, legend(dataset.classes, width=picture.shape[1])]))


def known_values(of_dataset: Classes, of_model: Classes) -> NDArray[np.uint8]:
    """Mask values in the dataset for those of the model; void for classes that only the model has."""
    names = of_model.names
    values = [of_dataset.label(name) + 1 if name in of_dataset.names else 0 for name in names]
    return np.array([0, *values], dtype=np.uint8)
