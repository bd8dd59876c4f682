"""How datasets look in notebooks."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.display import N_THUMBNAILS, THUMBNAIL
from multiutility.datasets.folder import DatasetFolder
from multiutility.datasets.writing import NewSample, write_dataset
from multiutility.kinds import BY_DETAIL, PixelAnnotation, PixelBox, PixelSeed
from pieces import texts

CLASSES = Classes([LabelClass("<b>sky</b>", (1, 2, 3)), LabelClass('"cow" & calf', (4, 5, 6), "thing")])


def written(path: Path, count: int) -> DatasetFolder:
    box, mask = PixelBox(1, 2, 3, 9, 8), np.ones((40, 300), np.uint8)
    kinds = [
        PixelAnnotation(tags=(0,), boxes=(box,)),
        PixelAnnotation(tags=(1,), seeds=(PixelSeed(1, 2, 2),)),
        PixelAnnotation(mask=mask),
        PixelAnnotation(),
    ]
    image = np.full((40, 300, 3), 200, np.uint8)
    samples = [NewSample(f"photo & {n}", image, kinds[n % 4]) for n in range(count)]
    write_dataset(path, CLASSES, samples)
    return DatasetFolder(path)


def test_counts_classes_and_pictures(tmp_path: Path) -> None:
    html = written(tmp_path / "a<i>b", 10)._repr_html_()
    # With tags, with boxes, with seeds, with masks, and with nothing: of 10, in turns of 4.
    names = [kind.name for kind in BY_DETAIL]
    cells = [text for text in texts(html) if text in {*names, "nothing"} or text.isdigit()]
    counts = {**dict.fromkeys(names, "0"), "mask": "2", "boxes": "3", "seeds": "3", "tags": "6"}
    assert cells == [*(text for pair in counts.items() for text in pair), "nothing", "2"]
    assert "<b>sky</b>" in texts(html)
    assert '"cow" & calf' in texts(html)
    assert "#040506" in html
    pictures = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', html)
    assert len(pictures) == N_THUMBNAILS
    with Image.open(io.BytesIO(base64.b64decode(pictures[0]))) as image:
        assert image.size == (THUMBNAIL, 13)
    assert not re.search(r'(src|href)="(?!data:)', html)


def test_part_and_a_picture_that_cannot_be_read(tmp_path: Path) -> None:
    dataset = written(tmp_path / "two", 3).select(["photo & 0", "photo & 2"])
    dataset["photo & 2"].path.write_bytes(b"no picture")
    html = dataset._repr_html_()
    assert html.count("<img") == 1
    assert any("photo & 2" in text for text in texts(html))
