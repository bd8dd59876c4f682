"""Small folders of every format that is read, as other programs and the publishers of datasets make them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from format_cases import CLASSES, mixed_samples, put_image
from multiutility.datasets.formats import FORMATS
from multiutility.datasets.formats.siftflow import NAMES

SCENES = "spatial_envelope_256x256_static_8outdoorcategories"


def put_msrc(folder: Path, pixels: NDArray[np.uint8]) -> Path:
    """MSRCv2 with one image."""
    height, width, _ = pixels.shape
    put_image(folder / "Images" / "1_1_s.bmp", height, width)
    (folder / "GroundTruth").mkdir(exist_ok=True)
    Image.fromarray(pixels).save(folder / "GroundTruth" / "1_1_s_GT.bmp")
    return folder


def put_siftflow(folder: Path, name: str, labels: NDArray[np.generic], **more: object) -> Path:
    """SIFT-flow with an image; the .mat file is SciPy's."""
    put_image(folder / "Images" / SCENES / f"{name}.jpg", 4, 5)
    path = folder / "SemanticLabels" / SCENES / f"{name}.mat"
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"S": labels, **more}, do_compression=True)
    return path


def names_cell(names: tuple[str, ...]) -> NDArray[np.object_]:
    """Cell array of texts."""
    cell = np.empty((1, len(names)), dtype=object)
    cell[0] = names
    return cell


def put_stanford(folder: Path, regions: str, layers: str | None = None) -> Path:
    """The Stanford background dataset with one image of 3 x 2 pixels."""
    put_image(folder / "images" / "0000047.jpg", 2, 3)
    (folder / "labels").mkdir(exist_ok=True)
    (folder / "labels" / "0000047.regions.txt").write_text(regions)
    if layers is not None:
        (folder / "labels" / "0000047.layers.txt").write_text(layers)
    return folder


def put_openimages(folder: Path) -> Path:
    """Verified labels of Open Images for one image, with their names."""
    put_image(folder / "000026e7ee790996.jpg", 4, 6)
    rows = ["ImageID,Source,LabelName,Confidence", "000026e7ee790996,verification,/m/07j7r,1"]
    rows.append("000026e7ee790996,verification,/m/04hgtk,0")
    (folder / "oidv7-train-annotations-human-imagelabels.csv").write_text("\n".join(rows) + "\n")
    (folder / "oidv7-class-descriptions.csv").write_text("/m/07j7r,Tree\n/m/04hgtk,Human head\n")
    return folder


def put_originals(root: Path) -> dict[str, Path]:
    """A folder of each format, by its name."""
    for name, one in FORMATS.items():
        if one.write is not None:
            samples = [s for s in mixed_samples() if not one.masks_only or s.name in ("masked", "objects")]
            one.write(root / name, CLASSES, samples, {})
    put_msrc(root / "msrc", np.zeros((3, 4, 3), np.uint8))
    put_siftflow(root / "siftflow", "a", np.ones((4, 5)), names=names_cell(NAMES))
    put_stanford(root / "stanford", "0 5 7\n-1 7 7\n", "3 4 9\n0 9 2\n")
    put_openimages(root / "openimages")
    return {path.name: path for path in root.iterdir()}
