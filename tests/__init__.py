"""Tests of vlane.

This module removes terminal settings inherited from the shell before any library reads them on import.
"""

import os

for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)
