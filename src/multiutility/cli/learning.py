"""Commands that learn: ``prepare``, ``tune`` and ``train``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import guarded, show_json, stages, tell
from multiutility.cli.options import (
    AlphaOption,
    BetaOption,
    ClassWeight,
    ClassWeightOption,
    COption,
    DatasetArgument,
    Features,
    FeaturesOption,
    JobsOption,
    JsonOption,
    Metric,
    RandomStateOption,
    SplitOption,
    StoreOption,
    SuperpixelsOption,
    default_store,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.cli.tables import show_tuning
from multiutility.vision import defaults

if TYPE_CHECKING:
    from multiutility.datasets.folder import DatasetFolder


@guarded
def train(
    folder: DatasetArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the model goes.")] = Path(
        "model.safetensors"
    ),
    split: SplitOption = None,
    C: COption = defaults.C,  # noqa: N803
    alpha: AlphaOption = defaults.ALPHA,
    beta: BetaOption = defaults.BETA,
    class_weight: ClassWeightOption = ClassWeight.none,
    features: FeaturesOption = Features.deep,
    superpixels: SuperpixelsOption = None,
    store: StoreOption = None,
    random_state: RandomStateOption = 0,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Learn from all annotated images of a dataset, and write the model to a file.

    Without --split, the split [b]train[/b] is used if there is one, else all images.

    Example: [b]multiutility train DIR --split train --out model.safetensors[/b]
    """
    from multiutility.vision.segmenter import Segmenter

    check_writable(out)
    begin, dataset = time.perf_counter(), training_part(folder, split)
    with stages() as note:
        model = Segmenter(
            features=features.value,
            C=C,
            alpha=alpha,
            beta=beta,
            class_weight="balanced" if class_weight is ClassWeight.balanced else None,
            n_superpixels=superpixels,
            random_state=random_state,
            n_jobs=cores(jobs),
            store=store or default_store(),
            progress=note,
        ).fit(dataset)
        model.save(out)
    seconds = time.perf_counter() - begin
    objective = float(model.objective_["primal"][-1])
    if json:
        counts = {"n_images": model.n_images_, "n_classes": len(dataset.classes)}
        show_json({"model": str(out), **counts, "objective": objective, "seconds": round(seconds, 3)})
    else:
        tell(f"{out}: learned from {model.n_images_} images in {seconds:.0f} s, objective {objective:.4g}")


@guarded
def prepare(
    folder: DatasetArgument,
    split: SplitOption = None,
    features: FeaturesOption = Features.deep,
    superpixels: SuperpixelsOption = None,
    store: StoreOption = None,
    random_state: RandomStateOption = 0,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Compute the features of training images and keep them, so that [b]train[/b] finds them.

    Example: [b]multiutility prepare DIR --split train --features deep[/b]
    """
    from multiutility.vision.segmenter import Segmenter
    from multiutility.vision.training_set import annotated_photos

    begin, dataset, place = time.perf_counter(), training_part(folder, split), store or default_store()
    with stages() as note:
        model = Segmenter(
            features=features.value,
            n_superpixels=superpixels,
            random_state=random_state,
            n_jobs=cores(jobs),
            store=place,
            progress=note,
        )
        training = model.prepare(annotated_photos(dataset), dataset.classes)
    seconds, n_images = time.perf_counter() - begin, len(training.prepared)
    if json:
        show_json({"store": str(place), "n_images": n_images, "seconds": round(seconds, 3)})
    else:
        tell(f"{place}: features of {n_images} images, in {seconds:.0f} s")


@guarded
def tune(
    folder: DatasetArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Keeps the scores.")] = Path(
        "tuning.json"
    ),
    split: SplitOption = None,
    metric: Annotated[
        Metric, typer.Option("--metric", help="What to look for on held-out masks.")
    ] = Metric.accuracy,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts of the images that take turns.")] = 3,
    class_weight: ClassWeightOption = ClassWeight.none,
    features: FeaturesOption = Features.deep,
    superpixels: SuperpixelsOption = None,
    store: StoreOption = None,
    random_state: RandomStateOption = 0,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Find the best C, alpha and beta by cross-validation on training images.

    Takes many times as long as [b]train[/b]; after Ctrl-C, the same command goes on where it was.

    Example: [b]multiutility tune DIR --split train[/b]
    """
    from multiutility.experiments.tune import Tuner
    from multiutility.vision.segmenter import Segmenter
    from multiutility.vision.training_set import annotated_photos

    check_writable(out)
    dataset = training_part(folder, split)
    with stages() as note:
        model = Segmenter(
            features=features.value,
            class_weight="balanced" if class_weight is ClassWeight.balanced else None,
            n_superpixels=superpixels,
            random_state=random_state,
            n_jobs=cores(jobs),
            store=store or default_store(),
            progress=note,
        )
        training = model.prepare(annotated_photos(dataset), dataset.classes)
        tuner = Tuner(model, n_folds=folds, metric=metric.value, log=out, progress=note)
        found = tuner.tune(training)
    if json:
        show_json(found.to_dict())
    else:
        show_tuning(found.to_dict())
        best = " ".join(f"--{name} {value:g}" for name, value in found.best.items())
        tell(f"Best: multiutility train {folder} {best}", "bold")


def training_part(folder: Path, split: str | None) -> DatasetFolder:
    """Return the split, or ``train`` if there is one, or all images."""
    dataset = opened(folder, split)
    if split is None and "train" in dataset.splits:
        tell("Using the split train (--split names another one).")
        return dataset.split("train")
    return dataset


def check_writable(out: Path) -> None:
    """Raise now rather than after minutes of learning."""
    if out.is_dir():
        raise ValueError(
            f"{out}: is a folder; give the name of a file, as in --out {out / 'model.safetensors'}"
        )
    if not os.access(out.resolve().parent, os.W_OK):
        raise ValueError(
            f"{out}: its folder does not exist, or cannot be written to; make it, or give another"
        )
