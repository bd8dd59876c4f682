"""Commands for datasets: ``validate``, ``summary``, ``convert`` and ``weaken``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multiutility.cli.messages import followed, guarded_anew, show_json, stages, tell
from multiutility.cli.options import (
    DatasetArgument,
    JobsOption,
    JsonOption,
    OverwriteOption,
    RandomStateOption,
    SkipBadOption,
    SplitOption,
    file_outputs,
    parts_of,
)
from multiutility.cli.options import n_jobs as cores
from multiutility.cli.tables import show_skipped
from multiutility.outputs import Outputs, Sources, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multiutility.cli.messages import Stages
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.datasets.formats import Format
    from multiutility.datasets.formats.imported import Imported
    from multiutility.datasets.soundness import Skipped

FOUND = 1


class Brush(StrEnum):
    """What brush strokes are."""

    auto = "auto"
    mask = "mask"
    scribbles = "scribbles"


@guarded_anew
def validate(folder: DatasetArgument, jobs: JobsOption = 0, json: JsonOption = False) -> None:
    """List every problem of a dataset at once: file, row, what is wrong, and how to mend it.

    The exit code is 1 if there is any. If not, notes name classes that the annotations of the split
    [b]train[/b], or else of all images, cannot tell apart, and what to add.

    Example: [b]multiutility validate DIR[/b]
    """
    from multiutility.datasets.validate import validate as find_problems

    check_folder(folder)
    with stages() as note:
        findings = find_problems(folder, n_jobs=cores(jobs), progress=partial(note, "reading"))
    if json:
        show_json([{"file": f.file, "row": f.row, "what": f.what, "fix": f.fix} for f in findings])
    else:
        for finding in findings:
            typer.echo(str(finding))
        tell(f"{len(findings)} problems." if findings else "No problems.", "red" if findings else "green")
    if findings:
        raise typer.Exit(FOUND)
    advise(folder)


@guarded_anew
def summary(
    folder: DatasetArgument,
    split: SplitOption = None,
    picture: Annotated[
        Path, typer.Option("--picture", metavar="FILE", help="Where the picture of samples is saved.")
    ] = Path("summary.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Save none.")] = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Show how many images and annotations of each kind and class there are, and save a picture of some.

    Example: [b]multiutility summary DIR --split train --picture samples.png[/b]
    """
    from multiutility.cli.tables import show_summary
    from multiutility.datasets.summary import summarize

    dataset = opened(folder, split)
    pictures = [] if no_picture else [picture]
    # Decided before the images are read.
    outputs = [file_outputs("summary", [one], Sources(parts_of(folder)), overwrite) for one in pictures]
    with stages() as note:
        found = summarize(dataset, progress=partial(note, "reading"))
        for own in outputs:
            from multiutility.vision.report import save_samples

            note.begin("drawing")
            with writing(own):
                save_samples(dataset, picture)
    if json:
        show_json(found.to_dict())
    else:
        show_summary(found)
    if not no_picture:
        tell(f"Samples: {picture}")


