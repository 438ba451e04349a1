"""How long records are on their way, Kafka to Kafka: 1,000 a second, p50 and p99, one program after the other.

    python benchmarks/latency/run.py [--only NAME ...] [--sustained [NAME ...]] [--rate N] [--seconds N] [--docs]

With `--sustained` the rate of some programs is raised until their results fall behind. With `--docs` figures go to
docs/benchmarks/latency.json and docs/latency.md; those of other programs stay there.

Producer and reader run in this process, the broker beside it on the same cores.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "benchmarks"), str(CHECKOUT / "tests")]

from latency.contenders import CONTENDERS, SUSTAINED  # noqa: E402
from latency.measure import RATE, SECONDS, WARM_UP_SECONDS, measure_latency, measure_sustained  # noqa: E402
from latency.report import save_latency  # noqa: E402

CACHE = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache")) / "bench"
RATES = [1_000 * 2**step for step in range(8)]


def main() -> int:
    """Prints the figures; the exit status says whether every goal was met."""
    options = parse_options()
    times = {"seconds": options.seconds, "warm_up": options.warm_up}
    measured: dict[str, Any] = {}
    if options.sustained is not None:
        measured["sustained"] = measure_sustained(CACHE, options.sustained or SUSTAINED, RATES, **times)
    if options.only or options.sustained is None:
        measured["runs"] = measure_latency(CACHE, options.only, rate=options.rate, **times)
    if options.docs:
        save_latency(measured)
    met = True
    for name, figures in measured.get("runs", {}).items():
        for missed in CONTENDERS[name].misses(figures):
            met = False
            print(f"  MISSED: {name}, {missed}", flush=True)
    return 0 if met else 1


def parse_options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS), metavar="NAME", help=", ".join(CONTENDERS))
    parser.add_argument(
        "--sustained",
        nargs="*",
        choices=list(CONTENDERS),
        metavar="NAME",
        help=f"raise the rate until results fall behind ({', '.join(SUSTAINED)})",
    )
    parser.add_argument("--rate", type=int, default=RATE, help="records a second")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long is measured, after a warm-up")
    parser.add_argument("--warm-up", type=float, default=WARM_UP_SECONDS, help="seconds behind the first result")
    parser.add_argument("--docs", action="store_true", help="write the results to docs/")
    options = parser.parse_args()
    if options.docs and options.rate != RATE:
        parser.error(f"the figures in docs/ are those of {RATE} records a second")
    return options


if __name__ == "__main__":
    sys.exit(main())
