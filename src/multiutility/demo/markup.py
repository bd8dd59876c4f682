"""Pieces of HTML pages that need no other file: pictures, tables and sections."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multiutility.datasets.classes import Classes, color_text


def page(title: str, content: Iterable[str]) -> str:
    """Return a page in the style of ``page.css``."""
    style = (files("multiutility.demo") / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{joined(content)}\n</main>\n</body>\n</html>\n"
    )


def joined(parts: Iterable[str]) -> str:
    """Return parts on lines of their own."""
    return "\n".join(parts)


def section(title: str, note: str, *content: str) -> str:
    """Return a part of the page, with a few words about it."""
    head = f'<h2>{escape(title)}</h2>\n<p class="note">{escape(note)}</p>'
    return f"<section>\n{head}\n{joined(content)}\n</section>"


def box(style: str, content: Iterable[str]) -> str:
    """Return a block of a style."""
    return f'<div class="{style}">\n{joined(content)}\n</div>'


def table(heads: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table of rows of cells."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return box("scroll", [f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>", *rows, "</tbody>\n</table>"])


def row(cells: Iterable[str], strong: bool = False) -> str:
    """Return a row of cells."""
    return f"<tr{' class=best' if strong else ''}>{''.join(cells)}</tr>"


def share_cell(value: float, style: str) -> str:
    """Return a cell with a share and a bar."""
    width = 0.0 if np.isnan(value) else 100 * value
    bar = f'<div class="bar"><i class="{style}" style="width:{width:.1f}%"></i></div>'
    return f'<td class="number">{percent(value)}{bar}</td>'


def legend(classes: Classes) -> str:
    """Return the colors of classes."""
    swatches = (
        f'<li><span class="swatch" style="background:{color_text(one.color)}"></span>{escape(one.name)}</li>'
        for one in classes
    )
    return f'<ul class="legend">\n{joined(swatches)}\n</ul>'


def figure(picture: NDArray[np.uint8], about: str, caption: str = "") -> str:
    """Return a picture, as part of the page itself; ``about`` is for those who cannot see it."""
    file = BytesIO()
    Image.fromarray(picture).save(file, format="JPEG", quality=86)
    source = f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
    height, width = picture.shape[:2]
    image = f'<img src="{source}" width="{width}" height="{height}" alt="{escape(about)}">'
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def percent(value: float) -> str:
    """Return a share as text.

    >>> percent(0.1234), percent(float("nan"))
    ('12.3 %', '-')
    """
    return "-" if np.isnan(value) else f"{100 * value:.1f} %"


def duration(seconds: float) -> str:
    """Return a time as text.

    >>> duration(1500), duration(9000)
    ('25 min', '2.5 h')
    """
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
