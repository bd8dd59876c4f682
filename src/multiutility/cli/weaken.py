"""The command ``weaken``; what can be made of masks, and how far it can be off, is up to the kinds."""

# ruff: noqa: PLC0415 -- each command imports what it needs: help must not take seconds.
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiutility.cli.data import opened
from multiutility.cli.messages import followed, guarded_anew, show_json, stages, tell
from multiutility.cli.options import (
    DatasetArgument,
    JsonOption,
    OverwriteOption,
    RandomStateOption,
    SkipBadOption,
    SplitOption,
    parts_of,
)
from multiutility.cli.tables import show_skipped
from multiutility.kinds import INACCURATE, KINDS, WEAKENED
from multiutility.kinds.tags import TAGS
from multiutility.outputs import Outputs, Sources, writing

if TYPE_CHECKING:
    from multiutility.datasets.folder import DatasetFolder
    from multiutility.datasets.soundness import Skipped


def kind_options() -> Iterator[Parameter]:
    """Yield the options of all kinds, in their order: what to make, and how far it is off."""
    for kind in KINDS:
        for way in kind.weaken:
            flag = Annotated[bool, typer.Option(flag_of(way.name), help=way.help)]
            yield Parameter(way.name, Parameter.KEYWORD_ONLY, default=False, annotation=flag)
        if (one := kind.inaccuracy) is not None:
            limits = {"metavar": one.unit, "min": 0.0, "max": one.most}
            amount = Annotated[float, typer.Option(flag_of(one.name), help=one.help, **limits)]
            yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=0.0, annotation=amount)


def flag_of(name: str) -> str:
    """Return the option of a name.

    >>> flag_of("drop_tags")
    '--drop-tags'
    """
    return f"--{name.replace('_', '-')}"


def with_kinds(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options of all kinds in place of its ``**options``, before its others."""
    own = list(signature(command, eval_str=True).parameters.values())
    places = [one for one in own if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    others = [one for one in own if one.kind is Parameter.KEYWORD_ONLY]
    # Typer makes options of what it finds here.
    vars(command)["__signature__"] = signature(command).replace(
        parameters=[*places, *kind_options(), *others]
    )
    return command


@guarded_anew
@with_kinds
def weaken(
    folder: DatasetArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Dataset folder to make.")],
    split: SplitOption = None,
    keep_masks: Annotated[
        str, typer.Option("--keep-masks", metavar="N", help="How many images keep their masks, or 'all'.")
    ] = "0",
    *,
    other: Annotated[
        bool,
        typer.Option("--other", help="Unlabeled pixels of images with much of them become a class 'other'."),
    ] = False,
    random_state: RandomStateOption = 0,
    skip_bad: SkipBadOption = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
    **options: float,
) -> None:
    """Make a dataset with weak annotations out of one with masks, to see what they are worth.

    Unless something else is to be made, tags are. Things that get a box or seed get no tag, except where
    every segment is marked, stuff too, which names all that is in an image.

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
    wanted = asked_for(options)
    amounts = {name: options[name] for name in INACCURATE}
    splits = {split: dataset.names} if split else {s: dataset.split(s).names for s in dataset.splits}
    with writing(outputs), stages() as note:
        note.begin("choosing")
        weakened = weaken_dataset(dataset, random_state, kept, other=other, **wanted, **amounts)
        samples = followed(weakened, len(weakened), partial(note, "weakening"))
        write_dataset(out, weakened.classes, samples, splits)
    if json:
        counts = {"n_images": len(dataset), "n_masks": len(weakened.kept)}
        show_json({"out": str(out), **counts, "skipped": [one.to_dict() for one in skipped]})
    else:
        tell(f"{out}: {len(dataset)} images, {len(weakened.kept)} with masks")


def asked_for(options: Mapping[str, float]) -> dict[str, bool]:
    """Return what is to be made of masks, by the options of kinds: tags, if it is nothing else.

    >>> [name for name, made in asked_for({"boxes": True}).items() if made]
    ['boxes']
    >>> [name for name, made in asked_for({"area_noise": 0.2, "drop_tags": 0.3}).items() if made]
    ['tags', 'areas']
    """
    asked = {name for name in WEAKENED if options.get(name)}
    for kind in KINDS:
        one = kind.inaccuracy
        if one is not None and one.makes and options.get(one.name):
            asked.add(kind.weaken[0].name)
    if not asked or any(WEAKENED[name].tags for name in asked):
        asked.add(TAGS.name)
    return {name: name in asked for name in WEAKENED}


def sound_dataset(dataset: DatasetFolder, skip_bad: bool) -> tuple[DatasetFolder, list[Skipped]]:
    """Return the dataset without images that cannot be used, if they are to be skipped, and list them."""
    from multiutility.datasets.soundness import sound_part

    if not skip_bad:
        return dataset, []
    with stages() as note:
        part, skipped = sound_part(dataset, progress=partial(note, "checking"))
    show_skipped(skipped)
    return part, skipped


def whole_number(text: str) -> int:
    """Return the number of masks to keep."""
    if not text.isdecimal():
        raise ValueError(f"--keep-masks is {text!r}: expected a whole number, or 'all'")
    return int(text)
