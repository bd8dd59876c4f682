"""Formats of other programs and datasets, to read into a dataset folder and to write from one.

>>> sorted(name for name, one in FORMATS.items() if one.write)
['coco', 'coco-panoptic', 'color-masks', 'labelme', 'labelstudio', 'masks', 'voc']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiutility.datasets.formats.imported import Imported

__all__ = ["FORMATS", "Format"]


@dataclass(frozen=True)
class Format:
    """How a format is read and written; modules are loaded when that is asked for.

    ``read(source, **options)`` gives an ``Imported``, whose parts are what ``write_dataset`` takes; the
    option ``images``, a folder, is there if the format ``takes_images`` from elsewhere.
    ``write(out, classes, samples, splits, **options)`` is None if the format can only be read; the option
    ``lossy`` is there if it has ``masks_only``. With ``loose_boxes``, it says which boxes are loose; with
    ``scribbles``, it keeps these, and to read, there is the option ``brush``.
    """

    help: str
    read: Callable[..., Imported]
    write: Callable[..., None] | None = None
    takes_images: bool = False
    masks_only: bool = False
    loose_boxes: bool = False
    scribbles: bool = False


def _later(module: str, function: str, **options: object) -> Callable[..., Any]:
    """Function of a module of this package, with options; pycocotools and SciPy take long to load."""

    def call(*args: object, **more: object) -> Any:
        return getattr(import_module(f"{__name__}.{module}"), function)(*args, **(options | more))

    call.__name__ = function
    return call


_READ_COCO = _later("coco", "read_coco")

FORMATS: dict[str, Format] = {
    "coco": Format(
        "COCO: masks (polygons, run lengths), boxes, keypoints as seeds; one JSON file, or a folder of them",
        _READ_COCO,
        _later("coco_export", "write_coco"),
        takes_images=True,
        loose_boxes=True,
    ),
    "coco-panoptic": Format(
        "COCO's panoptic pictures, with their JSON files",
        _READ_COCO,
        _later("coco_export", "write_panoptic"),
        takes_images=True,
        masks_only=True,
    ),
    "voc": Format(
        "Pascal VOC: boxes in XML that count pixels from 1, masks with a palette",
        _later("voc", "read_voc"),
        _later("voc_export", "write_voc"),
    ),
    "voc-corners": Format(
        "Pascal VOC as other programs write it: boxes count from 0, with the last corner exclusive",
        _later("voc", "read_voc", one_based=False),
    ),
    "labelme": Format(
        "LabelMe: a JSON file for each image, with polygons, rectangles and points",
        _later("labelme", "read_labelme"),
        _later("labelme", "write_labelme"),
    ),
    "labelstudio": Format(
        "Label Studio: tasks in JSON, with choices as tags, rectangles, keypoints, polygons, brush strokes",
        _later("labelstudio", "read_labelstudio"),
        _later("labelstudio_export", "write_labelstudio"),
        takes_images=True,
        scribbles=True,
    ),
    "masks": Format(
        "a folder of images and one of masks: indices, 0 for void, or colors",
        _later("masks", "read_masks"),
        _later("masks", "write_masks"),
        takes_images=True,
        masks_only=True,
    ),
    "masks-255": Format(
        "a folder of images and one of masks: indices from 0, 255 for void",
        _later("masks", "read_masks", void=255),
        takes_images=True,
    ),
    "color-masks": Format(
        "a folder of images and one of masks with colors, black for void",
        _later("masks", "read_masks"),
        _later("masks", "write_masks", colors=True),
        takes_images=True,
        masks_only=True,
    ),
    "scribbles": Format(
        "a folder of images and one of label images (napari, ilastik): indices, 0 where nothing is said",
        _later("masks", "read_scribbles"),
        takes_images=True,
    ),
    "openimages": Format(
        "Open Images: labels of whole images that people verified, in CSV files, as open tags",
        _later("openimages", "read_openimages"),
        takes_images=True,
    ),
    "msrc": Format("MSRCv2 as published: Images, GroundTruth with colors", _later("msrc", "read_msrc")),
    "siftflow": Format(
        "SIFT-flow as published: Images, SemanticLabels with .mat files", _later("siftflow", "read_siftflow")
    ),
    "stanford": Format(
        "Stanford background dataset as published: images, labels with .regions.txt files",
        _later("stanford", "read_stanford"),
    ),
}
