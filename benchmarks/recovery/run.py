"""What state costs an epoch, and what it costs to have it on a new host: Penstock and Spark's RocksDB state store.

run.py [--keys 1000000] [--changed 10000] [--rounds 12]; writes docs/recovery.md and docs/benchmarks/recovery.json.

Goals, on two cores: an epoch that changes 10,000 of a million keys takes at most 150 ms more than one without state, a
million keys (about 100 MB) are on a new host within 10 s, a savepoint of them takes at most 10 s, and the bytes that an
epoch writes follow what it changes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCHMARKS))

from recovery.page import recovery_page  # noqa: E402
from recovery.rounds import ENTRY_BYTES, write_rounds  # noqa: E402

DOCS = BENCHMARKS.parent / "docs"
MEASURED = 8


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
    figures["bytes changed by an epoch"] = changed * ENTRY_BYTES
    figures["bytes written by an epoch"] = statistics.median(bytes_of_epochs(Path(checkpoint))[-MEASURED:])
    without = (str(source), str(place / "other"), str(place / "other-local"), str(changed), "--without-state")
    figures["without state"] = run("penstock_state.py", *without)
    figures["RocksDB"] = run("rocksdb_state.py", str(source), str(place / "spark"))
    write_rounds(source, keys=keys, changed=changed, rounds=2, start=rounds)
    figures["again without state"] = run("penstock_state.py", *without)
    shutil.rmtree(local, ignore_errors=True)
    figures["on a new host"] = run("penstock_state.py", *penstock, "--savepoint")
    figures["RocksDB on a new host"] = run("rocksdb_state.py", str(source), str(place / "spark"))
    # Both start a JVM and workers; only one has to read the state.
    figures["seconds of recovery"] = (
        figures["on a new host"]["first_epoch_s"] - figures["again without state"]["first_epoch_s"]
    )
    figures["seconds of a savepoint"] = figures["on a new host"]["savepoint_s"]
    figures["epoch ms above one without state"] = (
        figures["with state"]["epoch_ms"] - figures["without state"]["epoch_ms"]
    )
    return figures


def bytes_of_epochs(checkpoint: Path) -> list[int]:
    """What retained epochs have written for state, oldest first: deltas, and snapshots that were begun in them."""
    sizes: dict[tuple[int, int], int] = {}
    for path in (checkpoint / "state").glob("*/*"):
        epoch = int(path.parent.name), int(path.name.split("-")[0])
        sizes[epoch] = sizes.get(epoch, 0) + path.stat().st_size
    return [size for _, size in sorted(sizes.items())]


def main() -> None:
    """Measures and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--changed", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--docs", type=Path, default=DOCS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-recovery-") as place:
        figures = measure(Path(place), arguments.keys, arguments.changed, arguments.rounds)
    (arguments.docs / "benchmarks").mkdir(parents=True, exist_ok=True)
    text = json.dumps(figures, indent=2) + "\n"
    (arguments.docs / "benchmarks" / "recovery.json").write_text(text, encoding="utf-8")
    (arguments.docs / "recovery.md").write_text(recovery_page(figures), encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
