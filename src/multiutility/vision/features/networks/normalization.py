"""How networks want their colors: conventions by name, or means and deviations."""

from __future__ import annotations

from typing import TypeAlias

Color: TypeAlias = tuple[float, float, float]

IMAGENET_MEAN: Color = (123.675, 116.28, 103.53)
IMAGENET_STD: Color = (58.395, 57.12, 57.375)

# Means and deviations of RGB from 0 to 255.
CONVENTIONS: dict[str, tuple[Color, Color]] = {
    "imagenet": (IMAGENET_MEAN, IMAGENET_STD),
    "clip": ((122.7709383, 116.7460125, 104.09373615), (68.5005327, 66.6321579, 70.32316305)),
    "unit": ((0.0, 0.0, 0.0), (255.0, 255.0, 255.0)),
}


def normalization(text: str) -> tuple[Color, Color]:
    """Return mean and deviation of colors from 0 to 255: of a convention, or of 2 or 6 numbers.

    >>> normalization("unit")
    ((0.0, 0.0, 0.0), (255.0, 255.0, 255.0))
    >>> normalization("127.5,128")
    ((127.5, 127.5, 127.5), (128.0, 128.0, 128.0))
    """
    if text in CONVENTIONS:
        return CONVENTIONS[text]
    known = f"expected {', '.join(CONVENTIONS)}, or mean and deviation of colors from 0 to 255"
    wrong = ValueError(f"--normalize {text!r}: {known}, such as 127.5,127.5 or six numbers for RGB")
    try:
        numbers = [float(one) for one in text.split(",")]
    except ValueError:
        raise wrong from None
    if len(numbers) == 2:
        numbers = [numbers[0]] * 3 + [numbers[1]] * 3
    if len(numbers) != 6 or not all(0 <= one <= 255 for one in numbers) or min(numbers[3:]) <= 0:
        raise wrong
    red, green, blue, *deviations = numbers
    return (red, green, blue), (deviations[0], deviations[1], deviations[2])
