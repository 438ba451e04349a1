"""What every contender of a benchmark does alike: its arguments and its result."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Result:
    """What a contender measured. `samples` are (records, seconds) of consecutive pieces of the run."""

    samples: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    outputs: int = 0
    checksum: int = 0

    def add(self, outputs: int, checksum: int, seconds: float, records: int | None = None) -> None:
        """Takes one piece of the run; `records` are its inputs where they are not as many as its outputs."""
        self.samples.append((outputs if records is None else records, seconds))
        self.outputs += outputs
        self.checksum += checksum

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))


@dataclass(frozen=True)
class Arguments:
    """What the runner tells a contender."""

    input: Path
    result: Path
    work: Path
    """An empty directory for state, checkpoints and output."""
    files_per_epoch: int


def parse_arguments() -> Arguments:
    """The arguments of a contender's command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--files-per-epoch", type=int, default=4)
    return Arguments(**vars(parser.parse_args()))
