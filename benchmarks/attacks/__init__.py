"""Attacks on the package, one subject a file; ``attack.py`` runs them.

The cases of the tests are attacked too, so that their folder is on the path.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))
