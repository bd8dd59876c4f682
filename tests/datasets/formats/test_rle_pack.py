"""Label Studio's run lengths, against values published by others."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from format_cases import BRUSH
from multiutility.datasets.formats import rle_pack

WORDS = np.zeros(1024, dtype=int)
WORDS[512:541] = [1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1]

# From the tests of the library rle-pack (words of 3 bits; counts of 3, 4, 8, 16 and of 1, 2, 4, 9 bits), with
# lists of single words as well as runs; and from the tests of label-studio-converter.
PUBLISHED = [
    (
        [0, 0, 4, 0, 17, 27, 255, 1, 255, 18, 24, 212, 78, 24, 5, 134, 68, 227, 82, 30, 3, 196, 0],
        WORDS,
    ),
    ([0, 0, 4, 0, 16, 9, 199, 255, 140, 134, 234, 206, 96, 89, 150, 119, 89, 15, 241, 0], WORDS),
    (
        [0, 0, 0, 18, 57, 27, 252, 96, 32, 1, 0, 6, 0, 40, 0, 192, 3, 128, 17, 56, 32],
        np.array([1, 1, 1, 1, 2, 3, 5, 6, 7, 8, 4, 4, 4, 4, 4, 4, 4, 4]),
    ),
]


@pytest.mark.parametrize(("data", "words"), PUBLISHED)
def test_published_values_are_decoded(data: list[int], words: np.ndarray) -> None:
    np.testing.assert_array_equal(rle_pack.decode(data, 2000), words)


def test_a_mask_that_label_studio_converter_encoded() -> None:
    mask = np.zeros((5, 7), dtype=int)
    mask[1:4, 2:6] = mask[0, 0] = mask[4, 6] = 255
    words = rle_pack.decode(BRUSH, 140).reshape(5, 7, 4)
    np.testing.assert_array_equal(words, np.repeat(mask[:, :, np.newaxis], 4, axis=2))
    # It adds a byte where none is needed.
    assert rle_pack.encode(words.ravel()) == BRUSH


@given(
    words=st.lists(
        st.tuples(st.integers(0, 255), st.sampled_from([1, 2, 8, 9, 16, 17, 256, 257, 70_000])), max_size=6
    )
)
def test_what_is_encoded_is_decoded(words: list[tuple[int, int]]) -> None:
    values = np.repeat([value for value, _ in words], [count for _, count in words]).astype(int)
    np.testing.assert_array_equal(rle_pack.decode(rle_pack.encode(values), len(values)), values)


@given(cut=st.integers(0, 22))
def test_truncated_data_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match=r"header|ends after"):
        rle_pack.decode(PUBLISHED[0][0][:cut][: -1 if cut == 22 else None], 2000)


@given(data=st.lists(st.integers(0, 255), max_size=40))
def test_any_bytes_are_decoded_or_refused(data: list[int]) -> None:
    with contextlib.suppress(ValueError):
        assert len(rle_pack.decode(data, 1000)) <= 1000


def test_sizes_beyond_the_image_are_refused_before_memory_is_taken() -> None:
    with pytest.raises(ValueError, match="4294967295 values, expected at most 140"):
        rle_pack.decode([255, 255, 255, 255, 57, 27, 252, 127, 248], 140)


def test_runs_beyond_the_end_are_refused() -> None:
    with pytest.raises(ValueError, match="more values"):
        rle_pack.decode([0, 0, 0, 2, 57, 27, 252, 64, 32], 140)


@pytest.mark.parametrize("words", [[-1], [256], [[1]]])
def test_words_that_are_no_bytes_are_refused(words: list[int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        rle_pack.encode(words)


def test_bytes_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="range"):
        rle_pack.decode([0, 0, 0, 300, 1, 1, 1], 140)
