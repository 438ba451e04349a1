"""Which PyFlink program is which query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyflink.datastream import DataStream

from nexmark.peers import pyflink_joins as joins
from nexmark.peers import pyflink_keyed as keyed
from nexmark.peers import pyflink_stateless as stateless
from nexmark.peers import pyflink_windows as windows
from nexmark.peers.pyflink_streams import Streams


@dataclass(frozen=True)
class Program:
    """One query, and its mode of execution: `process` or `thread`."""

    build: Callable[[Streams], DataStream]
    mode: str = "process"


PROGRAMS: dict[str, Program] = {
    "q0": Program(stateless.q0),
    "q1": Program(stateless.q1),
    "q2": Program(stateless.q2),
    "q3": Program(joins.q3),
    "q4": Program(joins.q4),
    "q5": Program(windows.q5),
    "q7": Program(windows.q7),
    "q8": Program(windows.q8),
    "q9": Program(joins.q9),
    "q11": Program(windows.q11),
    "q13": Program(stateless.q13),
    "q14": Program(stateless.q14),
    "q15": Program(keyed.q15),
    "q16": Program(keyed.q16),
    "q17": Program(keyed.q17),
    "q18": Program(keyed.q18),
    "q19": Program(keyed.q19),
    "q20": Program(joins.q20),
    "q21": Program(stateless.q21),
    "q22": Program(stateless.q22),
}
