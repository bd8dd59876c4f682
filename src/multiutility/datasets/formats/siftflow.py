"""SIFT-flow as it was published: ``Images/.../NAME.jpg``, and ``SemanticLabels/.../NAME.mat``.

A ``.mat`` file has ``S``, with 0 for unlabeled pixels and k for the k-th of the class ``names``.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from multiutility.datasets.classes import Classes, LabelClass, standard_color
from multiutility.datasets.enclosed import Enclosed
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.imported import Imported, Samples
from multiutility.datasets.formats.source import by_stem, image_files, need_folder, need_size, read_splits
from multiutility.datasets.images import MAX_PIXELS, image_size
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation

NAMES = (
    *("awning", "balcony", "bird", "boat", "bridge", "building", "bus", "car", "cow", "crosswalk", "desert"),
    *("door", "fence", "field", "grass", "moon", "mountain", "person", "plant", "pole", "river", "road"),
    *("rock", "sand", "sea", "sidewalk", "sign", "sky", "staircase", "streetlight", "sun", "tree", "window"),
)
# What can be counted.
THINGS = frozenset(
    [
        "awning",
        "balcony",
        "bird",
        "boat",
        "bus",
        "car",
        "cow",
        "door",
        "moon",
        "person",
        "pole",
        "sign",
        "staircase",
        "streetlight",
        "sun",
        "window",
    ]
)
# Left out of mean recall, as in the paper.
RARE = frozenset({"cow", "desert", "moon", "sun"})
CLASSES = Classes(
    LabelClass(name, standard_color(k), "thing" if name in THINGS else "stuff", name in RARE)
    for k, name in enumerate(NAMES, start=1)
)
# What lists of images are called.
LISTS = ("train", "test", "val")
# Published ones have some kilobytes; and what is packed into more may fill the memory.
MAX_BYTES = 1 << 21


def read_siftflow(source: str | Path) -> Imported:
    """Read the folder with ``Images`` and ``SemanticLabels``.

    Lists of images beside them are splits: ``TestSet1.txt`` makes ``test``, and all others are ``train``
    then.
    """
    home = need_folder(source, "SIFT-flow")
    folder = home.root
    images = by_stem(image_files(home, folder / "Images", deep=True))
    if not images:
        raise DatasetError(folder / "Images", None, "there are no images", "give the folder that has Images")
    labels = by_stem(home.files(folder / "SemanticLabels", [".mat"], deep=True))
    names = sorted(images)

    def read(k: int) -> NewSample:
        path = labels.get(names[k])
        mask = None if path is None else read_labels(path, image_size(images[names[k]]))
        # Some images were never labeled: their files have zeros only.
        used = mask if mask is not None and mask.any() else None
        return NewSample(names[k], images[names[k]], PixelAnnotation(used))

    return Imported(CLASSES, Samples(names, read), find_splits(home, images))


def find_splits(home: Enclosed, images: dict[str, Path]) -> dict[str, list[str]]:
    """Splits of lists; of the published one of test images, also the rest."""
    lists = (path for path in home.files(home.root, [".txt"]) if path.stem.lower().startswith(LISTS))
    splits = read_splits(lists, images)
    if "TestSet1" in splits:
        test = splits.pop("TestSet1")
        splits |= {"test": test, "train": sorted(images.keys() - set(test))}
    return splits


def read_labels(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Mask of a ``.mat`` file."""
    content = load(path)
    if "S" not in content or content["S"].ndim != 2 or content["S"].dtype.kind not in "iuf":
        raise DatasetError(path, None, "has no matrix S of labels", "get it anew")
    check_names(path, content.get("names"))
    labels = content["S"].astype(np.int64)
    need_size(path, labels, size)
    if labels.min() < 0 or labels.max() > len(CLASSES):
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise DatasetError(path, None, f"has the label {wrong}", f"labels are 0..{len(CLASSES)}")
    return np.asarray(labels, dtype=np.uint8)


def load(path: Path) -> dict[str, Any]:
    """Variables of a ``.mat`` file, as arrays."""
    if path.stat().st_size > MAX_BYTES:
        raise DatasetError(path, None, "is too large for the labels of an image", "get it anew")
    try:
        # Zeros are packed a thousand times: what a file says of its sizes is looked at before it is unpacked.
        if any(math.prod(shape) > MAX_PIXELS for _, shape, _ in whosmat(path)):
            raise ValueError("it has more values than any image has pixels")
        return dict(loadmat(path, variable_names=("S", "names")))
    except Exception as error:  # Damaged files make the reader raise errors of all kinds.
        raise DatasetError(
            path, None, f"cannot be read: {error}", "get it anew; it must be MATLAB 5"
        ) from None


def check_names(path: Path, names: NDArray[Any] | None) -> None:
    """Raise if a file has other classes, or in another order."""
    if names is None:
        return
    found = tuple(str(np.ravel(one)[0]) if np.size(one) else "" for one in names.ravel())
    if found != NAMES:
        first = next((k for k, (a, b) in enumerate(zip(found, NAMES, strict=False)) if a != b), len(found))
        what = f"its class {first + 1} is {found[first] if first < len(found) else 'missing'!r}"
        raise DatasetError(path, None, what, f"expected the {len(NAMES)} classes of SIFT-flow in their order")
