#!/usr/bin/env bash
# Downloads the servers that the tests start (Kafka, PostgreSQL) into the cache, where they are not there.
set -euo pipefail
# shellcheck source=tools/platform.sh
source "$(dirname "$0")/platform.sh"

download() { PENSTOCK_CACHE="$CACHE" "$ROOT/.venv/bin/penstock" dev download >&2; }

need_java
# Maven is needed only for what is not there yet.
have mvn || { download 2>/dev/null && exit 0; } || need_maven
download || die "The servers could not be downloaded (see above)."
