#!/usr/bin/env bash
# Downloads the servers that the tests start (Kafka, PostgreSQL) into the cache, where they are not there.
set -euo pipefail
# shellcheck source=tools/platform.sh
source "$(dirname "$0")/platform.sh"

need_java
need_maven
PENSTOCK_CACHE="$CACHE" "$ROOT/.venv/bin/penstock" dev download >&2 || die "The servers could not be downloaded (see above)."
