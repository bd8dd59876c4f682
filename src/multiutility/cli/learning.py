"""Commands that learn: ``prepare``, ``tune`` and ``train``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import guarded, guarded_resumable, show_json, stages, tell
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
    Protocol,
    RandomStateOption,
    SetOption,
    SkipBadOption,
    SplitOption,
    StoreOption,
    SuperpixelsOption,
    check_writable,
    default_store,
    numbers,
    parsed,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.cli.tables import show_skipped, show_tuning
from multiutility.files import remove_leftovers
from multiutility.vision import defaults

if TYPE_CHECKING:
    from multiutility.cli.messages import Stages
    from multiutility.datasets.classes import Classes
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.datasets.soundness import Skipped
    from multiutility.experiments.supervision import Weakening
    from multiutility.vision.training_set import AnnotatedPhoto


@guarded_resumable
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
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where an interrupted training was; the result is the same."),
    ] = False,
    skip_bad: SkipBadOption = False,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Learn from all annotated images of a dataset, and write the model to a file.

    Without --split, the split [b]train[/b] is used if there is one, else all images. The state of learning is
    kept in FILE.checkpoint until the model is written.

    Example: [b]multiutility train DIR --split train --out model.safetensors[/b]
    """
    from multiutility.vision.segmenter import Segmenter

    check_writable(out)
    checkpoint = find_checkpoint(out, resume)
    begin, dataset = time.perf_counter(), training_part(folder, split)
    with stages() as note:
        dataset, skipped = usable(dataset, skip_bad, cores(jobs), note)
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
            checkpoint=checkpoint,
            progress=note,
        ).fit(dataset)
        model.save(out)
    seconds = time.perf_counter() - begin
    objective = float(model.objective_["primal"][-1])
    if json:
        counts = {"n_images": model.n_images_, "n_classes": len(dataset.classes)}
        found = {"model": str(out), **counts, "objective": objective, "seconds": round(seconds, 3)}
        show_json({**found, "skipped": [one.to_dict() for one in skipped]})
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
    skip_bad: SkipBadOption = False,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Compute the features of training images and keep them, so that [b]train[/b] finds them.

    After an interruption, the same command goes on where it was.

    Example: [b]multiutility prepare DIR --split train --features deep[/b]
    """
    from multiutility.vision.segmenter import Segmenter
    from multiutility.vision.training_set import annotated_photos

    begin, dataset, place = time.perf_counter(), training_part(folder, split), store or default_store()
    with stages() as note:
        dataset, skipped = usable(dataset, skip_bad, cores(jobs), note)
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
        found = {"store": str(place), "n_images": n_images, "seconds": round(seconds, 3)}
        show_json({**found, "skipped": [one.to_dict() for one in skipped]})
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
        Metric, typer.Option("--metric", help="What to look for on held-out masks; mean: of the first two.")
    ] = Metric.accuracy,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts of the images that take turns.")] = 3,
    weaken: Annotated[
        str | None,
        typer.Option(
            "--weaken",
            metavar="KINDS",
            help="Learn from tags, tags+boxes, tags+seeds or tags+boxes+seeds in place of masks (none: leave "
            "images without their masks out); held-out images are judged by their masks.",
        ),
    ] = None,
    keep_masks: Annotated[
        int, typer.Option("--keep-masks", metavar="N", min=0, help="Masks that --weaken leaves.")
    ] = 0,
    protocol: Annotated[
        Protocol | None,
        typer.Option("--protocol", help="Read masks as in experiments; images without one are left out."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="NAME=VALUES", help="Values to try, as C=1,3,10; also alpha, beta."),
    ] = None,
    set_: SetOption = None,
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

    For weak annotations, on images with masks: [b]multiutility tune DIR --weaken tags+boxes[/b]
    """
    from multiutility.experiments.tune import GRID, Tuner
    from multiutility.vision.segmenter import Segmenter

    check_writable(out)
    dataset, values = training_part(folder, split), {**GRID, **grid_of(grid or [])}
    with stages() as note:
        model = Segmenter(
            features=features.value,
            class_weight="balanced" if class_weight is ClassWeight.balanced else None,
            n_superpixels=superpixels,
            random_state=random_state,
            n_jobs=cores(jobs),
            store=store or default_store(),
            progress=note,
        ).set_params(**parsed(set_ or []))
        name = None if protocol is None else protocol.value
        photos, classes, weakening = tuning_images(dataset, name, weaken, keep_masks, random_state)
        training = model.prepare(photos, classes)
        tuner = Tuner(model, values, n_folds=folds, metric=metric.value, log=out, progress=note)
        found = tuner.tune(training, weakening)
    if json:
        show_json(found.to_dict())
    else:
        show_tuning(found.to_dict())
        best = " ".join(f"--{name} {value:g}" for name, value in found.best.items())
        tell(f"Best: multiutility train {folder} {best}", "bold")


def tuning_images(
    dataset: DatasetFolder, protocol: str | None, kinds: str | None, keep: int, random_state: int
) -> tuple[list[AnnotatedPhoto], Classes, Weakening | None]:
    """Return images to tune on, with their classes, and how they are weakened."""
    from multiutility.experiments.protocols import rules_of
    from multiutility.experiments.supervision import LabeledImages, Weakening
    from multiutility.vision.training_set import annotated_photos

    if protocol is None and kinds is None:
        return annotated_photos(dataset), dataset.classes, None
    images = LabeledImages(dataset, rules_of(protocol, dataset.classes))
    weakening = None if kinds is None else Weakening(images, kinds, keep, random_state)
    return images.full(), images.classes, weakening


def grid_of(texts: list[str]) -> dict[str, list[float]]:
    """Return values to try, of texts such as ``C=1,3``.

    >>> grid_of(["C=1,3"])
    {'C': [1.0, 3.0]}
    """
    found = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name not in ("C", "alpha", "beta"):
            raise ValueError(f"--grid {text!r}: expected values of C, alpha or beta, such as C=1,3,10")
        found[name] = numbers("--grid", values)
    return found


def training_part(folder: Path, split: str | None) -> DatasetFolder:
    """Return the split, or ``train`` if there is one, or all images."""
    dataset = opened(folder, split)
    if split is None and "train" in dataset.splits:
        tell("Using the split train (--split names another one).")
        return dataset.split("train")
    return dataset


def usable(
    dataset: DatasetFolder, skip_bad: bool, n_jobs: int, note: Stages
) -> tuple[DatasetFolder, list[Skipped]]:
    """Return the annotated images that can be learned from; unless others are skipped, raise if there are."""
    from multiutility.datasets.soundness import check_all, check_head, sound_part

    annotated = dataset.select(sample.name for sample in dataset if sample.kinds)
    progress = partial(note, "checking")
    if not skip_bad:
        check_all(list(annotated), check_head, n_jobs, progress)
        return dataset, []
    part, skipped = sound_part(annotated, n_jobs, progress)
    show_skipped(skipped)
    if skipped and not part.names:
        raise ValueError(f"{dataset.path}: none of its annotated images can be used")
    return part, skipped


def find_checkpoint(out: Path, resume: bool) -> Path:
    """Return where the state of learning is kept; raise if there is one that would be lost."""
    remove_leftovers(out)
    path = out.with_name(f"{out.name}.checkpoint")
    if path.exists() and not resume:
        fix = "add --resume to go on from there, or remove it to begin anew"
        raise ValueError(f"{path}: left by a training that was interrupted; {fix}")
    if resume and not path.exists():
        tell(f"{path}: there is none, so that training begins anew.")
    return path
