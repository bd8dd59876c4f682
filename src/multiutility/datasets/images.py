"""Images and masks in files, read with care: they may come from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, UnidentifiedImageError
from PIL.PngImagePlugin import PngInfo

from multiutility.arrays import strips
from multiutility.datasets.errors import DatasetError
from multiutility.datasets.files import replacing
from multiutility.datasets.limits import MAX_OBJECTS, objects_problem

Pixels: TypeAlias = NDArray[np.uint8]

# Pillow names of what is read, by file name. Few, since every decoder is one more that a bad file may break.
FORMATS = {
    ".bmp": "BMP",
    ".jpeg": "JPEG",
    ".jpg": "JPEG",
    ".png": "PNG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WEBP",
}
IMAGE_FORMATS = tuple(sorted(set(FORMATS.values())))
# JPEG and WebP change pixels, and with them the indices.
MASK_FORMATS = ("BMP", "PNG", "TIFF")
# Keyword of our notes in PNG files.
NOTE = "multiutility"
# Less than Pillow warns at (89 million); the largest image takes 240 MB.
MAX_PIXELS = 80_000_000

TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = (5, 6, 7, 8)
# Gray levels of 2 and 4 bits are spread over 0..255 when read; as indices they are not.
SPREAD = {"L;2": 85, "L;4": 17}


def read_image(path: str | Path) -> Pixels:
    """Image as people see it: RGB, uint8 [H, W, 3], turned as its EXIF data says, over white if transparent.

    Gray, palette, CMYK and 16-bit images are converted. Raises ``DatasetError`` for anything that is not an
    image, is damaged, or has more than 80 million pixels.
    """
    with opened(Path(path), IMAGE_FORMATS) as image:
        turn = TURNS.get(orientation(image))
        image.load()
        return rgb(image if turn is None else image.transpose(turn))


def image_size(path: str | Path) -> tuple[int, int]:
    """Height and width of what ``read_image`` gives, from the head of the file."""
    with opened(Path(path), IMAGE_FORMATS) as image:
        width, height = image.size
        return (width, height) if orientation(image) in SIDEWAYS else (height, width)


def read_mask(path: str | Path) -> Pixels:
    """Indices of an index image (of a palette, or gray), uint8 [H, W]."""
    indices = read_indices(Path(path), "a mask")
    if indices.max() > 255 or indices.min() < 0:
        what = f"has the index {indices.max() if indices.max() > 255 else indices.min()}"
        raise DatasetError(path, None, what, "indices of masks must be in 0..255")
    return indices.astype(np.uint8)


def read_note(path: str | Path) -> str:
    """Return the note that a mask was written with, from the head of the file; empty if there is none."""
    with opened(Path(path), MASK_FORMATS) as image:
        return str(image.info.get(NOTE, ""))


def read_instances(path: str | Path) -> NDArray[np.int32]:
    """Ids of an index image of 8 or 16 bits, int32 [H, W]."""
    return read_indices(Path(path), "a map of objects").astype(np.int32)


def write_mask(path: str | Path, mask: Pixels, palette: Pixels, note: str = "") -> None:
    """Write a mask [H, W] as PNG with the palette [up to 256, 3]: masks may be looked at as they are.

    ``note``, a line of text, is kept in the file; see ``read_note``.
    """
    if mask.dtype != np.uint8 or mask.ndim != 2:
        raise ValueError(f"mask is {mask.dtype} {mask.shape}: expected uint8 [H, W]")
    image = Image.fromarray(mask)
    image.putpalette(np.asarray(palette, dtype=np.uint8).tobytes())
    info = PngInfo()
    if note:
        info.add_text(NOTE, note)
    save(Path(path), image, "PNG", pnginfo=info)


def write_instances(path: str | Path, instances: NDArray[Any]) -> None:
    """Write ids [H, W] in 0..65535 as PNG of 8 bits, or of 16 if it must be."""
    highest = int(instances.max(initial=0))
    if instances.ndim != 2 or instances.min(initial=0) < 0 or objects_problem(highest):
        what = f"{Path(path).name}: instances {instances.shape} have ids up to {highest}"
        raise ValueError(f"{what}: expected [H, W] with ids in 0..{MAX_OBJECTS}")
    dtype = np.uint8 if highest < 256 else np.uint16
    save(Path(path), Image.fromarray(instances.astype(dtype)), "PNG")


def write_image(path: str | Path, image: Pixels) -> None:
    """Write an image [H, W, 3], or [H, W] if gray, in the format that the file name tells."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path.name}: the name of an image must end in one of {', '.join(FORMATS)}")
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)):
        raise ValueError(f"{path.name}: image is {image.dtype} {image.shape}: expected uint8 [H, W, 3]")
    save(path, Image.fromarray(image), FORMATS[path.suffix.lower()])


