"""From a folder of pictures to masks of new ones, in the time of a coffee.

    python examples/five_minute_start.py

A dataset is a folder that you can make with a spreadsheet. Here its pictures are generated: a few scenes
have masks, all others only say what is in them. Prints what the folder has, how good the model is on scenes
that it has never seen, and what it finds in one of them. With your own folder, leave out the first step; the
command line does the same by ``multiutility train DIR --out model.safetensors`` and ``evaluate``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from multiutility.datasets import DatasetFolder, summarize
from multiutility.datasets.scenes import make_scenes
from multiutility.datasets.writing import write_dataset
from multiutility.vision import Segmenter
from multiutility.vision.weaken import weaken


def main() -> None:
    """Make a dataset, learn, look, keep."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        # 1. A dataset: pictures, classes.csv, and what you annotated. These have 5 masks and 11 times tags.
        scenes = make_scenes(folder / "scenes", n_train=16, n_validation=8, size=(72, 96))
        train = scenes.split("train")
        write_dataset(folder / "mine", scenes.classes, weaken(train, keep_masks=5))
        mine = DatasetFolder(folder / "mine")
        print("annotated:", ", ".join(f"{n} x {kinds}" for kinds, n in summarize(mine).mix.items()))

        # 2. Learn from everything at once. "paper" is quick; the default, "deep", is the best on photographs.
        model = Segmenter(features="paper", n_superpixels=40, tol=0.2, max_iter=5)
        model.fit(mine)

        # 3. See how good it is on scenes that were kept apart, and what it makes of one of them.
        new = scenes.split("validation")
        print(f"right pixels in new scenes: {model.score(new):.2f}")
        (mask,) = model.predict([new[new.names[0]].path])
        values, counts = np.unique(mask, return_counts=True)
        largest = mine.classes[int(values[counts.argmax()]) - 1].name
        print(f"{new.names[0]} is mostly {largest}")

        # 4. Keep it: one file, without code in it.
        model.save(folder / "model.safetensors")
        again = Segmenter.load(folder / "model.safetensors").predict([new[new.names[0]].path])[0]
        print("the same after loading:", bool((again == mask).all()))


if __name__ == "__main__":
    main()
