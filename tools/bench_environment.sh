#!/usr/bin/env bash
# bench_environment.sh NAME: makes .cache/bench/NAME from benchmarks/NAME.lock, once.
set -euo pipefail
# shellcheck source=tools/platform.sh
source "$(dirname "$0")/platform.sh"

lock="$ROOT/benchmarks/$1.lock"
home="$CACHE/bench/$1"
[ "$home/.installed" -nt "$lock" ] && exit
need_uv
say "making the environment of the $1 benchmarks ..."
# Bytewax has wheels for Python up to 3.12.
"$UV" venv -q --clear --python '>=3.11,<3.13' "$home" \
    || die "The $1 benchmarks need Python 3.11 or 3.12.  Install it:  $(python_hint)"
VIRTUAL_ENV="$home" "$UV" pip sync -q --require-hashes "$lock"
touch "$home/.installed"
