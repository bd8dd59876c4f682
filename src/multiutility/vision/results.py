"""Predictions as files: index PNGs, overlays, confidences and COCO."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multiutility.datasets.class_table import write_classes
from multiutility.datasets.classes import Classes
from multiutility.datasets.contents import CLASSES, IMAGES
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.formats.coco_export import write_coco_file
from multiutility.datasets.images import FORMATS, read_mask, read_note, write_image, write_mask
from multiutility.datasets.writing import NewSample
from multiutility.kinds import PixelAnnotation
from multiutility.kinds.drawing import overlay
from multiutility.parallel import Executor
from multiutility.vision.photo import FilePhoto
from multiutility.vision.predictor import Prediction, Predictor, Progress
from multiutility.vision.remote import predictions

COCO = "coco.json"


@dataclass(frozen=True)
class Results:
    """A folder of predictions, and what is written to it besides ``classes.csv`` and the index PNGs.

    Index PNGs ``NAME.png`` hold label + 1 in the colors of the classes; overlays go to ``overlay/NAME.png``,
    confidences to ``scores/NAME.png`` with 0 for none and 255 for certain. ``model``, a hash, is noted in the
    index PNGs, with that of the photo.
    """

    folder: Path
    overlay: bool = False
    scores: bool = False
    model: str = ""

    def mask_path(self, photo: FilePhoto) -> Path:
        """Where the index PNG of a photo goes."""
        return self.folder / f"{photo.path.stem}.png"

    def files(self, photos: Sequence[FilePhoto], coco: bool = False) -> list[Path]:
        """Return all files that are written for these photos."""
        names = [self.mask_path(photo).name for photo in photos]
        folders = [self.folder, *(self.folder / part for part in self.extras)]
        whole = [self.folder / CLASSES, *([self.folder / COCO] if coco else [])]
        return [*whole, *(folder / name for folder in folders for name in names)]

    @property
    def extras(self) -> list[str]:
        """Names of folders besides that of the index PNGs."""
        return [part for part, wanted in (("overlay", self.overlay), ("scores", self.scores)) if wanted]

    def missing(self, photos: Sequence[FilePhoto]) -> list[FilePhoto]:
        """Return the photos that do not have all results yet, of this model and of the photo as it is now."""
        return [photo for photo in photos if not self.complete(photo)]

    def complete(self, photo: FilePhoto) -> bool:
        """Whether all results of a photo are there."""
        target = self.mask_path(photo)
        if not target.exists() or not all(
            (self.folder / part / target.name).exists() for part in self.extras
        ):
            return False
        try:
            return read_note(target) == self.note(photo)
        except DatasetError:  # Not ours.
            return False

    def note(self, photo: FilePhoto) -> str:
        """Return what the index PNG of a photo says about where it comes from."""
        return f"model {self.model}, image {photo.fingerprint()[:32]}" if self.model else ""

    def write(
        self,
        predictor: Predictor,
        photos: Sequence[FilePhoto],
        n_jobs: int = 1,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> None:
        """Predict and write photo by photo; after an interruption, those that are ``missing`` are left.

        An ``executor`` predicts, if there is one.
        """
        self.prepare(predictor)
        if executor is None:
            found = predictor.predict(photos, n_jobs, progress=progress)
        else:
            found = predictions(executor, predictor, photos, progress)
        for photo, prediction in zip(photos, found, strict=True):
            self.write_one(photo, prediction, predictor)

    def write_coco(self, photos: Sequence[FilePhoto], classes: Classes) -> None:
        """Write all masks of the photos, which are there, as one COCO file."""
        samples = (
            NewSample(photo.path.stem, photo.path, PixelAnnotation(mask=read_mask(self.mask_path(photo))))
            for photo in photos
        )
        write_coco_file(self.folder / COCO, classes, samples)

    def prepare(self, predictor: Predictor) -> None:
        """Make the folders, and write the table of classes."""
        for folder in (self.folder, *(self.folder / part for part in self.extras)):
            folder.mkdir(parents=True, exist_ok=True)
        write_classes(self.folder / CLASSES, predictor.classes)

    def write_one(self, photo: FilePhoto, prediction: Prediction, predictor: Predictor) -> None:
        """Write the files of one photo; the index PNG comes last, as the sign that all are there."""
        palette, target = predictor.classes.palette, self.mask_path(photo)
        if self.overlay:
            image = photo.image() if prediction.image is None else prediction.image
            picture = overlay(image, prediction.mask, palette)
            write_image(self.folder / "overlay" / target.name, picture)
        if self.scores:
            levels = np.rint(255 * prediction.scores).astype(np.uint8)
            write_image(self.folder / "scores" / target.name, levels)
        write_mask(target, prediction.mask, palette, self.note(photo))


def find_photos(paths: Iterable[Path]) -> list[FilePhoto]:
    """Return photos of image files, and of all image files in folders; of dataset folders, their images."""
    files = [file for path in paths for file in (files_of(path) if path.is_dir() else [path])]
    seen: dict[str, Path] = {}
    for file in files:
        if not file.is_file():
            raise DatasetError(file, None, "there is no such image", "give image files, or folders of them")
        other = seen.setdefault(file.stem, file)
        if other is not file:
            raise DatasetError(file, None, f"named as {other}", "rename one, or predict them one by one")
    return [FilePhoto(str(file), file) for file in files]


def files_of(folder: Path) -> list[Path]:
    """Image files of a folder, sorted by name."""
    inside = (folder / CLASSES).is_file() and (folder / IMAGES).is_dir()
    place = folder / IMAGES if inside else folder
    found = sorted(file for file in place.iterdir() if file.suffix.lower() in FORMATS)
    if not found:
        raise DatasetError(place, None, "there are no images", f"expected files named {', '.join(FORMATS)}")
    return found
