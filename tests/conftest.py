"""Settings of the tests."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline: machines that run many jobs at once are slow at times.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")
