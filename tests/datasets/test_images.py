"""Images of every kind, damaged ones too."""

from __future__ import annotations

import io
import os
import struct
import warnings
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageFile

from multiutility import arrays
from multiutility.datasets import (
    DatasetError,
    image_size,
    read_image,
    read_instances,
    read_mask,
    write_image,
    write_instances,
    write_mask,
)

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
INDICES = np.arange(35, dtype=np.uint8).reshape(5, 7)

# Where the first row and the first column of the stored pixels are in the upright picture (EXIF 2.3, 4.6.4).
SIDES = {
    1: ("top", "left"),
    2: ("top", "right"),
    3: ("bottom", "right"),
    4: ("bottom", "left"),
    5: ("left", "top"),
    6: ("right", "top"),
    7: ("right", "bottom"),
    8: ("left", "bottom"),
}


def stored(upright: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    first_row, first_column = SIDES[orientation]
    pixels = upright if first_row in {"top", "bottom"} else upright.swapaxes(0, 1)
    pixels = pixels[::-1] if first_row in {"bottom", "right"} else pixels
    return np.ascontiguousarray(pixels[:, ::-1] if first_column in {"bottom", "right"} else pixels)


def png(width: int, height: int, depth: int, kind: int, rows: bytes, *more: tuple[bytes, bytes]) -> bytes:
    """PNG by hand; each row begins with its filter, 0."""
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    chunks = [(b"IHDR", header), *more, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    parts = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def encoded(image: Image.Image, format_: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def write(tmp_path: Path, data: bytes, name: str = "image.png") -> Path:
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


def expect_error(path: Path, what: str) -> None:
    for read in (read_image, image_size, read_mask, read_instances):
        with pytest.raises(DatasetError, match=what) as caught:
            read(path)
        assert caught.value.path == path
        assert caught.value.fix


@pytest.mark.parametrize("format_", ["BMP", "PNG", "TIFF"])
def test_colors_are_kept(tmp_path: Path, format_: str) -> None:
    path = write(tmp_path, encoded(Image.fromarray(RGB), format_))
    image = read_image(path)
    assert image.dtype == np.uint8
    assert image.flags.writeable
    np.testing.assert_array_equal(image, RGB)
    assert image_size(path) == (5, 7)


@pytest.mark.parametrize("orientation", SIDES)
@pytest.mark.parametrize("format_", ["PNG", "TIFF", "WEBP"])
def test_images_are_turned_upright(tmp_path: Path, orientation: int, format_: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    options: dict[str, object] = {"lossless": True} if format_ == "WEBP" else {}
    image = Image.fromarray(stored(RGB, orientation))
    path = write(tmp_path, encoded(image, format_, exif=exif, **options))
    np.testing.assert_array_equal(read_image(path), RGB)
    assert image_size(path) == (5, 7)


@pytest.mark.parametrize("orientation", SIDES)
def test_photographs_are_turned_upright(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    upright = np.zeros((40, 60, 3), dtype=np.uint8)
    upright[:10, :20] = 255
    image = Image.fromarray(stored(upright, orientation))
    path = write(tmp_path, encoded(image, "JPEG", exif=exif, quality=100))
    difference = np.abs(read_image(path).astype(int) - upright)
    assert difference.max() < 40
    assert image_size(path) == (40, 60)


def test_sixteen_bits_are_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    levels = RGB[:, :, 0].astype(np.uint16) * 257
    pixels = np.ascontiguousarray(levels.T[::-1])
    path = write(tmp_path, encoded(Image.fromarray(pixels), "PNG", exif=exif))
    np.testing.assert_array_equal(read_image(path)[:, :, 1], RGB[:, :, 0])


def test_damaged_exif_data_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, encoded(Image.fromarray(RGB), "PNG", exif=b"Exif\0\0MM\0*" + bytes(3)))
    np.testing.assert_array_equal(read_image(path), RGB)
    assert image_size(path) == (5, 7)


def test_gray_levels_of_16_bits_are_rounded(tmp_path: Path) -> None:
    levels = [0, 128, 129, 257, 32768, 65535]
    rows = b"\0" + b"".join(struct.pack(">H", level) for level in levels)
    path = write(tmp_path, png(6, 1, 16, 0, rows))
    expected = [round(level / 257) for level in levels]
    np.testing.assert_array_equal(read_image(path), np.repeat(np.reshape(expected, (1, 6, 1)), 3, axis=2))


def test_colors_of_16_bits(tmp_path: Path) -> None:
    rows = b"\0" + struct.pack(">3H", 0x1234, 0xFFFF, 0)
    assert read_image(write(tmp_path, png(1, 1, 16, 2, rows))).tolist() == [[[0x12, 0xFF, 0]]]


@pytest.mark.parametrize("mode", ["L", "1"])
def test_gray_and_black_and_white(tmp_path: Path, mode: str) -> None:
    image = Image.fromarray(np.array([[0, 255, 0], [255, 0, 255]], dtype=np.uint8)).convert(mode)
    path = write(tmp_path, encoded(image, "PNG"))
    expected = np.array([[0, 255, 0], [255, 0, 255]])
    np.testing.assert_array_equal(read_image(path), np.repeat(expected[:, :, np.newaxis], 3, axis=2))


@pytest.mark.parametrize("format_", ["PNG", "BMP", "TIFF"])
def test_palettes(tmp_path: Path, format_: str) -> None:
    image = Image.fromarray(INDICES)
    image.putpalette([value for k in range(256) for value in (k, 255 - k, 7)])
    pixels = read_image(write(tmp_path, encoded(image, format_)))
    np.testing.assert_array_equal(pixels[:, :, 0], INDICES)
    np.testing.assert_array_equal(pixels[:, :, 1], 255 - INDICES)
    assert (pixels[:, :, 2] == 7).all()


def test_cmyk(tmp_path: Path) -> None:
    # No ink, cyan, magenta, yellow, black.
    inks = np.array([[[0, 0, 0, 0], [255, 0, 0, 0], [0, 255, 0, 0], [0, 0, 255, 0], [0, 0, 0, 255]]])
    image = Image.fromarray(inks.astype(np.uint8), mode="CMYK")
    expected = [[[255, 255, 255], [0, 255, 255], [255, 0, 255], [255, 255, 0], [0, 0, 0]]]
    assert read_image(write(tmp_path, encoded(image, "TIFF"))).tolist() == expected
    large = image.resize((80, 16), Image.Resampling.NEAREST)
    photograph = read_image(write(tmp_path, encoded(large, "JPEG", quality=100), "image.jpg"))
    assert np.abs(photograph[8, 8::16].astype(int) - expected[0]).max() < 12


def test_transparent_pixels_are_white(tmp_path: Path) -> None:
    pixels = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 100, 200, 51]]], dtype=np.uint8)
    expected = [[[10, 20, 30], [255, 255, 255], [204, 224, 244]]]  # 0.2 of the color, 0.8 of white
    assert read_image(write(tmp_path, encoded(Image.fromarray(pixels), "PNG"))).tolist() == expected
    gray = Image.fromarray(pixels[:, :, [1, 3]])
    assert gray.mode == "LA"
    pixels_of_gray = read_image(write(tmp_path, encoded(gray, "PNG")))
    assert pixels_of_gray[0, :, 0].tolist() == [20, 255, 224]


