"""What partitions, records and keys cost an epoch: the figures behind docs/concepts/scale.md.

run.py [--partitions 1,2,4,8,16,64] [--records 20000] [--keys 10000] [--epochs 10]; writes docs/benchmarks/scale.json
and docs/benchmarks/scale.md. Series: more partitions with the same work, then ten times the records, then ten times the
keys, with one number of partitions; the same, but less of it, with executors that are processes of their own, for the
CPU time of the driver's JVM; and what moves when a job goes on with other partitions. With --page nothing is measured:
the page is written of the figures that there are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCHMARKS))

from scale import cost_model  # noqa: E402
from scale.moved_state import moved_bytes  # noqa: E402

RESULTS = BENCHMARKS.parent / "docs" / "benchmarks"
MIDDLE = 4
MOST_EPOCHS = 1000
CLUSTER = "local-cluster[2,1,1024]"
MOST_ON_CLUSTER = 16
RESCALES = ((2, 4), (4, 8), (8, 4))
EPOCHS_AFTER = 3
"""Files of the take-over must still be there when the job has ended."""


def run(place: Path, partitions: int, records: int, keys: int, epochs: int, *master: str) -> dict[str, Any]:
    """The figures of so many epochs, in a process of its own; there is more to read then."""
    command = [sys.executable, str(BENCHMARKS / "scale" / "scaled_job.py")]
    command += [str(each) for each in (partitions, records, keys, epochs, MOST_EPOCHS)]
    command += [str(place / "checkpoint"), str(place / "local"), *master]
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not results:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
    print(results[-1], flush=True)
    return json.loads(results[-1].removeprefix("RESULT "))


def measure(partitions: list[int], records: int, keys: int, epochs: int) -> dict[str, list[dict[str, Any]]]:
    """All series."""

    def in_new_place(count: int, per_epoch: int, of_keys: int, *master: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="penstock-scale-") as place:
            return run(Path(place), count, per_epoch, of_keys, epochs, *master)

    middle = MIDDLE if MIDDLE in partitions else partitions[0]
    return {
        "partitions": [in_new_place(count, records, keys) for count in partitions],
        "records": [in_new_place(middle, each, keys) for each in (records // 10, records, records * 10)],
        "keys": [in_new_place(middle, records, each) for each in (keys // 10, keys, keys * 10)],
        cost_model.ON_CLUSTER: [
            *(in_new_place(count, records, keys, CLUSTER) for count in partitions if count <= MOST_ON_CLUSTER),
            in_new_place(middle, records * 10, keys, CLUSTER),
            in_new_place(middle, records, keys * 10, CLUSTER),
        ],
        cost_model.RESCALES: [
            _rescaled(before, after, records, of_keys, epochs)
            for of_keys in (keys, keys * 10)
            for before, after in RESCALES
        ],
    }


def _rescaled(before: int, after: int, records: int, keys: int, epochs: int) -> dict[str, Any]:
    """A job that is cancelled, and goes on with other partitions."""
    with tempfile.TemporaryDirectory(prefix="penstock-scale-") as place:
        first = run(Path(place), before, records, keys, epochs)
        return {
            **run(Path(place), after, records, keys, EPOCHS_AFTER),
            "partitions_before": before,
            "entries_at_rescale": first["state_entries"],
            "state_bytes_moved": moved_bytes(Path(place) / "checkpoint"),
        }


def page(figures: dict[str, list[dict[str, Any]]]) -> str:
    """The tables, in Markdown."""
    lines = ["# Scale: measured", "", "Written by `python benchmarks/scale/run.py`; do not edit."]
    lines += ["What the figures mean: [scale](../concepts/scale.md).", ""]
    for name, runs in figures.items():
        if name == cost_model.RESCALES:
            continue
        lines += [
            f"## {name}",
            "",
            "| partitions | records an epoch | keys | plan ms | run ms | commit ms | driver CPU ms | source µs/record "
            "| stage 1 µs/record | bytes/record | state bytes an epoch | state fetched |",
            "|---:" * 12 + "|",
        ]
        for each in runs:
            busy, size = each["us_per_record"], each["bytes_per_record"]
            cells = [each["partitions"], each["records_per_epoch"], each["keys"]]
            cells += [f"{each[part]:.1f}" for part in ("plan_ms", "run_ms", "commit_ms", "driver_cpu_ms_per_epoch")]
            cells += [f"{busy.get('0', 0):.2f}", f"{busy.get('1', 0):.2f}", f"{size.get('0', 0):.1f}"]
            cells += [f"{each['state_bytes_written_per_epoch']:.0f}", each["state_bytes_fetched"]]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        lines.append("")
    return "\n".join([*lines, *cost_model.section(figures)])


def main() -> None:
    """Measures and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", default="1,2,4,8,16,64")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page of what was measured")
    arguments = parser.parse_args()
    stored = arguments.results / "scale.json"
    if not arguments.page:
        partitions = [int(each) for each in arguments.partitions.split(",")]
        figures = measure(partitions, arguments.records, arguments.keys, arguments.epochs)
        arguments.results.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (arguments.results / "scale.md").write_text(page(json.loads(stored.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
