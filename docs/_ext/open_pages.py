"""Make the reports, and open them and the site in a browser (``make pages``). Pictures go to ``build/pages``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from browser import SIZES, BrowserMissingError, Chromium, find_chromium

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
OUT = BUILD / "pages"
SITE = (
    "index",
    "tutorials/rtl_engineer",
    "tutorials/researcher",
    "tutorials/administrator",
    "network",
    "vlarb",
    "reference/study_file",
    "reference/block_parameters",
    "reference/python_interface",
    "search",
)
REPORTS = {
    "cosim": ["cosim", "vlarb", "--fabric", "tests/data/irregular_s1", "--cycles", "200000", "--page"],
    "fabric": ["fabric", "check", "tests/data/tree43_ftree", "--page"],
    "study": [
        "simulate",
        "sim_top/configs/tree43_ib.toml",
        "--set",
        "run.loads=[0.2,0.5,0.8]",
        "--set",
        "run.cycles=5000",
        "--set",
        "run.warm_up_cycles=1000",
        "--jobs",
        "2",
        "--out",
    ],
}


def _reports() -> dict[str, Path]:
    made = {}
    for name, words in REPORTS.items():
        folder = BUILD / "reports" / name
        done = subprocess.run(
            [sys.executable, "-m", "vlane", *words, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        made[name] = folder / ("study.html" if name == "study" else "index.html")
        if done.returncode:
            sys.stderr.write(f"vlane {' '.join(words)}: exit status {done.returncode}\n{done.stderr}\n")
            sys.exit(1)
    return made


def _main() -> int:
    try:
        program = find_chromium()
    except BrowserMissingError as error:
        sys.stderr.write(f"vlane: {error}\n")
        return 2
    site = {name: BUILD / "docs" / f"{name}.html" for name in SITE}
    reports = _reports()
    count = bad = 0
    try:
        with Chromium(program) as browser:
            for name, page in {**site, **reports}.items():
                for size in SIZES:
                    picture = OUT / f"{name.replace('/', '-')}-{size}.png"
                    wrong = browser.look(page, picture, size, whole=name in reports)
                    count += 1
                    for each in wrong:
                        bad += 1
                        sys.stderr.write(f"{page} ({size}): {each}\n")
    except BrowserMissingError as error:
        sys.stderr.write(f"vlane: {error}\n")
        return 2
    sys.stdout.write(f"{count} pages opened, {bad} complaints; pictures are in {OUT.relative_to(ROOT)}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(_main())