@guarded_anew
def convert(
    first: Annotated[
        str, typer.Argument(metavar="FORMAT|DIR", help="Format to import, or folder to export.")
    ],
    second: Annotated[Path, typer.Argument(metavar="SRC|OUT", help="What to read, or where to write.")],
    third: Annotated[Path | None, typer.Argument(metavar="DIR", help="Dataset folder to make.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format to export to.")] = None,
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="NAME", help="Export: only the images of splits/NAME.txt."),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            metavar="FOLDER",
            help="Import: where images are, if not where SRC has them (coco, labelstudio, masks, scribbles, "
            "openimages).",
        ),
    ] = None,
    brush: Annotated[
        Brush | None,
        typer.Option(
            "--brush",
            help="Import: what brush strokes are (labelstudio). By auto, the default, scribbles, which say "
            "nothing of other pixels and leave tags, boxes and points as they are; and a mask, which is all "
            "that counts of its image, if they cover at least 95 % of it, if there are polygons beside them, "
            "or if their control is named mask.",
        ),
    ] = None,
    lossy: Annotated[
        bool,
        typer.Option(
            "--lossy",
            help="Export: leave out what the format does not have: scribbles (except labelstudio), areas, "
            "open tags, loose boxes (except coco), and tags, boxes and seeds where it has masks only (masks, "
            "color-masks, coco-panoptic).",
        ),
    ] = False,
    skip_bad: SkipBadOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Import annotations of other programs into a dataset folder, or export them.

    Formats: coco, coco-panoptic, voc, labelme, labelstudio, masks, color-masks; and to import only,
    voc-corners, masks-255, scribbles, openimages, msrc, siftflow, stanford.

    The same command again replaces what it made, if nobody has changed it since.

    Import: [b]multiutility convert coco SRC DIR[/b]

    Export: [b]multiutility convert DIR OUT --to coco[/b]
    """
    if to is None and third is not None:
        if split is not None or lossy:
            raise ValueError("--split and --lossy are for exports: an import takes all that there is")
        outputs = import_outputs(third, [second, *([images] if images else [])], overwrite)
        with writing(outputs):
            counts = import_format(first, second, third, images, brush, skip_bad)
    elif to is not None and third is None:
        if images is not None:
            raise ValueError("--images is for imports: an export takes the images of DIR")
        if brush is not None:
            raise ValueError("--brush is for imports: an export has masks and scribbles apart")
        outputs = Outputs("convert", second, None, Sources(parts_of(Path(first))), overwrite)
        with writing(outputs):
            counts = export_format(Path(first), second, to, split, lossy, skip_bad)
    else:
        raise ValueError("expected either 'convert FORMAT SRC DIR', or 'convert DIR OUT --to FORMAT'")
    if json:
        show_json({"out": str(third or second), **counts})
    else:
        tell(f"{third or second}: {counts['n_images']} images, {counts['n_classes']} classes")


@guarded_anew
def weaken(
    folder: DatasetArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Dataset folder to make.")],
    split: SplitOption = None,
    keep_masks: Annotated[
        str, typer.Option("--keep-masks", metavar="N", help="How many images keep their masks, or 'all'.")
    ] = "0",
    tags: Annotated[bool, typer.Option("--tags", help="Make tags.")] = False,
    boxes: Annotated[bool, typer.Option("--boxes", help="Make boxes of things.")] = False,
    seeds: Annotated[bool, typer.Option("--seeds", help="Make seeds of things.")] = False,
    points: Annotated[
        bool,
        typer.Option("--points", help="Make seeds of every segment, stuff too, and tags of all labels."),
    ] = False,
    scribbles: Annotated[
        bool,
        typer.Option(
            "--scribbles", help="Make a stroke in every segment, stuff too, and tags of all labels."
        ),
    ] = False,
    areas: Annotated[
        bool, typer.Option("--areas", help="Make the share of the image that each label covers, and tags.")
    ] = False,
    area_noise: Annotated[
        float,
        typer.Option(
            "--area-noise",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Make areas that are off by about this part of themselves, such as 0.2.",
        ),
    ] = 0.0,
    other: Annotated[
        bool,
        typer.Option("--other", help="Unlabeled pixels of images with much of them become a class 'other'."),
    ] = False,
    loosen_boxes: Annotated[
        float,
        typer.Option(
            "--loosen-boxes",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Make boxes that are larger than things by this share, such as 0.2, and loose (tight = 0).",
        ),
    ] = 0.0,
    drop_tags: Annotated[
        float,
        typer.Option(
            "--drop-tags",
            metavar="PROBABILITY",
            min=0.0,
            max=0.99,
            help="Leave out each tag but one with this probability, such as 0.3, and make tags open.",
        ),
    ] = 0.0,
    random_state: RandomStateOption = 0,
    skip_bad: SkipBadOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Make a dataset with weak annotations out of one with masks, to see what they are worth.

    Without --boxes, --seeds, --points, --scribbles and --areas, tags are made. Things that get a box or seed
    get no tag, except with --points and --scribbles, which name all that is in an image. --loosen-boxes makes
    boxes, too, and --area-noise areas.

    Example: [b]multiutility weaken DIR OUT --split train --keep-masks 5 --tags --boxes[/b]
    """
    from multiutility.datasets.writing import earlier_parts, write_dataset
    from multiutility.vision.weaken import weaken as weaken_dataset

    whole = opened(folder, split)
    outputs = Outputs("weaken", out, None, Sources(parts_of(folder)), overwrite)
    with writing(outputs):
        earlier_parts(out)
    dataset, skipped = sound_dataset(whole, skip_bad)
    masked = [sample.name for sample in dataset if "mask" in sample.kinds]
    if not masked:
        raise ValueError(f"{folder}: no image has a mask: there is nothing to weaken")
    kept = masked if keep_masks == "all" else whole_number(keep_masks)
    some = {"boxes": boxes or loosen_boxes > 0, "seeds": seeds, "points": points, "scribbles": scribbles}
    some["areas"] = areas or area_noise > 0
    kinds = {"tags": tags or some["areas"] or not any(some.values()), **some}
    splits = {split: dataset.names} if split else {s: dataset.split(s).names for s in dataset.splits}
    with writing(outputs), stages() as note:
        note.begin("choosing")
        weakened = weaken_dataset(
            dataset,
            random_state,
            kept,
            **kinds,
            other=other,
            loosen_boxes=loosen_boxes,
            area_noise=area_noise,
            drop_tags=drop_tags,
        )
        samples = followed(weakened, len(weakened), partial(note, "weakening"))
        write_dataset(out, weakened.classes, samples, splits)
    if json:
        counts = {"n_images": len(dataset), "n_masks": len(weakened.kept)}
        show_json({"out": str(out), **counts, "skipped": [one.to_dict() for one in skipped]})
    else:
        tell(f"{out}: {len(dataset)} images, {len(weakened.kept)} with masks")


def opened(folder: Path, split: str | None) -> DatasetFolder:
    """Return the dataset, or the part of it that a split names."""
    from multiutility.datasets.folder import DatasetFolder

    check_folder(folder)
    dataset = DatasetFolder(folder)
    return dataset if split is None else dataset.split(split)


