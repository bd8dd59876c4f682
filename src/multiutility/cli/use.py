"""Commands that use a model: ``predict`` and ``evaluate``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import guarded, show_json, stages, tell
from multiutility.cli.options import (
    DatasetArgument,
    JobsOption,
    JsonOption,
    ModelArgument,
    SplitOption,
    StoreOption,
    default_store,
)
from multiutility.cli.options import n_jobs as cores


@guarded
def predict(
    model: ModelArgument,
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE...", help="Images, or folders of them.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where results go.")] = Path(
        "results"
    ),
    overlay: Annotated[bool, typer.Option("--overlay", help="Also save masks drawn over images.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Also save confidences, as gray images.")] = False,
    coco: Annotated[bool, typer.Option("--coco", help="Also save masks as COCO results, coco.json.")] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only images that have no result yet, as after an interruption.")
    ] = False,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Label the pixels of images; saves index PNGs, whose values are rows of the classes.csv beside them.

    Example: [b]multiutility predict model.safetensors photos/*.jpg --out results --overlay[/b]
    """
    from multiutility.vision.model_file import read_model
    from multiutility.vision.results import Results, find_photos

    begin, (predictor, _) = time.perf_counter(), read_model(model)
    results, photos = Results(out, overlay, scores), find_photos(images)
    wanted = results.missing(photos) if missing else photos
    with stages() as note:
        results.write(predictor, wanted, cores(jobs), partial(note, "predicting"))
        if coco:
            results.write_coco(photos, predictor.classes)
    seconds = time.perf_counter() - begin
    if json:
        files = {str(photo.path): str(results.mask_path(photo)) for photo in wanted}
        show_json({"out": str(out), "n_images": len(wanted), "seconds": round(seconds, 3), "masks": files})
    else:
        tell(f"{out}: masks of {len(wanted)} images, in {seconds:.1f} s")


@guarded
def evaluate(
    model: ModelArgument,
    folder: DatasetArgument,
    split: SplitOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Where pictures go; by default, beside the model."
        ),
    ] = None,
    no_pictures: Annotated[bool, typer.Option("--no-pictures", help="Save none.")] = False,
    store: StoreOption = None,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Compare predictions with the masks of a dataset, class by class.

    Prints accuracy, mean recall and mean IoU (both without classes marked rare), and saves confusion.png
    and gallery.png with the best and worst images.

    Example: [b]multiutility evaluate model.safetensors DIR --split validation[/b]
    """
    from multiutility.cli.tables import show_scores
    from multiutility.vision.evaluation import evaluate as compare
    from multiutility.vision.model_file import read_model
    from multiutility.vision.store import FeatureStore

    (predictor, _), dataset = read_model(model), opened(folder, split)
    place = out or model.with_suffix(".evaluation")
    if not no_pictures:
        place.mkdir(parents=True, exist_ok=True)
    kept = FeatureStore(store or default_store())
    with stages() as note:
        found = compare(predictor, dataset, cores(jobs), kept, partial(note, "predicting"))
    if json:
        show_json(found.to_dict())
    else:
        show_scores(found.to_dict())
    if not no_pictures:
        from multiutility.vision.report import save_evaluation

        save_evaluation(found, predictor, dataset, place, cores(jobs), kept)
        tell(f"Pictures: {place}")
