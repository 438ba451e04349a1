#!/usr/bin/env bash
# Makes .venv: Python 3.11+, the packages of requirements.lock (hashes checked), Penstock itself as an editable install.
set -euo pipefail
# shellcheck source=tools/platform.sh
source "$(dirname "$0")/platform.sh"
cd "$ROOT"

need_java
need_uv

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    say "making .venv ..."
    # Bytewax, which the benchmarks compare with, has wheels up to 3.12.
    "$UV" venv -q --clear --python '>=3.11,<3.13' .venv 2>/dev/null \
        || "$UV" venv -q --clear --python '>=3.11' .venv \
        || die "PySpark 4.3 needs Python 3.11 or newer, and none was found or could be downloaded." \
            "Install it:  $(python_hint)"
fi

say "installing the packages of requirements.lock ..."
export VIRTUAL_ENV="$ROOT/.venv"
"$UV" pip sync -q --require-hashes requirements.lock
"$UV" pip install -q --no-deps --no-build-isolation --editable .
say "keeping Spark's Java classes for faster starts ..."
.venv/bin/penstock warm-up >/dev/null 2>&1 || say "(that did not work; programs start without it, a few seconds later)"
touch .venv/.installed
say "the environment is ready: .venv"
