"""Generates the events of Nexmark as Parquet files: persons, auctions and bids of an auction site.

    python benchmarks/nexmark/generator.py --events 1000000 --output DIR [--seed 7] [--rate 10000] ...

The same settings and seed give the same rows. README.md says what is in the directory.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nexmark.event_numbers import DEFAULT_SETTINGS, EventNumbers, Settings
from nexmark.event_tables import EventTables

ROWS_PER_GROUP = 50_000
"""Small enough that the readers of a file can share it."""
SIDE_INPUT_ROWS = 10_000


@dataclass(frozen=True)
class Dataset:
    """How many events, of what settings."""

    events: int
    seed: int = 7
    settings: Settings = DEFAULT_SETTINGS
    events_per_file: int = 250_000
    """Events that are drawn at once, with random numbers of their own, and written to a file."""

    def blocks(self) -> Iterator[dict[str, pa.Table]]:
        """The tables of each block of events, in the order of arrival."""
        tables = EventTables(self.settings, self.seed)
        for block, start in enumerate(range(0, self.events, self.events_per_file)):
            number = min(self.events_per_file, self.events - start)
            yield tables.make(block, EventNumbers.of(self.settings, start, number))

    def write(self, directory: Path) -> None:
        """Writes the directory; `meta.json` is written last, and says that the rest is there."""
        directory.mkdir(parents=True, exist_ok=True)
        counts = dict.fromkeys(("persons", "auctions", "bids"), 0)
        for block, tables in enumerate(self.blocks()):
            suffix = "" if self.events <= self.events_per_file else f"-{block:05d}"
            for name, table in tables.items():
                counts[name] += len(table)
                pq.write_table(table, directory / f"{name}{suffix}.parquet", row_group_size=ROWS_PER_GROUP)
        (directory / "side_input.csv").write_text("".join(f"{i},{i}\n" for i in range(SIDE_INPUT_ROWS)))
        meta = {"events": self.events, "seed": self.seed, "events_per_file": self.events_per_file}
        meta |= {"counts": counts, **asdict(self.settings)}
        (directory / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def make_dataset(root: Path, dataset: Dataset) -> Path:
    """The directory of a dataset, made where it is not there yet."""
    changed = [
        f"-{field.name}={getattr(dataset.settings, field.name)}"
        for field in fields(Settings)
        if getattr(dataset.settings, field.name) != field.default
    ]
    if dataset.events_per_file != Dataset.events_per_file:
        changed.append(f"-events_per_file={dataset.events_per_file}")
    directory = root / f"nexmark1-{dataset.events}-{dataset.seed}{''.join(changed)}"
    if not (directory / "meta.json").exists():
        dataset.write(directory)
    return directory


def parse_arguments() -> tuple[Path, Dataset]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=Dataset.seed)
    parser.add_argument("--events-per-file", type=int, default=Dataset.events_per_file)
    for field in fields(Settings):
        if field.name != "double_bidder_offset":
            parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    parser.add_argument("--single-bidder-offset", action="store_true", help="bidders have the ids of persons")
    given: dict[str, Any] = vars(parser.parse_args())
    settings = {field.name: given[field.name] for field in fields(Settings) if field.name in given}
    settings["double_bidder_offset"] = not given["single_bidder_offset"]
    return given["output"], Dataset(given["events"], given["seed"], Settings(**settings), given["events_per_file"])


def main() -> None:
    directory, dataset = parse_arguments()
    dataset.write(directory)
    print(json.loads((directory / "meta.json").read_text())["counts"])


if __name__ == "__main__":
    main()
