"""Small stand-ins for what takes time: features, the demo, the pause between checkpoints."""

from __future__ import annotations

import time
from functools import partial

from multiutility.demo import run as demo
from multiutility.learning.checkpoint import journal
from multiutility.vision import features
from multiutility.vision.features import presets
from toy import toy_preset


def use_toys() -> None:
    """Use them in this process, whose clock stands still: else files that tell how long it took differ."""
    presets.PRESETS["deep"] = toy_preset
    features.KINDS["MeanColor"] = "toy"
    journal.EVERY, journal.SHARE = 0.02, 0
    demo.SIZE = (36, 48)
    vars(demo)["run_demo"] = partial(
        demo.run_demo, n_train=6, n_validation=2, mix=demo.Mix(2, 1, 1), features=toy_preset()
    )
    vars(time)["perf_counter"] = lambda: 0.0


if __name__ == "__mp_main__":  # the name of the main module in processes that commands start
    use_toys()
