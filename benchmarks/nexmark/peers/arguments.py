"""What the peers' programs share: their arguments, the size of the input, and the report at the end."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nexmark.schema import QUERIES, Query

WATERMARK_DELAY_MS = 4_000


def program_started() -> float:
    """When this process began (Linux; elsewhere it is now)."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return time.time()
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


@dataclass(frozen=True)
class Arguments:
    """What the runner tells a program."""

    query: str
    input: Path
    work: Path
    result: Path
    rows: Path | None
    records_per_epoch: int

    @property
    def description(self) -> Query:
        """What the query reads and gives."""
        return QUERIES[self.query]

    def files_of(self, table: str) -> list[Path]:
        """The files of a table, in order."""
        return sorted([*self.input.glob(f"{table}.parquet"), *self.input.glob(f"{table}-*.parquet")])

    def records(self) -> int:
        """How many rows the tables of the query have."""
        counts = self.meta()["counts"]
        return sum(counts[table] for table in self.description.reads)

    def meta(self) -> dict[str, Any]:
        """The settings of the generator."""
        return json.loads((self.input / "meta.json").read_text())


def parse_arguments() -> Arguments:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--query", required=True, choices=sorted(QUERIES))
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--records-per-epoch", type=int, default=250_000)
    return Arguments(**vars(parser.parse_args()))


@dataclass
class Report:
    """What a program writes at its end."""

    samples: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    startup_seconds: float = 0.0
    aside_seconds: float = 0.0
    aside_cpu_seconds: float = 0.0
    """What the preparation of the input and the check of the output have cost: they are no part of the program."""
    rows: int | None = None
    checksum: int | None = None
    bid_total: int | None = None
    output: str | None = None
    """Where the rows are, of a query that writes files in any case."""
    settings: str = ""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Work that is not measured."""
        started, cpu_started = time.time(), sum(os.times()[:4])
        yield
        self.aside_seconds += time.time() - started
        self.aside_cpu_seconds += sum(os.times()[:4]) - cpu_started

    def first_record_read(self, at: float) -> None:
        """Notes how long the start of the program took; nothing but preparation was aside so far."""
        self.startup_seconds = at - program_started() - self.aside_seconds

    def write(self, path: Path) -> None:
        """Leaves out what is not known."""
        path.write_text(json.dumps({name: value for name, value in vars(self).items() if value is not None}))
