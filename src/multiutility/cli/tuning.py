"""The command ``tune``."""

# ruff: noqa: PLC0415 -- it imports what it needs when it runs: help must not take seconds.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multiutility.cli.learning import training_part
from multiutility.cli.messages import guarded, show_json, stages, tell
from multiutility.cli.options import (
    ClassWeightOption,
    DatasetArgument,
    FeaturesOption,
    JobsOption,
    JsonOption,
    Method,
    MethodOption,
    Metric,
    OverwriteOption,
    Protocol,
    RandomStateOption,
    SetOption,
    SplitOption,
    StoreOption,
    SuperpixelsOption,
    file_outputs,
    learning_options,
    numbers,
    parsed,
    parts_of,
    store_of,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.cli.tables import show_tuning
from multiutility.locks import holding
from multiutility.outputs import Sources, writing
from multiutility.vision.features.names import DEFAULT as DEFAULT_FEATURES

if TYPE_CHECKING:
    from multiutility.datasets.classes import Classes
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.experiments.supervision import Weakening
    from multiutility.vision.training_set import AnnotatedPhoto


@guarded
def tune(
    folder: DatasetArgument,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Keeps the scores, with a page beside it."),
    ] = Path("tuning.json"),
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
            help="Learn from tags, tags+seeds, tags+boxes, tags+boxes+seeds, points, scribbles, tags+areas, "
            "'open tags', 'loose boxes' or 'loose boxes as tight' in place of masks (none: leave images "
            "without their masks out); held-out images are judged by their masks.",
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
        typer.Option(
            "--grid",
            metavar="NAME=VALUES",
            help="Values to try, as C=1,3; also class_weight, alpha, and beta.",
        ),
    ] = None,
    set_: SetOption = None,
    method: MethodOption = Method.auto,
    class_weight: ClassWeightOption = None,
    features: FeaturesOption = DEFAULT_FEATURES,
    superpixels: SuperpixelsOption = None,
    store: StoreOption = None,
    random_state: RandomStateOption = 0,
    overwrite: OverwriteOption = False,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Find the best C, class weight, alpha and (with --method paper) beta by cross-validation.

    What [b]train[/b] chooses by itself is among what is tried. Only training images are looked at.
    Takes many times as long as [b]train[/b]; after Ctrl-C, the same command goes on where it was.

    Example: [b]multiutility tune DIR --split train[/b]

    For weak annotations, on images with masks: [b]multiutility tune DIR --weaken tags+boxes[/b]
    """
    from multiutility.tuning.page import write_tuning_page
    from multiutility.tuning.search import AUTO, GRID, Tuner
    from multiutility.vision.segmenter import Segmenter

    page = out.with_suffix(".md")
    sources = Sources(parts_of(folder))
    outputs, place = file_outputs("tune", [out, page], sources, overwrite), store_of(store, sources)
    dataset, values = training_part(folder, split), {**GRID, **grid_of(grid or [])}
    with holding(out), writing(outputs), stages() as note:
        model = Segmenter(
            features=features,
            **learning_options(method, None, class_weight, None),
            n_superpixels=superpixels,
            random_state=random_state,
            n_jobs=cores(jobs),
            store=place,
            progress=note,
        ).set_params(**parsed(set_ or []))
        name = None if protocol is None else protocol.value
        photos, classes, weakening = tuning_images(dataset, name, weaken, keep_masks, random_state)
        training = model.prepare(photos, classes)
        tuner = Tuner(model, values, n_folds=folds, metric=metric.value, log=out, progress=note)
        found = tuner.tune(training, weakening)
    options: dict[str, Sequence[Any]] = {
        "--split": [split],
        "--features": [features],
        "--superpixels": [superpixels],
        "--protocol": [name],
        "--weaken": [weaken],
        "--keep-masks": [keep_masks or None],
        "--metric": [metric.value],
        "--folds": [folds],
        "--grid": grid or [],
        "--set": set_ or [],
        "--method": [method.value],
        "--class-weight": [class_weight],
        "--random-state": [random_state],
    }
    with writing(outputs):
        write_tuning_page(page, command_of(folder, options), found)
    if json:
        show_json(found.to_dict())
    else:
        show_tuning(found.to_dict())
        words = [
            f"--{name.replace('_', '-')} {value:g}" for name, value in found.best.items() if value != AUTO
        ]
        words += [f"--method {method.value}"] if method is not Method.auto else []
        tell(f"Best: multiutility train {folder} {' '.join(words)}", "bold")


def command_of(folder: Path, options: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return a command of this search; the way to the data is the reader's.

    >>> command_of(Path("/data/msrc"), {"--split": [None], "--grid": ["C=1,3"], "--folds": [3]})
    ['multiutility', 'tune', 'msrc', '--grid', 'C=1,3', '--folds', '3']
    """
    given = [(name, str(one)) for name, values in options.items() for one in values if one is not None]
    return ["multiutility", "tune", folder.name, *(part for pair in given for part in pair)]


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
        if name not in ("C", "class_weight", "alpha", "beta"):
            known = "C, class_weight, alpha or beta"
            raise ValueError(f"--grid {text!r}: expected values of {known}, such as C=1,3,10")
        found[name] = numbers("--grid", values, zero=name == "class_weight")
    return found
