"""How datasets are shown in notebooks: HTML that needs no other file, and small pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from multiutility.datasets.classes import Classes, color_text
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.images import IMAGE_FORMATS, TURNS, opened, orientation, rgb
from multiutility.kinds import BY_DETAIL

if TYPE_CHECKING:
    from multiutility.datasets.folder import DatasetFolder, Sample

# Pictures that are shown, and the longer side of each.
N_THUMBNAILS, THUMBNAIL = 8, 96


def jpeg(path: Path, side: int, quality: int) -> bytes:
    """Return an image with sides of at most so many pixels, as JPEG."""
    with opened(path, IMAGE_FORMATS) as image:
        turn = TURNS.get(orientation(image))
        # JPEG decoders give a half, a quarter or an eighth of the size in a fraction of the time.
        image.draft(None, (2 * side, 2 * side))
        image.load()
        small = Image.fromarray(rgb(image if turn is None else image.transpose(turn)))
        small.thumbnail((side, side), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        small.save(file, "JPEG", quality=quality)
        return file.getvalue()


def dataset_html(dataset: DatasetFolder) -> str:
    """Return what a dataset has: images by kind of annotation, classes, and some of its pictures."""
    kinds = [sample.kinds for sample in dataset]
    counts = [(kind.name, sum(kind.name in one for one in kinds)) for kind in BY_DETAIL]
    counts.append(("nothing", sum(not one for one in kinds)))
    shown = dataset.names
    if len(shown) > N_THUMBNAILS:
        places = np.linspace(0, len(shown) - 1, N_THUMBNAILS).round().astype(int)
        shown = tuple(shown[place] for place in places.tolist())
    head = f"<b>{escape(str(dataset.path))}</b>: {len(dataset)} images, {len(dataset.classes)} classes"
    pictures = "".join(thumbnail_html(dataset[name]) for name in shown)
    table = table_html(["images with", ""], [(escape(kind), str(count)) for kind, count in counts])
    return f"<div><p>{head}</p>{table}{classes_html(dataset.classes)}<div>{pictures}</div></div>"


def classes_html(classes: Classes) -> str:
    """Return names of classes with their colors."""
    return f"<p>{' '.join(swatch(color_text(one.color), one.name) for one in classes)}</p>"


def swatch(color: str, name: str) -> str:
    """Return a name with a spot of its color, which never breaks apart.

    >>> swatch("#ff8000", "<fire>")[-27:]
    '</span>&lt;fire&gt;</span> '
    """
    spot = f"display:inline-block;width:.8em;height:.8em;margin-right:.3em;background:{color}"
    return f'<span style="white-space:nowrap"><span style="{spot}"></span>{escape(name)}</span> '


def thumbnail_html(sample: Sample) -> str:
    """Return a small picture, or of one that cannot be read, why."""
    title = escape(f"{sample.name}: {', '.join(sorted(sample.kinds)) or 'nothing'}")
    try:
        data = base64.b64encode(jpeg(sample.path, THUMBNAIL, 80)).decode()
    except DatasetError as error:
        return f'<span title="{title}">{escape(str(error))}</span>'
    style = "margin:2px;vertical-align:middle"
    return f'<img src="data:image/jpeg;base64,{data}" alt="{title}" title="{title}" style="{style}">'


def table_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
