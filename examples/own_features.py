"""Features of your own: a small class that describes regions, in a preset with superpixels.

    python examples/own_features.py

A descriptor may learn something from training pictures, such as a vocabulary, and then gives every region of
a picture a row of numbers. These are histograms: what part of a region is at which height of the picture, and
has which color. Prints the part of the pixels of new scenes that is right: by height alone, and with colors.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multiutility.datasets.scenes import make_scenes
from multiutility.vision import Segmenter
from multiutility.vision.features.descriptor import Features, State
from multiutility.vision.features.descriptors.boundary import Boundary
from multiutility.vision.features.picture import Picture
from multiutility.vision.features.preset import Preset
from multiutility.vision.regions.superpixels import Slic

N_BANDS = 8


@dataclass(frozen=True)
class Histograms:
    """Parts of regions in bands of the picture's height and, with ``n_shades``, of red, green and blue."""

    n_shades: int = 0

    def fit(self, pictures: Sequence[Picture], rng: np.random.Generator) -> State:
        """Learn nothing; others learn scales or vocabularies, and return them as arrays by name."""
        del pictures, rng
        return {}

    def describe(self, picture: Picture, state: State) -> Features:
        """Return a row for each region: ``pool_mean`` takes means of any values of pixels [H, W, D]."""
        del state
        height, width = picture.shape
        band = np.arange(height) * N_BANDS // height
        pixels = np.broadcast_to(np.eye(N_BANDS)[band][:, np.newaxis], (height, width, N_BANDS))
        if self.n_shades:
            shade = picture.image.astype(np.int64) * self.n_shades // 256
            color = shade @ [self.n_shades**2, self.n_shades, 1]
            pixels = np.concatenate([pixels, np.eye(self.n_shades**3)[color]], axis=2)
        return np.asarray(picture.pool_mean(pixels), dtype=np.float32)


def main() -> None:
    """Learn with and without color."""
    with tempfile.TemporaryDirectory() as place:
        scenes = make_scenes(Path(place) / "scenes", n_train=20, n_validation=16, size=(72, 96))
        for name, descriptor in {
            "height": Histograms(),
            "height and color": Histograms(n_shades=3),
        }.items():
            # About 40 superpixels, our features of regions, and how strong borders between them are.
            preset = Preset(name, Slic(40), (descriptor,), (Boundary(),), weighted=True)
            model = Segmenter(preset, tol=0.3, refine=False).fit(scenes.split("train"))
            print(f"{name:20} {model.score(scenes.split('validation')):.3f}")


if __name__ == "__main__":
    main()
