"""The oracle: the reference behaviour of every block, in plain integers."""

import os

from vlane.isolation import WithoutFile

with WithoutFile(".numba_config.yaml"):
    from numba.core import config as _config

_config._config_fname = os.devnull
