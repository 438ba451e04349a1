"""What state costs an epoch, and what it costs to have it on a new host: Penstock and Spark's RocksDB state store.

run.py [--keys 1000000] [--changed 10000] [--rounds 12]; writes docs/benchmarks/recovery.json.

Goals, on two cores: an epoch that changes 10,000 of a million keys takes at most 150 ms more than one without state, a
million keys (about 100 MB) are on a new host within 10 s, a savepoint of them takes at most 10 s, and the bytes that an
epoch writes follow what it changes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCHMARKS))

from recovery.rounds import write_rounds  # noqa: E402

RESULTS = BENCHMARKS.parent / "docs" / "benchmarks" / "recovery.json"


def run(script: str, *arguments: str) -> dict[str, Any]:
    """The figures that a contender prints."""
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
    command = [sys.executable, str(BENCHMARKS / "recovery" / script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not results:
        raise SystemExit(f"{script} failed:\n{done.stderr[-4000:]}")
    return json.loads(results[-1].removeprefix("RESULT "))


def measure(place: Path, keys: int, changed: int, rounds: int) -> dict[str, Any]:
    """All contenders: with state, then again on a host that has none of it, with two more rounds to read."""
    source = place / "in"
    write_rounds(source, keys=keys, changed=changed, rounds=rounds)
    local, checkpoint = str(place / "local"), str(place / "checkpoint")
    figures: dict[str, Any] = {"keys": keys, "changed": changed}
    penstock = (str(source), checkpoint, local, str(changed))
    figures["with state"] = run("penstock_state.py", *penstock)
    without = (str(source), str(place / "other"), str(place / "other-local"), str(changed), "--without-state")
    figures["without state"] = run("penstock_state.py", *without)
    figures["RocksDB"] = run("rocksdb_state.py", str(source), str(place / "spark"))
    write_rounds(source, keys=keys, changed=changed, rounds=2, start=rounds)
    figures["again without state"] = run("penstock_state.py", *without)
    shutil.rmtree(local, ignore_errors=True)
    figures["on a new host"] = run("penstock_state.py", *penstock, "--savepoint")
    figures["RocksDB on a new host"] = run("rocksdb_state.py", str(source), str(place / "spark"))
    changed_bytes = sum(
        len(line) for path in sorted(source.glob("*.json"))[1:rounds] for line in path.read_bytes().splitlines()
    )
    first_bytes = sum(len(line) for line in (source / "00000.json").read_bytes().splitlines())
    figures["bytes written per byte of input"] = figures["with state"]["state_bytes_written"] / (
        first_bytes + changed_bytes
    )
    # Both start a JVM and workers; only one has to read the state.
    figures["seconds of recovery"] = (
        figures["on a new host"]["first_epoch_s"] - figures["again without state"]["first_epoch_s"]
    )
    figures["seconds of a savepoint"] = figures["on a new host"]["savepoint_s"]
    figures["epoch ms above one without state"] = (
        figures["with state"]["epoch_ms"] - figures["without state"]["epoch_ms"]
    )
    return figures


def main() -> None:
    """Measures and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--changed", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-recovery-") as place:
        figures = measure(Path(place), arguments.keys, arguments.changed, arguments.rounds)
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    arguments.results.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
