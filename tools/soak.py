"""Half an hour of faults: `make soak`. Writes docs/fault-table.md.

Parts, each bounded in time: schedules of faults on the local engine with virtual time; real SIGKILL to drivers on
the local engine; real SIGKILL to drivers, JVMs, Python workers and executors on Spark, and to a Kafka broker and a
PostgreSQL server. After each run an oracle that knows nothing of Penstock compares every sink with the input.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CHECKOUT / "tests"), str(CHECKOUT / "tools")]

from soak_local import kill_local_drivers, run_local_schedules  # noqa: E402
from soak_results import SoakResults  # noqa: E402
from soak_spark import Target, kill_on_spark  # noqa: E402

TABLE = CHECKOUT / "docs" / "fault-table.md"


def main() -> None:
    """Runs all parts, writes the page, and fails if any run was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=27)
    parser.add_argument("--kills", type=int, default=200, help="end before the time is over when there are so many")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))  # noqa: S311
    parser.add_argument("--without-local", action="store_true", help="no parts on the local engine")
    targets = [target.name.lower() for target in Target]
    parser.add_argument("--targets", default=",".join(targets), help="where Spark jobs run; empty: nowhere")
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)  # noqa: S311  faults, not secrets
    started = time.monotonic()

    def left(share: float) -> float:
        """The moment at which a part ends that may take this share of all the time."""
        return min(time.monotonic() + share * arguments.minutes * 60, started + arguments.minutes * 60)

    results = SoakResults(arguments.seed)
    if not arguments.without_local:
        run_local_schedules(results, rng, until=left(0.15))
        kill_local_drivers(results, rng, until=left(0.15))
    targets = [Target[name.upper()] for name in arguments.targets.split(",") if name]
    if targets:
        seconds = max(40.0, 0.1 * arguments.minutes * 60)
        while time.monotonic() < started + arguments.minutes * 60 * 0.9 and (
            results.kills < arguments.kills or results.spark_runs < len(targets)
        ):
            kill_on_spark(results, rng, targets[results.spark_runs % len(targets)], seconds)
    results.seconds = time.monotonic() - started
    arguments.table.write_text(results.page(), encoding="utf-8")
    print(json.dumps(results.summary()), flush=True)
    sys.exit(1 if results.failures else 0)


if __name__ == "__main__":
    main()
