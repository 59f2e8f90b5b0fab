"""``python -m vlane.tb.machinery.plants FILE LINE INSTEAD VERB ...``: run vlane with one changed line of hardware."""

from __future__ import annotations

import runpy
import sys

from vlane.tb.machinery.plants.plant import install

if __name__ == "__main__":
    file, line, instead, *words = sys.argv[1:]
    install(file, line, instead)
    sys.argv = ["vlane", *words]
    runpy.run_module("vlane", run_name="__main__", alter_sys=False)