def save(path: Path, image: Image.Image, format_: str, **options: Any) -> None:
    """Write the file at once."""
    quality = {"quality": 95} if format_ in {"JPEG", "WEBP"} else {}
    with replacing(path) as file:
        image.save(file, format_, **quality, **options)


@contextmanager
def opened(path: Path, formats: tuple[str, ...]) -> Iterator[ImageFile.ImageFile]:
    """Open an image of one of the formats; whatever goes wrong in the block is an error of the file."""
    try:
        if not path.is_file():  # A pipe would wait forever.
            what = "is not a file" if path.exists() else "there is no such file"
            raise DatasetError(path, None, what, "put an image there, or correct the name")
        with Image.open(path, formats=formats) as image:
            check_size(path, image)
            yield image
    except DatasetError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise too_large(path, "") from None
    except UnidentifiedImageError:
        what = f"is empty, damaged, or not an image of a known format ({', '.join(formats)})"
        raise DatasetError(path, None, what, "save it anew as PNG, or remove it") from None
    except Exception as error:  # Damaged files make decoders raise errors of all kinds.
        reason = str(error) or type(error).__name__
        raise DatasetError(path, None, f"cannot be read: {reason}", "save it anew, or remove it") from error


def check_size(path: Path, image: Image.Image) -> None:
    """Raise if the image has too many pixels to unpack; Pillow opens none without pixels."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise too_large(path, f" ({width} x {height} pixels)")


def too_large(path: Path, size: str) -> DatasetError:
    """Error for images that may fill the memory."""
    limit = f"{MAX_PIXELS // 1_000_000} million pixels"
    return DatasetError(path, None, f"is too large{size}", f"scale it down to at most {limit}, or cut it up")


def orientation(image: Image.Image) -> int:
    """How the image is turned, 1..8 as EXIF has it, of an image that is not loaded yet."""
    if image.format == "TIFF":  # Pillow turns these itself.
        return 1
    try:
        # PNG images would be unpacked first by their own method, in search of data after the pixels.
        return int(Image.Image.getexif(image).get(ExifTags.Base.Orientation, 1))
    except Exception:  # Like browsers, show an image with damaged EXIF data as it is.
        return 1


def rgb(image: Image.Image) -> Pixels:
    """Pixels of a loaded image, converted to RGB.

    Strip by strip: Pillow has 4 bytes a pixel, and whole images of some kinds would be copied several times.
    """
    pixels = np.empty((image.height, image.width, 3), dtype=np.uint8)
    for rows in strips(0, image.height, image.width):
        strip = image.crop((0, rows.start, image.width, rows.stop))
        pixels[rows.start : rows.stop] = strip_rgb(strip)
    return pixels


def strip_rgb(image: Image.Image) -> Pixels:
    """Pixels of a small image, converted to RGB."""
    if image.mode.startswith("I"):
        gray = eight_bits(np.asarray(image))
        return np.repeat(gray[:, :, np.newaxis], 3, axis=2)
    if image.mode == "F":
        raise ValueError("pixels of floating point, for which white has no agreed value")
    if image.has_transparency_data:
        opaque = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), opaque)
    return np.asarray(image.convert("RGB"))


def eight_bits(levels: NDArray[Any]) -> Pixels:
    """Gray levels in 0..65535, rounded to 0..255."""
    if levels.min() < 0 or levels.max() > 65535:
        raise ValueError("gray levels of more than 16 bits")
    return ((levels.astype(np.int64) + 128) // 257).astype(np.uint8)


def read_indices(path: Path, name: str) -> NDArray[Any]:
    """Indices [H, W] of an image without colors of its own."""
    with opened(path, MASK_FORMATS) as image:
        spread = SPREAD.get(raw_mode(image), 1)
        if image.mode not in {"1", "L", "P"} and not image.mode.startswith("I"):
            what = f"{name} must hold indices: this image has pixels of the kind {image.mode}"
            raise DatasetError(path, None, what, "save it as 8-bit PNG with a palette, or in gray")
        image.load()
        indices = np.asarray(image)
        return indices.astype(np.uint8) if indices.dtype == np.bool_ else indices // spread


def raw_mode(image: ImageFile.ImageFile) -> str:
    """How pixels are stored in the file, of an image that is not loaded yet."""
    args = image.tile[0].args if image.tile else ()
    return str(args[0] if isinstance(args, tuple) and args else args)
