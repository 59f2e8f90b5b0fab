#!/bin/sh
# Makes .venv with everything pinned, checked by hash. Says what is missing, and the command that installs it, before it starts.
set -eu
cd "$(dirname "$0")/.."

missing() {
    echo "vlane: $1 is missing. Install it with: $2" >&2
    exit 1
}

python=""
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || missing "Python 3.11 or newer" "apt-get install python3 python3-venv  (Fedora: dnf install python3.12)"
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing "Python's venv module" "apt-get install python3-venv"
command -v make >/dev/null || missing "make" "apt-get install make  (Fedora: dnf install make)"
command -v g++ >/dev/null || missing "a C++ compiler (g++)" "apt-get install g++  (Fedora: dnf install gcc-c++)"

echo "vlane: setting up .venv (once; about a minute)" >&2
"$python" -m venv .venv
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Only what the pinned hashes name is installed, and nothing is built but the checkout, by the backend that is pinned too.
.venv/bin/python -m pip install --quiet --quiet --require-hashes --only-binary :all: --requirement requirements.txt
.venv/bin/python -m pip install --quiet --quiet --no-deps --no-build-isolation --editable .
touch .venv/.ready