@pytest.mark.parametrize(
    ("depth", "kind", "row", "transparent", "expected"),
    [
        (8, 0, b"\x05\x09", b"\0\x09", [5, 255]),
        (8, 2, b"\x05\x05\x05\x09\x09\x09", b"\0\x09\0\x09\0\x09", [5, 255]),
        (1, 0, b"\x80", b"\0\0", [255, 255]),
        (8, 3, b"\0\x01", b"\xff\0", [50, 255]),
    ],
)
def test_transparent_colors_are_white(
    tmp_path: Path, depth: int, kind: int, row: bytes, transparent: bytes, expected: list[int]
) -> None:
    palette = [(b"PLTE", bytes([50, 50, 50, 60, 60, 60]))] if kind == 3 else []
    path = write(tmp_path, png(2, 1, depth, kind, b"\0" + row, *palette, (b"tRNS", transparent)))
    assert read_image(path)[0, :, 0].tolist() == expected


def test_images_of_one_pixel(tmp_path: Path) -> None:
    path = write(tmp_path, png(1, 1, 8, 2, b"\0\x01\x02\x03"))
    assert read_image(path).tolist() == [[[1, 2, 3]]]
    assert image_size(path) == (1, 1)


def test_first_picture_of_several(tmp_path: Path) -> None:
    pages = [Image.fromarray(RGB), Image.fromarray(255 - RGB)]
    path = write(tmp_path, encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    np.testing.assert_array_equal(read_image(path), RGB)
    # Telephones save several pictures in one file; only its head differs from JPEG.
    photographs = write(tmp_path, encoded(pages[0], "MPO", save_all=True, append_images=pages[1:]))
    assert read_image(photographs).shape == RGB.shape


@pytest.mark.parametrize("format_", ["BMP", "JPEG", "PNG", "TIFF", "WEBP"])
def test_truncated_images_are_refused(tmp_path: Path, format_: str) -> None:
    noise = RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), format_)
    path = write(tmp_path, data[: len(data) * 2 // 3])
    with pytest.raises(DatasetError, match=r"image\.png: (cannot be read|is empty, damaged)"):
        read_image(path)


def test_sizes_are_told_by_the_head_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda image: loaded.append(image.size))
    assert image_size(write(tmp_path, encoded(Image.fromarray(RGB), "PNG"))) == (5, 7)
    assert not loaded


@pytest.mark.parametrize("size", [(20_000, 20_000), (10_000, 9_500), (10_000, 8_001), (2**31 - 1, 2**31 - 1)])
@pytest.mark.parametrize("action", ["error", "ignore"])
def test_images_that_fill_the_memory_are_refused(
    tmp_path: Path, size: tuple[int, int], action: Literal["error", "ignore"]
) -> None:
    path = write(tmp_path, png(*size, 8, 2, b"\0"))
    with warnings.catch_warnings():  # Pillow warns of some of them, and refuses the largest.
        warnings.simplefilter(action, Image.DecompressionBombWarning)
        expect_error(path, r"is too large.*; scale it down to at most 80 million pixels")


@pytest.mark.parametrize("size", [(0, 0), (0, 5), (5, 0)])
def test_images_without_pixels_are_refused(tmp_path: Path, size: tuple[int, int]) -> None:
    expect_error(write(tmp_path, png(*size, 8, 2, b"")), "is empty, damaged, or not an image")


@pytest.mark.parametrize("data", [b"", b"not an image", b"\x89PNG\r\n\x1a\n", b"BM", b"\xff\xd8\xff"])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    expect_error(write(tmp_path, data), "not an image of a known format|cannot be read")


@pytest.mark.parametrize("format_", ["GIF", "EPS", "PPM", "ICO"])
def test_formats_beyond_the_few_are_refused(tmp_path: Path, format_: str) -> None:
    expect_error(write(tmp_path, encoded(Image.fromarray(RGB), format_)), "not an image of a known format")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    expect_error(tmp_path / "missing.png", "there is no such file")
    expect_error(tmp_path, "is not a file")
    os.mkfifo(tmp_path / "pipe.png")
    expect_error(tmp_path / "pipe.png", "is not a file")
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nowhere.png")
    expect_error(tmp_path / "dangling.png", "there is no such file")


def test_pixels_without_a_known_white_are_refused(tmp_path: Path) -> None:
    floats = encoded(Image.fromarray(np.ones((2, 3), dtype=np.float32)), "TIFF")
    with pytest.raises(DatasetError, match="floating point"):
        read_image(write(tmp_path, floats))
    integers = encoded(Image.fromarray(np.full((2, 3), 70_000, dtype=np.int32)), "TIFF")
    with pytest.raises(DatasetError, match="more than 16 bits"):
        read_image(write(tmp_path, integers))


def test_masks_keep_their_indices(tmp_path: Path) -> None:
    palette = RNG.integers(0, 256, (36, 3), dtype=np.uint8)
    path = tmp_path / "mask.png"
    write_mask(path, INDICES, palette)
    np.testing.assert_array_equal(read_mask(path), INDICES)
    np.testing.assert_array_equal(read_image(path), palette[INDICES])
    with Image.open(path) as image:
        assert (image.format, image.mode) == ("PNG", "P")
        np.testing.assert_array_equal(np.asarray(image), INDICES)
    assert os.listdir(tmp_path) == ["mask.png"]


@pytest.mark.parametrize(
    ("depth", "kind", "row", "expected"),
    [
        (1, 0, b"\xa0", [1, 0, 1]),
        (2, 0, b"\x1c", [0, 1, 3]),
        (4, 0, b"\x1a\xf0", [1, 10, 15]),
        (8, 0, b"\x01\x02\xff", [1, 2, 255]),
        (16, 0, b"\0\x01\0\x02\0\xff", [1, 2, 255]),
        (1, 3, b"\xa0", [1, 0, 1]),
        (2, 3, b"\x18", [0, 1, 2]),
        (4, 3, b"\x12\x00", [1, 2, 0]),
        (8, 3, b"\x02\x01\x00", [2, 1, 0]),
    ],
)
def test_masks_of_any_depth(tmp_path: Path, depth: int, kind: int, row: bytes, expected: list[int]) -> None:
    palette = [(b"PLTE", bytes(9))] if kind == 3 else []
    path = write(tmp_path, png(3, 1, depth, kind, b"\0" + row, *palette))
    assert read_mask(path).tolist() == [expected]
    assert read_mask(path).dtype == np.uint8
    assert read_instances(path).tolist() == [expected]


def test_masks_must_hold_indices(tmp_path: Path) -> None:
    for image in (
        Image.fromarray(RGB),
        Image.fromarray(RGB).convert("RGBA"),
        Image.fromarray(RGB).convert("LA"),
    ):
        with pytest.raises(DatasetError, match="must hold indices"):
            read_mask(write(tmp_path, encoded(image, "PNG")))
    with pytest.raises(DatasetError, match=r"known format \(BMP, PNG, TIFF\)"):  # JPEG changes indices.
        read_mask(write(tmp_path, encoded(Image.fromarray(INDICES), "JPEG")))
    with pytest.raises(DatasetError, match="has the index 256"):
        read_mask(write(tmp_path, png(2, 1, 16, 0, b"\0\x01\0\0\x01")))


def test_masks_are_checked_before_writing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected uint8"):
        write_mask(tmp_path / "mask.png", INDICES.astype(np.int64), np.zeros((1, 3), dtype=np.uint8))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("largest", "mode"), [(0, "L"), (255, "L"), (256, "I;16"), (65535, "I;16")])
