"""A case of the fuzzer: in which order records arrive, how epochs are cut, and where the job crashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.testing.script import Step, pause, record

Arrival = int | Literal["pause", "idle"]
"""The number of a record of the input; a pause in which other splits go on; silence until the source ends."""
TimedRecord = tuple[Any, int]
"""A record and its timestamp in ms."""
Records = Sequence[TimedRecord]

PAUSE = "1 s"
IDLE_AFTER = "10 s"
"""Longer than a pause, however often a crash makes it begin again: a pause alone makes no split idle."""
_SILENCE = "30 s"


@dataclass(frozen=True)
class FuzzCase:
    """One schedule of a job. The numbers are those of the records in the order of their timestamps."""

    splits: tuple[tuple[tuple[Arrival, ...], ...], ...]
    """Of each input its splits, of each split what arrives."""
    epoch_records: int | None = None
    """How many records an epoch reads; None: all at once."""
    parallelism: int = 1
    crashes: tuple[int, ...] = ()
    """The steps of the protocol at which the job dies: of its first run, then of the run after that, and so on."""

    @staticmethod
    def in_order(kept: Sequence[Sequence[int]]) -> FuzzCase:
        """These records of each input, in order, in one split, in one epoch, without crashes."""
        return FuzzCase(tuple((tuple(numbers),) for numbers in kept))

    @property
    def kept(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the records that arrive at all, per input, in order."""
        return tuple(
            tuple(sorted(each for split in splits for each in split if isinstance(each, int))) for splits in self.splits
        )

    def scripts(self, number: int, records: Records) -> list[list[Step]]:
        """What the splits of an input do."""
        return [[_step(each, records) for each in split] for split in self.splits[number]]

    def describe(self, inputs: Sequence[Records], crashed_at: Sequence[str] = ()) -> str:
        """The case in words, one line for each split and setting that matters."""
        size = "all records in one epoch" if self.epoch_records is None else f"epochs of {self.epoch_records} records"
        lines = [f"  parallelism {self.parallelism}, {size}"]
        for number, (records, splits) in enumerate(zip(inputs, self.splits, strict=True)):
            for place, split in enumerate(splits):
                arrivals = ", ".join(_words(each, records) for each in split) or "nothing"
                lines.append(f"  input {number}, split {place}: {arrivals}")
        for run, step in enumerate(self.crashes):
            where = f" ({crashed_at[run]})" if run < len(crashed_at) else ""
            lines.append(f"  run {run + 1} crashes at step {step}{where}")
        return "\n".join(lines)


def _step(arrival: Arrival, records: Records) -> Step:
    if isinstance(arrival, int):
        return record(*records[arrival])
    return pause(PAUSE if arrival == "pause" else _SILENCE)


def _words(arrival: Arrival, records: Records) -> str:
    if isinstance(arrival, int):
        value, timestamp = records[arrival]
        return f"{value!r} at {timestamp}"
    return arrival
