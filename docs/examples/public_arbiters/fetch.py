"""Fetch the pinned sources of the public arbiters: ``python fetch.py FOLDER [--url TEMPLATE]``.

The folder must lie outside this repository, which holds maps and instructions only.
"""

import argparse
import subprocess
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def fetch(entry, folder, url):
    """Check the files of one arbiter out at the pinned commit."""
    owner, name = entry["repository"].split("/")
    at = folder / f"{owner}+{name}"
    git = ["git", "-C", str(at)]
    if not (at / ".git").exists():
        at.mkdir(parents=True, exist_ok=True)
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "remote", "add", "origin", url.format(owner=owner, name=name)], check=True)
    known = subprocess.run([*git, "cat-file", "-e", entry["commit"]], check=False, capture_output=True)
    if known.returncode:
        subprocess.run(
            [*git, "fetch", "-q", "--filter=blob:none", "--depth", "1", "origin", entry["commit"]], check=True
        )
    listed = subprocess.run([*git, "ls-tree", "-r", "--name-only", entry["commit"]], check=True, capture_output=True)
    present = set(listed.stdout.decode().splitlines())
    wanted = [*entry["files"], *(name for name in entry["includes"] if name in present)]
    subprocess.run([*git, "checkout", "-q", entry["commit"], "--", *wanted], check=True)


def main():
    """Fetch every arbiter of arbiters.toml."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("--url", default="https://github.com/{owner}/{name}", help="address with {owner} and {name}")
    given = words.parse_args()
    if HERE.parents[2] in given.folder.resolve().parents:
        words.error("FOLDER must lie outside this repository")
    for entry in tomllib.loads((HERE / "arbiters.toml").read_text()).values():
        fetch(entry, given.folder, given.url)
        print(f"{entry['repository']} {entry['commit'][:7]}: {', '.join(Path(file).name for file in entry['files'])}")


if __name__ == "__main__":
    main()
