"""The command ``convert``: annotations of other programs, in and out."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import followed, guarded_anew, show_json, stages, tell
from multiutility.cli.options import (
    JsonOption,
    OverwriteOption,
    SkipBadOption,
    parts_of,
)
from multiutility.cli.tables import show_skipped
from multiutility.outputs import Outputs, Sources, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multiutility.cli.messages import Stages
    from multiutility.datasets.formats import Format
    from multiutility.datasets.formats.imported import Imported
    from multiutility.datasets.soundness import Skipped


class Brush(StrEnum):
    """What brush strokes are."""

    auto = "auto"
    mask = "mask"
    scribbles = "scribbles"


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
