"""Stands for the training process: tells what the options' number of superpixels, or PLAYS, asks for."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

MODEL, FAIL, CRASH, WAIT = 1, 2, 3, 4
GO = "go"  # the file that ends the wait


def main() -> None:
    """Play a training."""
    options, folder = json.loads(sys.argv[2]), Path(sys.argv[1])
    print(json.dumps({"type": "stage", "stage": "learning", "done": 1, "total": 2, "left": 1.0}), flush=True)
    plays = int(os.environ.get("PLAYS", options["superpixels"]))
    if plays == FAIL:
        print(json.dumps({"type": "error", "text": "no image has a cow"}), flush=True)
        raise SystemExit(2)
    if plays == CRASH:
        raise RuntimeError("out of luck")
    if plays == WAIT:
        (folder / "pid").write_text(str(os.getpid()))
        end = time.monotonic() + 60
        while not (folder / GO).exists() and time.monotonic() < end:
            time.sleep(0.02)
    print(json.dumps({"type": "model", "n_images": 2, "seconds": 0.1}), flush=True)


if __name__ == "__main__":
    main()
