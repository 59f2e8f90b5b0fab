"""Tests of vlane.

Settings of the terminal that ``make test`` was started from are removed here, before anything reads them on import.
"""

import os

for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)
