"""How well superpixels can fit masks: ``python benchmarks/superpixels.py DATASET...``.

Each superpixel gets the label of most of its pixels; the table has the mean IoU of that with the masks of
training images, at the size of learning, for several ways to cut images. No labeling of the superpixels has
more right pixels.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from multiutility.datasets.folder import DatasetFolder
from multiutility.experiments.protocols import rules_of
from multiutility.experiments.supervision import LabeledImages
from multiutility.kinds.kind import nearest
from multiutility.learning.selection.choice import evenly
from multiutility.metrics import mean_iou
from multiutility.vision.fineness import best_confusion
from multiutility.vision.photo import Shrunk
from multiutility.vision.regions.superpixels import Felzenszwalb, RegionMerging, Slic, Superpixels
from multiutility.vision.segmenter import Segmenter

KINDS: dict[str, Superpixels] = {
    "merging, 200 (usual)": RegionMerging(200),
    "merging, 400": RegionMerging(400),
    "merging, 800": RegionMerging(800),
    "SLIC, 200": Slic(200),
    "SLIC, 400": Slic(400),
    "Felzenszwalb, about 200": Felzenszwalb().resized(200),
}


def bounds(images: LabeledImages, n_images: int) -> dict[str, tuple[float, float, float]]:
    """Mean IoU of the best labels, superpixels of an image, and seconds for an image, by kind."""
    chosen, n_labels = evenly(range(len(images)), n_images), len(images.classes)
    side = Segmenter().max_side
    found = {}
    for name, cut in KINDS.items():
        confusions, counts, seconds = np.zeros((n_labels, n_labels)), 0, 0.0
        for n in chosen:
            image = Shrunk(images.photo(n), side).image()
            begin = time.process_time()
            regions = cut(image)
            seconds += time.process_time() - begin
            counts += int(regions.max()) + 1
            confusions += best_confusion(nearest(images.masks[n], regions.shape), regions, n_labels)
        iou = mean_iou(confusions, images.classes.rare)
        found[name] = iou, counts / len(chosen), seconds / len(chosen)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--protocol", default="msrc21")
    parser.add_argument("--images", type=int, default=20)
    options = parser.parse_args()
    print("| dataset | " + " | ".join(KINDS) + " |")
    print("| --- |" + " --- |" * len(KINDS), flush=True)
    for data in options.data:
        dataset = DatasetFolder(data)
        images = LabeledImages(dataset.split(options.split), rules_of(options.protocol, dataset.classes))
        found = bounds(images, options.images).values()
        cells = [f"{iou:.3f} ({count:.0f}, {seconds:.2f} s)" for iou, count, seconds in found]
        print(f"| {data.name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
