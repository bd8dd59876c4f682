"""Datasets as folders that a person can make with a spreadsheet, and the formats of others."""

from multiutility.extras import require

require("vision", __name__)

from multiutility.datasets.bags import unidentified_annotations, unidentified_labels
from multiutility.datasets.class_table import write_classes
from multiutility.datasets.classes import Classes, Kind, LabelClass
from multiutility.datasets.errors import DatasetError, Finding
from multiutility.datasets.folder import DatasetFolder, Sample
from multiutility.datasets.images import (
    image_size,
    read_image,
    read_instances,
    read_mask,
    write_image,
    write_instances,
    write_mask,
)
from multiutility.datasets.summary import Summary, summarize
from multiutility.datasets.validate import validate
from multiutility.datasets.writing import (
    NewSample,
    write_dataset,
    write_entries,
    write_split,
)
from multiutility.kinds import PixelAnnotation, PixelArea, PixelBox, PixelSeed

__all__ = [
    "Classes",
    "DatasetError",
    "DatasetFolder",
    "Finding",
    "Kind",
    "LabelClass",
    "NewSample",
    "PixelAnnotation",
    "PixelArea",
    "PixelBox",
    "PixelSeed",
    "Sample",
    "Summary",
    "image_size",
    "read_image",
    "read_instances",
    "read_mask",
    "summarize",
    "unidentified_annotations",
    "unidentified_labels",
    "validate",
    "write_classes",
    "write_dataset",
    "write_entries",
    "write_image",
    "write_instances",
    "write_mask",
    "write_split",
]
