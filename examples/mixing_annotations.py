"""What annotations are worth together: a few masks, then tags and points on top of them.

    python examples/mixing_annotations.py

Masks take minutes each, tags seconds. The same scenes are learned from three times: from a few masks alone,
with tags of all other scenes, and with a point on each thing, too. Nothing has to be said about which picture
has what: a ``DatasetFolder`` may have any mix. Prints for each the part of the pixels of new scenes that is
right, and the mean over classes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from multiutility.datasets import DatasetFolder
from multiutility.datasets.scenes import make_scenes
from multiutility.datasets.writing import write_dataset
from multiutility.vision import Segmenter
from multiutility.vision.weaken import weaken

N_MASKS, N_SCENES, N_NEW = 6, 30, 12


def main() -> None:
    """Weaken the same scenes in three ways, learn from each, compare."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        scenes = make_scenes(folder / "scenes", N_SCENES, N_NEW, size=(72, 96))
        train, new = scenes.split("train"), scenes.split("validation")
        ways = {
            f"{N_MASKS} masks": {"tags": False},
            f"{N_MASKS} masks, and tags of {N_SCENES - N_MASKS} others": {},
            f"{N_MASKS} masks, and tags and points of {N_SCENES - N_MASKS} others": {"seeds": True},
        }
        for name, kinds in ways.items():
            write_dataset(folder / name, scenes.classes, weaken(train, keep_masks=N_MASKS, **kinds))
            # Features are kept in a folder, so that they are computed once.
            model = Segmenter("paper", n_superpixels=40, tol=0.3, max_iter=5, store=folder / "store")
            scores = model.fit(DatasetFolder(folder / name)).evaluate(new)
            print(f"{name:42} {scores['accuracy']:.3f} {scores['mean_recall']:.3f}")


if __name__ == "__main__":
    main()
