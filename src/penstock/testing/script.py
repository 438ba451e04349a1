"""What a scripted source does, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ArgumentError
from penstock.common.time import DurationLike, parse_duration
from penstock.common.watermark_generator import MAX_TIMESTAMP, MIN_TIMESTAMP


@dataclass(frozen=True)
class Record:
    """A record, with or without a timestamp."""

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True)
class Watermark:
    """The source says how far event time has come."""

    timestamp: int


@dataclass(frozen=True)
class Pause:
    """Nothing to read for a while."""

    millis: int


@dataclass(frozen=True)
class Failure:
    """The reader fails."""

    times: int


Step = Record | Watermark | Pause | Failure


def check_time(maker: str, argument: str, given: Any) -> None:
    """Refuses what is no time: NaN and all that is not a whole number of 64 bits."""
    if type(given) is not int or not MIN_TIMESTAMP <= given <= MAX_TIMESTAMP:
        raise ArgumentError(
            f"{maker}: {argument} is {given!r}; expected whole milliseconds that fit into 64 bits (int(...) makes a "
            "whole number of another one)"
        )


def record(value: Any, timestamp: int | None = None) -> Record:
    """A record, with its event time in ms where it has one."""
    if timestamp is not None:
        check_time("record", "timestamp", timestamp)
    return Record(value, timestamp)


def watermark(timestamp: int) -> Watermark:
    """Says that no record up to this event time, in ms, is to come in this split: at least that of the one before."""
    check_time("watermark", "timestamp", timestamp)
    return Watermark(timestamp)


def pause(duration: DurationLike) -> Pause:
    """The split has nothing to read for so long."""
    return Pause(parse_duration(duration))


def fail(times: int = 1) -> Failure:
    """Reading fails here, so many times; what was read in the same epoch is read again."""
    if type(times) is not int or times < 1:
        raise ArgumentError(f"fail: times is {times!r}; expected a whole number of at least 1")
    return Failure(times)
