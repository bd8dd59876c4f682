"""Commands for datasets: ``validate``, ``summary``, ``convert`` and ``weaken``."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.messages import followed, guarded, show_json, stages, tell
from multiutility.cli.options import DatasetArgument, JobsOption, JsonOption, RandomStateOption, SplitOption
from multiutility.cli.options import n_jobs as cores

if TYPE_CHECKING:
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.datasets.formats import Format

FOUND = 1


@guarded
def validate(folder: DatasetArgument, jobs: JobsOption = 0, json: JsonOption = False) -> None:
    """List every problem of a dataset at once: file, row, what is wrong, and how to mend it.

    The exit code is 1 if there is any.

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


@guarded
def summary(
    folder: DatasetArgument,
    split: SplitOption = None,
    picture: Annotated[
        Path, typer.Option("--picture", metavar="FILE", help="Where the picture of samples is saved.")
    ] = Path("summary.png"),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Save none.")] = False,
    json: JsonOption = False,
) -> None:
    """Show how many images and annotations of each kind and class there are, and save a picture of some.

    Example: [b]multiutility summary DIR --split train --picture samples.png[/b]
    """
    from multiutility.cli.tables import show_summary
    from multiutility.datasets.summary import summarize

    dataset = opened(folder, split)
    with stages() as note:
        found = summarize(dataset, progress=partial(note, "reading"))
    if json:
        show_json(found.to_dict())
    else:
        show_summary(found)
    if not no_picture:
        from multiutility.vision.report import save_samples

        save_samples(dataset, picture)
        tell(f"Samples: {picture}")


@guarded
def convert(
    first: Annotated[
        str, typer.Argument(metavar="FORMAT|DIR", help="Format to import, or folder to export.")
    ],
    second: Annotated[Path, typer.Argument(metavar="SRC|OUT", help="What to read, or where to write.")],
    third: Annotated[Path | None, typer.Argument(metavar="DIR", help="Dataset folder to make.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format to export to.")] = None,
    split: SplitOption = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images", metavar="FOLDER", help="Where images are, if not where SRC says (coco, labelstudio)."
        ),
    ] = None,
) -> None:
    """Import annotations of other programs into a dataset folder, or export them.

    Formats: coco, coco-panoptic, voc, labelme, labelstudio, masks, color-masks; and to import only,
    voc-corners, masks-255, msrc, siftflow, stanford.

    Import: [b]multiutility convert coco SRC DIR[/b]

    Export: [b]multiutility convert DIR OUT --to coco[/b]
    """
    if to is None and third is not None:
        import_format(first, second, third, images)
    elif to is not None and third is None:
        export_format(Path(first), second, to, split)
    else:
        raise ValueError("expected either 'convert FORMAT SRC DIR', or 'convert DIR OUT --to FORMAT'")


@guarded
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
    other: Annotated[
        bool,
        typer.Option("--other", help="Unlabeled pixels of images with much of them become a class 'other'."),
    ] = False,
    random_state: RandomStateOption = 0,
) -> None:
    """Make a dataset with weak annotations out of one with masks, to see what they are worth.

    Without --tags, --boxes and --seeds, tags are made. Things that get a box or seed get no tag.

    Example: [b]multiutility weaken DIR OUT --split train --keep-masks 5 --tags --boxes[/b]
    """
    from multiutility.datasets.writing import write_dataset
    from multiutility.vision.weaken import weaken as weaken_dataset

    dataset = opened(folder, split)
    masked = [sample.name for sample in dataset if "mask" in sample.kinds]
    if not masked:
        raise ValueError(f"{folder}: no image has a mask: there is nothing to weaken")
    weakened = weaken_dataset(
        dataset,
        random_state,
        masked if keep_masks == "all" else whole_number(keep_masks),
        tags=tags or not (boxes or seeds),
        boxes=boxes,
        seeds=seeds,
        other=other,
    )
    splits = {split: dataset.names} if split else {s: dataset.split(s).names for s in dataset.splits}
    with stages() as note:
        samples = followed(weakened, len(weakened), partial(note, "weakening"))
        write_dataset(out, weakened.classes, samples, splits)
    tell(f"{out}: {len(dataset)} images, {len(weakened.kept)} with masks")


def opened(folder: Path, split: str | None) -> DatasetFolder:
    """Return the dataset, or the part of it that a split names."""
    from multiutility.datasets.folder import DatasetFolder

    check_folder(folder)
    dataset = DatasetFolder(folder)
    return dataset if split is None else dataset.split(split)


def check_folder(folder: Path) -> None:
    """Raise unless there is such a folder."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder; give the folder of a dataset, with classes.csv")


def whole_number(text: str) -> int:
    """Return the number of masks to keep."""
    if not text.isdecimal():
        raise ValueError(f"--keep-masks is {text!r}: expected a whole number, or 'all'")
    return int(text)


def import_format(name: str, source: Path, folder: Path, images: Path | None) -> None:
    """Make a dataset folder out of another program's files."""
    from multiutility.datasets.writing import write_dataset

    imported = find_format(name).read(source, **({} if images is None else {"images": images}))
    with stages() as note:
        samples = followed(imported.samples, len(imported.samples), partial(note, "converting"))
        write_dataset(folder, imported.classes, samples, imported.splits)
    tell(f"{folder}: {len(imported.samples)} images, {len(imported.classes)} classes")


def export_format(folder: Path, out: Path, name: str, split: str | None) -> None:
    """Write a dataset for another program."""
    from multiutility.datasets.formats.imported import Imported

    write = find_format(name).write
    if write is None:
        raise ValueError(f"{name} can only be imported; export to one of {', '.join(writable())}")
    dataset = Imported.from_folder(opened(folder, split))
    with stages() as note:
        samples = followed(dataset.samples, len(dataset.samples), partial(note, "converting"))
        write(out, dataset.classes, samples, dataset.splits)
    tell(f"{out}: {len(dataset.samples)} images")


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
