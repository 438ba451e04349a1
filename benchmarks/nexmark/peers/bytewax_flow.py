"""Nexmark in bytewax: two processes, no recovery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from nexmark.peers.arguments import Arguments, Report, parse_arguments
from nexmark.peers.bytewax_files import INPUT, QUERY, ROWS, SIDE_INPUT, WORK
from nexmark.peers.flink_input import READERS, one_file_per_reader

PIECE_SECONDS = 0.5


def main() -> None:
    arguments = parse_arguments()
    report = Report(settings="two processes, no recovery")
    with report.aside():
        for table in arguments.description.reads:
            one_file_per_reader(arguments.files_of(table), arguments.work / "input" / table)
    environment = {
        **os.environ,
        QUERY: arguments.query,
        INPUT: str(arguments.work / "input"),
        WORK: str(arguments.work),
        SIDE_INPUT: str(arguments.input / "side_input.csv"),
    }
    if arguments.rows is not None:
        arguments.rows.mkdir(parents=True, exist_ok=True)
        environment[ROWS] = str(arguments.rows)
    command = [sys.executable, "-m", "bytewax.testing", "-p", str(READERS), "nexmark.peers.bytewax_queries:flow"]
    subprocess.run(command, env=environment, check=True)
    ended, rows, checksums = zip(*(json.loads(path.read_text()) for path in worker_reports(arguments)), strict=True)
    if arguments.rows is None:
        report.rows, report.checksum = sum(rows), sum(checksums)
    readings = sorted(reading for path in arguments.work.glob("read-*") for reading in read_progress(path))
    report.first_record_read(readings[0][0])
    report.samples = samples_of(readings, max(ended))
    report.write(arguments.result)


def worker_reports(arguments: Arguments) -> list[Path]:
    """What each process has written at its end."""
    reports = sorted(arguments.work.glob("worker-*.json"))
    if len(reports) != READERS:
        raise RuntimeError(f"{len(reports)} of {READERS} bytewax workers reported a result")
    return reports


def read_progress(path: Path) -> list[tuple[float, int]]:
    """(time, records) of the batches that a source has read."""
    lines = (line.split() for line in path.read_text().splitlines())
    return [(float(at), int(records)) for at, records in lines]


def samples_of(readings: list[tuple[float, int]], ended: float) -> list[tuple[int, float]]:
    """(records, seconds) of consecutive pieces: the records that were read in the time up to the next piece."""
    samples: list[tuple[int, float]] = []
    since, records = readings[0][0], 0
    for at, read in readings:
        if at - since >= PIECE_SECONDS and records:
            samples.append((records, at - since))
            since, records = at, 0
        records += read
    return [*samples, (records, ended - since)]


if __name__ == "__main__":
    main()
