"""Stands for the resident learner: dies at once, or after its first picture if there is none yet."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

ALWAYS, ONCE = 1, 2


def main() -> None:
    """Play a learner."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    if options["superpixels"] == ALWAYS:
        raise RuntimeError("out of luck")
    picture = {"type": "picture", "name": None, "turn": 1, "final": True, "at": time.time(), "n_images": 2}
    print(json.dumps(picture), flush=True)
    died = folder / "died"
    if not died.exists():
        died.touch()
        raise SystemExit(1)
    for line in sys.stdin:
        with (folder / "orders").open("a") as file:
            file.write(line)
        print(json.dumps({**picture, "turn": 2}), flush=True)


if __name__ == "__main__":
    main()
