#!/usr/bin/env bash
# Renews requirements.lock from pyproject.toml: every platform, hashes, no address of any package index.
set -euo pipefail
# shellcheck source=tools/platform.sh
source "$(dirname "$0")/platform.sh"
cd "$ROOT"

need_uv
"$UV" pip compile -q --universal --upgrade --generate-hashes --no-emit-index-url --no-emit-find-links \
    --python-version 3.11 --all-extras \
    --custom-compile-command "make lock" --output-file requirements.lock pyproject.toml >/dev/null
if grep -nE '://' requirements.lock; then
    die "requirements.lock names a host (see above)."
fi
