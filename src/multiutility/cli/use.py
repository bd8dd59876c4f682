"""Commands that use a model: ``predict`` and ``evaluate``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import guarded, guarded_resumable, show_json, stages, tell
from multiutility.cli.options import (
    SHARDS,
    ClusterOption,
    DatasetArgument,
    JobsOption,
    JsonOption,
    ModelArgument,
    OverwriteOption,
    SkipBadOption,
    SplitOption,
    StoreOption,
    parts_of,
    store_of,
    workers,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.cli.tables import show_skipped
from multiutility.outputs import Outputs, Sources, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multiutility.cli.messages import Stages
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.datasets.soundness import Skipped
    from multiutility.vision.photo import FilePhoto


@guarded_resumable
def predict(
    model: ModelArgument,
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE...", help="Images, or folders of them.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where results go.")] = Path(
        "results"
    ),
    overlay: Annotated[bool, typer.Option("--overlay", help="Also save masks drawn over images.")] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Also save confidences, as gray images.")] = False,
    coco: Annotated[bool, typer.Option("--coco", help="Also save masks as COCO results, coco.json.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Leave out images that have all results of this model already.")
    ] = False,
    skip_bad: SkipBadOption = False,
    overwrite: OverwriteOption = False,
    cluster: ClusterOption = None,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Label the pixels of images; saves index PNGs, whose values are rows of the classes.csv beside them.

    Example: [b]multiutility predict model.safetensors photos/*.jpg --out results --overlay[/b]
    """
    from multiutility.vision.model_file import model_digest, read_model
    from multiutility.vision.results import Results, find_photos

    begin, (predictor, _) = time.perf_counter(), read_model(model)
    results, photos = Results(out, overlay, scores, model_digest(model)), find_photos(images)
    outputs = Outputs("predict", out, None, photo_sources(images, photos, model), overwrite)
    if cluster is not None:
        photos = [replace(photo, path=photo.path.absolute()) for photo in photos]
    asked = results.missing(photos) if resume else photos
    outputs.check_all(results.files(asked, coco))
    with writing(outputs), workers(cluster, SHARDS) as executor, stages() as note:
        wanted, skipped = readable(asked, skip_bad, cores(jobs), note)
        results.write(predictor, wanted, cores(jobs), partial(note, "predicting"), executor)
        if coco:
            bad = {*asked} - {*wanted}
            results.write_coco([photo for photo in photos if photo not in bad], predictor.classes)
    seconds = time.perf_counter() - begin
    if json:
        files = {str(photo.path): str(results.mask_path(photo)) for photo in wanted}
        found = {"out": str(out), "n_images": len(wanted), "seconds": round(seconds, 3), "masks": files}
        show_json({**found, "skipped": [one.to_dict() for one in skipped]})
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
    overwrite: OverwriteOption = False,
    skip_bad: SkipBadOption = False,
    store: StoreOption = None,
    jobs: JobsOption = 0,
    json: JsonOption = False,
) -> None:
    """Compare predictions with the masks of a dataset, class by class.

    Prints accuracy, mean recall and mean IoU (both without classes marked rare), and whether they are what
    the model expected of itself; saves confusion.png and gallery.png with the best and worst images. Masks
    that are predictions which somebody accepted in the studio are left out.

    Example: [b]multiutility evaluate model.safetensors DIR --split validation[/b]
    """
    from multiutility.cli.tables import show_scores
    from multiutility.vision.about import judged_text
    from multiutility.vision.evaluation import evaluate as compare
    from multiutility.vision.model_file import read_model
    from multiutility.vision.report import PICTURES
    from multiutility.vision.store import FeatureStore

    (predictor, _), dataset = read_model(model), opened(folder, split)
    place, sources = out or model.with_suffix(".evaluation"), Sources([model, *parts_of(folder)])
    outputs = Outputs("evaluate", place, None, sources, overwrite)
    if not no_pictures:
        outputs.check_all(place / name for name in PICTURES)
        place.mkdir(parents=True, exist_ok=True)
    kept = FeatureStore(store_of(store, sources))
    with stages() as note:
        dataset, skipped = comparable(dataset, skip_bad, cores(jobs), note)
        found = compare(predictor, dataset, cores(jobs), kept, partial(note, "predicting"))
    scores = found.to_dict()
    if json:
        show_json({**scores, "skipped": [one.to_dict() for one in skipped]})
    else:
        show_scores(scores)
        if found.accepted:
            tell(f"Not scored: {accepted_text(len(found.accepted))}")
        if found.expected:
            tell(judged_text(found.expected))
    if not no_pictures:
        from multiutility.vision.report import save_evaluation

        with writing(outputs):
            save_evaluation(found, predictor, dataset, place, cores(jobs), kept)
        tell(f"Pictures: {place}")


def accepted_text(count: int) -> str:
    """Return how masks are called that are predictions which somebody accepted."""
    return (
        "1 mask that is an accepted prediction"
        if count == 1
        else f"{count} masks that are accepted predictions"
    )


def photo_sources(given: Sequence[Path], photos: Sequence[FilePhoto], model: Path) -> Sources:
    """Return what a prediction reads; beside photos there must be no masks, which look like them."""
    from multiutility.datasets.contents import CLASSES

    parts = [part for path in given if (path / CLASSES).is_file() for part in parts_of(path)]
    files = [photo.path for photo in photos]
    return Sources([model, *files, *parts], listed={file.parent for file in files})


def readable(
    photos: Sequence[FilePhoto], skip_bad: bool, n_jobs: int, note: Stages
) -> tuple[Sequence[FilePhoto], list[Skipped]]:
    """Return the photos that can be read; unless others are skipped, raise if there are."""
    from multiutility.datasets.soundness import check_all, sound
    from multiutility.vision.photo import FilePhoto

    progress = partial(note, "checking")
    if not skip_bad:
        check_all(photos, FilePhoto.size, n_jobs, progress)
        return photos, []
    found, skipped = sound(photos, FilePhoto.image, lambda photo: photo.name, n_jobs, progress)
    show_skipped(skipped)
    return found, skipped


def comparable(
    dataset: DatasetFolder, skip_bad: bool, n_jobs: int, note: Stages
) -> tuple[DatasetFolder, list[Skipped]]:
    """Return the images with masks that can be read; unless others are skipped, raise if there are."""
    from multiutility.datasets.soundness import check_all, check_head, sound_part

    masked = dataset.select(sample.name for sample in dataset if "mask" in sample.kinds)
    progress = partial(note, "checking")
    if not skip_bad:
        check_all(list(masked), check_head, n_jobs, progress)
        return dataset, []
    part, skipped = sound_part(masked, n_jobs, progress)
    show_skipped(skipped)
    return part, skipped
