"""Half an hour of faults: `make soak`. Writes docs/fault-table.md.

Parts, each bounded in time: schedules of faults on the local engine with virtual time; real SIGKILL to drivers on
the local engine; drivers of the local engine with a Kafka broker and a PostgreSQL server, where at named steps drivers
and servers are killed, connections hang, the disk is full, files are cut, clocks jump and other drivers take over;
SIGKILL to drivers, JVMs, Python workers, executors and the servers on Spark, in epochs and in pipelined mode. After
each run an oracle that knows nothing of Penstock compares every sink with the input. Fewer kills than asked for are a
failure too.
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
from soak_servers import strike_at_steps  # noqa: E402
from soak_spark import Target, kill_on_spark  # noqa: E402

TABLE = CHECKOUT / "docs" / "fault-table.md"


def main() -> None:
    """Runs all parts, writes the page, and fails if any run was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=28)
    parser.add_argument("--kills", type=int, default=200, help="how many there must be; for short runs: fewer")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))  # noqa: S311
    parser.add_argument("--without-local", action="store_true", help="no parts on the local engine")
    parser.add_argument("--without-servers", action="store_true", help="not the part with named steps and servers")
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
        run_local_schedules(results, rng, until=left(0.08))
        kill_local_drivers(results, rng, until=left(0.15))
    if not arguments.without_servers:
        strike_at_steps(results, rng, until=left(0.25))
    targets = [Target[name.upper()] for name in arguments.targets.split(",") if name]
    if targets:
        # A run takes a while to begin and to end, too.
        seconds = max(30.0, 0.08 * arguments.minutes * 60)
        while time.monotonic() < started + arguments.minutes * 60 * 0.9:
            kill_on_spark(results, rng, targets[results.spark_runs % len(targets)], seconds)
    results.seconds = time.monotonic() - started
    arguments.table.write_text(results.page(), encoding="utf-8")
    print(json.dumps(results.summary()), flush=True)
    sys.exit(1 if results.failures or results.kills < arguments.kills else 0)


if __name__ == "__main__":
    main()
