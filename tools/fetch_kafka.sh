#!/usr/bin/env bash
# Downloads the jars of the Kafka broker that the tests start (tests/services/pom.xml) into the cache.
set -euo pipefail
# shellcheck source=tools/platform.sh
source "$(dirname "$0")/platform.sh"

need_java
need_maven
target="$CACHE/kafka"
say "downloading the Kafka broker for the tests ..."
rm -rf "$target"
mkdir -p "$target"
mvn -B -q -Dstyle.color=never -f "$ROOT/tests/services/pom.xml" dependency:copy-dependencies -DoutputDirectory="$target/jars" >&2 \
    || die "Maven could not download the Kafka broker (see above)."
touch "$target/.complete"
