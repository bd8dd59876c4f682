"""MSRCv2 as it was published: ``Images/NAME.bmp``, and ``GroundTruth/NAME_GT.bmp`` with colors."""

from __future__ import annotations

from pathlib import Path

from multiutility.datasets.classes import Classes, LabelClass
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.colors import read_color_mask
from multiutility.datasets.formats.imported import Imported, Samples
from multiutility.datasets.formats.source import by_stem, image_files, need_folder, need_size, read_splits
from multiutility.datasets.images import image_size
from multiutility.datasets.palette import Color
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation

ENDING = "_GT"
# Kinds as in the paper: buildings and trees are background where there are other objects. Horse and mountain
# are too rare for mean recall.
CLASSES = Classes(
    [
        LabelClass("building", (128, 0, 0), "either"),
        LabelClass("grass", (0, 128, 0), "stuff"),
        LabelClass("tree", (128, 128, 0), "either"),
        LabelClass("cow", (0, 0, 128), "thing"),
        LabelClass("horse", (128, 0, 128), "thing", rare=True),
        LabelClass("sheep", (0, 128, 128), "thing"),
        LabelClass("sky", (128, 128, 128), "stuff"),
        LabelClass("mountain", (64, 0, 0), "stuff", rare=True),
        LabelClass("aeroplane", (192, 0, 0), "thing"),
        LabelClass("water", (64, 128, 0), "stuff"),
        LabelClass("face", (192, 128, 0), "thing"),
        LabelClass("car", (64, 0, 128), "thing"),
        LabelClass("bicycle", (192, 0, 128), "thing"),
        LabelClass("flower", (64, 128, 128), "thing"),
        LabelClass("sign", (192, 128, 128), "thing"),
        LabelClass("bird", (0, 64, 0), "thing"),
        LabelClass("book", (128, 64, 0), "thing"),
        LabelClass("chair", (0, 192, 0), "thing"),
        LabelClass("road", (128, 64, 128), "stuff"),
        LabelClass("cat", (0, 192, 128), "thing"),
        LabelClass("dog", (128, 192, 128), "thing"),
        LabelClass("body", (64, 64, 0), "thing"),
        LabelClass("boat", (192, 64, 0), "thing"),
    ]
)
VALUES: dict[Color, int] = {(0, 0, 0): 0} | {one.color: label + 1 for label, one in enumerate(CLASSES)}


def read_msrc(source: str | Path) -> Imported:
    """Read the folder of MSRCv2; lists of images beside ``Images``, such as ``Train.txt``, are splits."""
    home = need_folder(source, "MSRCv2")
    folder = home.root
    images = by_stem(image_files(home, folder / "Images"))
    if not images:
        raise DatasetError(folder / "Images", None, "there are no images", "give the folder that has Images")
    truth = by_stem(image_files(home, folder / "GroundTruth"))
    names = sorted(images)

    def read(k: int) -> NewSample:
        image, path = images[names[k]], truth.get(names[k] + ENDING)
        if path is None:
            return NewSample(names[k], image)
        mask = read_color_mask(path, VALUES)
        need_size(path, mask, image_size(image))
        return NewSample(names[k], image, PixelAnnotation(mask))

    lists = (path for path in home.files(folder, [".txt"]) if is_list(path))
    splits = {name.lower(): found for name, found in read_splits(lists, images).items()}
    return Imported(CLASSES, Samples(names, read), splits)


def is_list(path: Path) -> bool:
    """Whether a text file lists images, by its name."""
    return path.stem.lower() in {"train", "validation", "val", "test", "trainval", "trainvalidation"}
