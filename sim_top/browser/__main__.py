"""Write ``arbiter.html`` into the folder that the command line names (``make page``)."""

from __future__ import annotations

import sys
from pathlib import Path

from vlane.errors import InputError
from vlane.extras import MissingExtraError
from vlane.sim_top.browser.build import write_page

if __name__ == "__main__":
    try:
        sys.stdout.write(f"{write_page(Path(sys.argv[1]))}\n")
    except (InputError, MissingExtraError) as error:
        sys.stderr.write(f"vlane: {error}\n")
        sys.exit(2)
