"""Labels of dataset folders that cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from multiutility.datasets import (
    Classes,
    DatasetError,
    DatasetFolder,
    NewSample,
    PixelAnnotation,
    PixelBox,
    PixelSeed,
    Sample,
    unidentified_annotations,
    unidentified_labels,
    write_dataset,
    write_mask,
)
from multiutility.identifiability import Group

SKY, ROAD, CAR, OTHER = range(4)
CLASSES = Classes.from_names(["sky", "road", "car", "other"])
STREET = PixelAnnotation(tags=(SKY, ROAD, CAR))
BOX, SEED = PixelBox(CAR, 1, 1, 4, 3), PixelSeed(ROAD, 2, 3)


def mask(*labels: int) -> PixelAnnotation:
    """Stripes of labels; the rest is void."""
    values = np.zeros((6, 8), dtype=np.uint8)
    for row, label in enumerate(labels):
        values[row] = label + 1
    return PixelAnnotation(mask=values)


def written(path: Path, annotations: Sequence[PixelAnnotation]) -> DatasetFolder:
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    write_dataset(path, CLASSES, [NewSample(f"p{n:03}", image, one) for n, one in enumerate(annotations)])
    return DatasetFolder(path)


CASES = {
    "tags": ([STREET] * 9, [Group((SKY, ROAD, CAR), 9)]),
    "boxes": ([PixelAnnotation(tags=(SKY, ROAD), boxes=(BOX,))] * 9, [Group((SKY, ROAD), 9)]),
    "a box wins over a tag": ([PixelAnnotation(tags=STREET.tags, boxes=(BOX,))] * 9, [Group((SKY, ROAD), 9)]),
    "all but one have places": ([PixelAnnotation(tags=(SKY,), boxes=(BOX,), seeds=(SEED,))] * 9, []),
    "two masks": ([STREET] * 9 + [mask(SKY, ROAD, CAR)] * 2, [Group((SKY, ROAD, CAR), 9, 2, 2, 1)]),
    "three masks": ([STREET] * 9 + [mask(SKY, ROAD, CAR)] * 3, []),
    "masks of two labels": ([STREET] * 9 + [mask(SKY, ROAD)] * 3, []),
    "masks of one label": ([STREET] * 9 + [mask(SKY)] * 3, [Group((ROAD, CAR), 9)]),
    "a void mask with tags": (
        [PixelAnnotation(mask=mask().mask, tags=STREET.tags)] * 9 + [STREET],
        [Group((SKY, ROAD, CAR), 10)],
    ),
    "nothing": ([PixelAnnotation()] * 9, []),
    "the rest around boxes": ([PixelAnnotation(boxes=(BOX,))] * 9, []),
    "others around tags": ([PixelAnnotation(tags=(SKY, OTHER))] * 9, [Group((SKY, OTHER), 9)]),
}


@pytest.mark.parametrize(("annotations", "groups"), CASES.values(), ids=CASES)
def test_folders_and_annotations_give_the_same(
    annotations: list[PixelAnnotation], groups: list[Group], tmp_path: Path
) -> None:
    assert unidentified_labels(written(tmp_path / "d", annotations)) == groups
    assert unidentified_annotations(annotations, len(CLASSES), CLASSES.other) == groups


def test_no_more_masks_are_read_than_needed(tmp_path: Path) -> None:
    read: list[str] = []

    def labels_of(sample: Sample) -> frozenset[int]:
        read.append(sample.name)
        return frozenset({SKY, ROAD, CAR})

    masks = [mask(SKY, ROAD, CAR)] * 20
    assert unidentified_labels(written(tmp_path / "all", masks), labels_of) == []
    assert read == []
    mixed = written(tmp_path / "mixed", [*masks, *[STREET] * 9])
    assert unidentified_labels(mixed, labels_of) == []
    assert len(read) == 3


def test_parts_of_a_dataset(tmp_path: Path) -> None:
    dataset = written(tmp_path / "d", [STREET] * 4 + [mask(SKY, ROAD, CAR)] * 3)
    assert unidentified_labels(dataset) == []
    assert unidentified_labels(dataset.select(dataset.names[:5])) == [
        Group((SKY, ROAD, CAR), 4, n_apart=1, n_placed=1, n_wanted=2)
    ]


def test_masks_that_cannot_be_are_told(tmp_path: Path) -> None:
    dataset = written(tmp_path / "d", [STREET] * 4 + [mask(SKY)])
    write_mask(tmp_path / "d" / "masks" / "p004.png", np.full((6, 8), 200, np.uint8), CLASSES.palette)
    with pytest.raises(DatasetError, match=r"p004\.png"):
        unidentified_labels(dataset)
