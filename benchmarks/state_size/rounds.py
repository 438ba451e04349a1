"""What a record of the running sum costs with more and more keys in state, as many of them touched in every epoch."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from common.inputs import START_OF_TIME, Expected, expected_of, value_of, write_records
from common.measure import BENCHMARKS, run_contender

STATE_SIZES = (10_000, 100_000, 1_000_000)
KEYS_TOUCHED = 10_000
RECORDS_PER_EPOCH = 100_000
FILES_PER_EPOCH = 2
EPOCHS = 30
"""Behind those that fill the state, which are less than a third of all: rates begin behind them."""


def measure_state_sizes(cache: Path, records: int | None = None) -> list[dict[str, Any]]:
    """The rate with each number of keys; `records` is for trying things out: fewer epochs, no more keys than that."""
    sizes = [keys for keys in STATE_SIZES if records is None or keys <= records]
    epochs = EPOCHS if records is None else max(2, records // RECORDS_PER_EPOCH)
    found: list[dict[str, Any]] = []
    for keys in sizes:
        directory = make_rounds(cache / f"state-size-{keys}-{epochs}", keys, epochs)
        measured = run_contender(
            f"{keys:,} keys",
            [sys.executable, str(BENCHMARKS / "keyed_sum" / "penstock_sum.py")],
            input_directory=directory,
            expected=expected_of(directory, "keyed_sum"),
            files_per_epoch=FILES_PER_EPOCH,
        )
        print(f"  {keys:>9,} keys {1e6 / measured.records_per_second:>8.2f} µs per record", flush=True)
        found.append({"keys": keys, **asdict(measured)})
    return found


def make_rounds(directory: Path, keys: int, epochs: int, records_per_epoch: int = RECORDS_PER_EPOCH) -> Path:
    """The input, made where it is not there yet: every key, as often as whole epochs need, then some of them."""
    if (directory / "expected.json").exists():
        return directory
    directory.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    fill = np.arange(-(-keys // records_per_epoch) * records_per_epoch) % keys
    touched = [
        random.choice(random.choice(keys, min(keys, KEYS_TOUCHED), replace=False), records_per_epoch)
        for _ in range(epochs)
    ]
    every = np.concatenate([fill, *touched])
    for number, part in enumerate(every.reshape(-1, records_per_epoch // FILES_PER_EPOCH)):
        times = START_OF_TIME + number * len(part) + np.arange(len(part))
        write_records(directory / f"part-{number:05d}.json", part, value_of(part), times)
    counts = np.bincount(every, minlength=keys)
    sums = value_of(np.arange(keys)) * counts * (counts + 1) // 2
    expected = {"keyed_sum": asdict(Expected(len(every), int(sums.sum())))}
    (directory / "expected.json").write_text(json.dumps(expected))
    return directory