def test_maps_of_objects(tmp_path: Path, largest: int, mode: str) -> None:
    ids = np.array([[0, largest]])
    write_instances(tmp_path / "ids.png", ids)
    np.testing.assert_array_equal(read_instances(tmp_path / "ids.png"), ids)
    with Image.open(tmp_path / "ids.png") as image:
        assert image.mode == mode


@pytest.mark.parametrize("ids", [[[65536]], [[-1]], [1, 2]])
def test_maps_of_objects_are_checked_before_writing(tmp_path: Path, ids: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        write_instances(tmp_path / "ids.png", np.array(ids))


@pytest.mark.parametrize("name", ["image.png", "image.BMP", "image.tif"])
def test_images_are_written_as_they_are(tmp_path: Path, name: str) -> None:
    write_image(tmp_path / name, RGB)
    np.testing.assert_array_equal(read_image(tmp_path / name), RGB)
    write_image(tmp_path / name, INDICES)
    np.testing.assert_array_equal(read_image(tmp_path / name)[:, :, 2], INDICES)


def test_photographs_are_written_nearly_as_they_are(tmp_path: Path) -> None:
    ramp = np.repeat(np.arange(0, 240, 10, dtype=np.uint8)[np.newaxis, :, np.newaxis], 16, axis=0)
    image = np.repeat(ramp, 3, axis=2)
    write_image(tmp_path / "image.jpg", image)
    with Image.open(tmp_path / "image.jpg") as file:
        assert file.format == "JPEG"
    assert np.abs(read_image(tmp_path / "image.jpg").astype(int) - image).max() < 8


def test_bad_images_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must end in one of"):
        write_image(tmp_path / "image.exe", RGB)
    with pytest.raises(ValueError, match="expected uint8"):
        write_image(tmp_path / "image.png", RGB[:, :, :2])
    assert os.listdir(tmp_path) == []


SAMPLES = [
    encoded(Image.fromarray(RGB), "PNG"),
    encoded(Image.fromarray(RGB), "JPEG"),
    encoded(Image.fromarray(RGB), "BMP"),
    encoded(Image.fromarray(RGB), "TIFF", compression="tiff_lzw"),
    encoded(Image.fromarray(RGB), "WEBP"),
    encoded(Image.fromarray(INDICES).convert("P"), "PNG"),
]


@given(
    data=st.sampled_from(SAMPLES),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8),
    kept=st.floats(0.2, 1.0),
)
@example(data=SAMPLES[0], changes=[], kept=1.0)
def test_damaged_files_give_an_image_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, changes: list[tuple[int, int]], kept: float
) -> None:
    damaged = bytearray(data[: int(len(data) * kept)])
    for place, value in changes:
        damaged[place % len(damaged)] = value
    path = write(tmp_path_factory.getbasetemp(), bytes(damaged), "damaged.png")
    try:
        image = read_image(path)
    except DatasetError:
        return
    assert image.dtype == np.uint8
    assert image.shape == (*image_size(path), 3)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "I;16"])
def test_images_are_the_same_in_strips(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opaque = Image.fromarray(RGB)
    opaque.putalpha(Image.fromarray(INDICES * 7))
    image = Image.fromarray(INDICES.astype(np.uint16) * 1800) if mode == "I;16" else opaque.convert(mode)
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    if mode == "PA":  # As PNG has it: one color of the palette is transparent.
        opaque.convert("P").save(path, transparency=3)
    else:
        image.save(path)
    whole = read_image(path)
    monkeypatch.setattr(arrays, "STRIP_PIXELS", 14)
    np.testing.assert_array_equal(read_image(path), whole)
    assert whole.flags.writeable
