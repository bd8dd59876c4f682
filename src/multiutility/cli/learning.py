"""Commands that learn: ``prepare`` and ``train``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import guarded, guarded_resumable, show_json, stages, tell
from multiutility.cli.options import (
    SHARDS,
    AlphaOption,
    AreasOption,
    BetaOption,
    ClassWeightOption,
    ClusterOption,
    COption,
    DatasetArgument,
    FeaturesOption,
    HalfOption,
    JobsOption,
    JsonOption,
    LooseBoxesOption,
    MemoryLimitOption,
    Method,
    MethodOption,
    Optimizer,
    OptimizerOption,
    OverwriteOption,
    RandomStateOption,
    ShardsOption,
    SkipBadOption,
    SplitOption,
    StoreOption,
    SuperpixelsOption,
    file_outputs,
    learning_options,
    parts_of,
    store_of,
    workers,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.cli.tables import show_skipped
from multiutility.files import remove_leftovers
from multiutility.locks import holding
from multiutility.outputs import Sources, writing
from multiutility.vision import defaults
from multiutility.vision.features.names import DEFAULT as DEFAULT_FEATURES

if TYPE_CHECKING:
    from multiutility.cli.messages import Stages
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.datasets.soundness import Skipped


@guarded_resumable
def train(
    folder: DatasetArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the model goes.")] = Path(
        "model.safetensors"
    ),
    split: SplitOption = None,
    C: COption = defaults.C,  # noqa: N803
    method: MethodOption = Method.auto,
    alpha: AlphaOption = None,
    beta: BetaOption = defaults.BETA,
    areas: AreasOption = None,
    class_weight: ClassWeightOption = None,
    loose_boxes: LooseBoxesOption = False,
    optimizer: OptimizerOption = Optimizer.frank_wolfe,
    features: FeaturesOption = DEFAULT_FEATURES,
    superpixels: SuperpixelsOption = None,
    store: StoreOption = None,
    half: HalfOption = False,
    memory_limit: MemoryLimitOption = None,
    random_state: RandomStateOption = 0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where an interrupted training was; the result is the same."),
    ] = False,
    skip_bad: SkipBadOption = False,
    overwrite: OverwriteOption = False,
    cluster: ClusterOption = None,
    shards: ShardsOption = SHARDS,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Learn from all annotated images of a dataset, and write the model to a file.

    Without --split, the split [b]train[/b] is used if there is one, else all images. The state of learning is
    kept in FILE.checkpoint until the model is written. Says what was chosen and why, and, if there are masks,
    what scores to expect on new images.

    Example: [b]multiutility train DIR --split train --out model.safetensors[/b]
    """
    from multiutility.kinds.boxes import BOXES, loose
    from multiutility.vision.about import about_lines
    from multiutility.vision.segmenter import Segmenter

    given, sources = learning_options(method, alpha, class_weight, areas), Sources(parts_of(folder))
    outputs, place = file_outputs("train", [out], sources, overwrite), store_of(store, sources)
    begin, dataset = time.perf_counter(), training_part(folder.absolute() if cluster else folder, split)
    with holding(out):
        checkpoint = find_checkpoint(out, resume)
        with workers(cluster, shards) as executor, stages() as note:
            dataset, skipped = usable(dataset, skip_bad, cores(jobs), note)
            if loose_boxes:
                dataset = dataset.changed(BOXES.name, loose)
            model = Segmenter(
                features=features,
                C=C,
                beta=beta,
                optimizer=optimizer.value,
                **given,
                n_superpixels=superpixels,
                random_state=random_state,
                n_jobs=cores(jobs),
                store=place,
                half=half,
                memory_limit=memory_limit,
                checkpoint=checkpoint,
                executor=executor,
                progress=note,
            ).fit(dataset)
            with writing(outputs):
                model.save(out)
    seconds = time.perf_counter() - begin
    objective = float(model.objective_["primal"][-1])
    if json:
        counts = {"n_images": model.n_images_, "n_classes": len(dataset.classes)}
        found = {"model": str(out), **counts, "objective": objective, "seconds": round(seconds, 3)}
        about = {**model.predictor_.about, "told": about_lines(model.predictor_.about)}
        show_json({**found, **about, "skipped": [one.to_dict() for one in skipped]})
    else:
        tell(f"{out}: learned from {model.n_images_} images in {seconds:.0f} s, objective {objective:.4g}")
        for line in about_lines(model.predictor_.about):
            tell(line)


@guarded
def prepare(
    folder: DatasetArgument,
    split: SplitOption = None,
    features: FeaturesOption = DEFAULT_FEATURES,
    superpixels: SuperpixelsOption = None,
    store: StoreOption = None,
    half: HalfOption = False,
    random_state: RandomStateOption = 0,
    skip_bad: SkipBadOption = False,
    cluster: ClusterOption = None,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Compute the features of training images and keep them, so that [b]train[/b] finds them.

    After an interruption, the same command goes on where it was.

    Example: [b]multiutility prepare DIR --split train --features deep[/b]
    """
    from multiutility.vision.segmenter import Segmenter
    from multiutility.vision.training_set import annotated_photos

    begin, place = time.perf_counter(), store_of(store, Sources(parts_of(folder)))
    dataset = training_part(folder.absolute() if cluster else folder, split)
    with workers(cluster, SHARDS) as executor, stages() as note:
        dataset, skipped = usable(dataset, skip_bad, cores(jobs), note)
        model = Segmenter(
            features=features,
            n_superpixels=superpixels,
            random_state=random_state,
            n_jobs=cores(jobs),
            store=place,
            half=half,
            # What is prepared need not be in memory, nor mapped, of which there is only so much.
            memory_limit=sys.maxsize,
            executor=executor,
            progress=note,
        )
        training = model.prepare(annotated_photos(dataset), dataset.classes)
    seconds, n_images = time.perf_counter() - begin, len(training.prepared)
    if json:
        found = {"store": str(place), "n_images": n_images, "seconds": round(seconds, 3)}
        show_json({**found, "skipped": [one.to_dict() for one in skipped]})
    else:
        tell(f"{place}: features of {n_images} images, in {seconds:.0f} s")


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