def advise(folder: Path) -> None:
    """Tell which classes cannot be learned from what is annotated for training."""
    from multiutility.datasets.bags import unidentified_labels
    from multiutility.datasets.folder import training_part

    dataset = training_part(opened(folder, None))
    for group in unidentified_labels(dataset):
        tell(f"Note: {group.advice(dataset.classes.names)}", "yellow")


def sound_dataset(dataset: DatasetFolder, skip_bad: bool) -> tuple[DatasetFolder, list[Skipped]]:
    """Return the dataset without images that cannot be used, if they are to be skipped, and list them."""
    from multiutility.datasets.soundness import sound_part

    if not skip_bad:
        return dataset, []
    with stages() as note:
        part, skipped = sound_part(dataset, progress=partial(note, "checking"))
    show_skipped(skipped)
    return part, skipped


def sound_samples(imported: Imported, skip_bad: bool, note: Stages) -> tuple[Imported, list[Skipped]]:
    """Return the import without images that cannot be used, if they are to be skipped, and list them."""
    from multiutility.datasets.soundness import sound_import

    if not skip_bad:
        return imported, []
    part, skipped = sound_import(imported, partial(note, "checking"))
    show_skipped(skipped)
    return part, skipped


def counts_of(written: Imported, skipped: Sequence[Skipped]) -> dict[str, Any]:
    """Return what was written, in numbers, and what was left out."""
    left_out = [one.to_dict() for one in skipped]
    return {"n_images": len(written.samples), "n_classes": len(written.classes), "skipped": left_out}


def check_folder(folder: Path) -> None:
    """Raise unless there is such a folder."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder; give the folder of a dataset, with classes.csv")


def whole_number(text: str) -> int:
    """Return the number of masks to keep."""
    if not text.isdecimal():
        raise ValueError(f"--keep-masks is {text!r}: expected a whole number, or 'all'")
    return int(text)


def import_format(
    name: str, source: Path, folder: Path, images: Path | None, brush: Brush | None, skip_bad: bool
) -> dict[str, Any]:
    """Make a dataset folder out of another program's files; return how much is in it."""
    from multiutility.datasets.writing import earlier_parts, write_dataset

    format_ = find_format(name)
    if images is not None and not format_.takes_images:
        raise ValueError(f"--images is not for {name}, which has its images where SRC says: leave it out")
    if images is not None and not images.is_dir():
        raise ValueError(f"--images is {images}: there is no such folder")
    if brush is not None and not format_.scribbles:
        raise ValueError(f"--brush is not for {name}, where nothing is painted by brush: leave it out")
    # As seen from here, and not from SRC.
    options: dict[str, Any] = {} if images is None else {"images": images.resolve()}
    if brush is not None:
        options["brush"] = brush.value
    earlier_parts(folder)
    with stages() as note:
        note.begin("reading")
        imported, skipped = sound_samples(format_.read(source, **options), skip_bad, note)
        samples = followed(imported.samples, len(imported.samples), partial(note, "converting"))
        write_dataset(folder, imported.classes, samples, imported.splits)
    return counts_of(imported, skipped)


def export_format(
    folder: Path, out: Path, name: str, split: str | None, lossy: bool, skip_bad: bool
) -> dict[str, Any]:
    """Write a dataset for another program; return how much is in it."""
    from multiutility.datasets.formats.export import USUAL, earlier_export, without_others
    from multiutility.datasets.formats.imported import Imported
    from multiutility.kinds.mask import MASK
    from multiutility.kinds.scribbles import SCRIBBLES

    format_ = find_format(name)
    write = format_.write
    if write is None:
        raise ValueError(f"{name} can only be imported; export to one of {', '.join(writable())}")
    earlier_export(out)
    with stages() as note:
        dataset, skipped = sound_samples(Imported.from_folder(opened(folder, split)), skip_bad, note)
        samples = followed(dataset.samples, len(dataset.samples), partial(note, "converting"))
        kept = (MASK,) if format_.masks_only else (*USUAL, *([SCRIBBLES] if format_.scribbles else []))
        if lossy:
            samples = without_others(samples, kept, loose=format_.loose_boxes)
        write(out, dataset.classes, samples, dataset.splits)
    return counts_of(dataset, skipped)


def import_outputs(folder: Path, sources: Sequence[Path], overwrite: bool) -> Outputs:
    """Return the dataset folder that an import writes; it may be in a folder that is read, not be it."""
    listed = [source for source in sources if source.is_dir()]
    return Outputs("convert", folder, None, Sources(listed=listed, trees=sources), overwrite)


def find_format(name: str) -> Format:
    """Return the format of this name."""
    from multiutility.datasets.formats import FORMATS

    if name not in FORMATS:
        raise ValueError(f"unknown format {name!r}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def writable() -> list[str]:
    """Names of formats that can be written."""
    from multiutility.datasets.formats import FORMATS

    return [name for name, one in FORMATS.items() if one.write]
