"""Runs programs written for PyFlink, under PyFlink or under Penstock, and hands back what came out as data.

A program is a function in `programs/*.py` that takes an environment and returns a stream, a dict of streams by name, or
a list of plain values. Its file imports `pyflink`; under Penstock that one word is another, as in a user's program.
Needs nothing but the standard library: it runs under the interpreter that has PyFlink, and under ours.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import types
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER / "programs"
RECORDED = FOLDER / "recorded"
MODES = ("STREAMING", "BATCH")

Results = dict[str, Any]
Printing = Callable[[], AbstractContextManager[list[str]]]
"""Makes a context whose list has, at its end, the lines that were printed in it."""


@dataclass(frozen=True)
class Program:
    """A function of a program file, under one of the two packages."""

    file: str
    name: str
    build: Callable[[Any], Any]
    order_varies: bool
    """Whether Flink itself may emit the records in another order each time."""
    modes: tuple[str, ...]
    is_plain: bool
    """Whether it makes values and no stream that is run."""

    @property
    def is_collected(self) -> bool:
        """Whether its records are compared in Python's form, and not as they are printed."""
        return self.name.startswith("collected_")


def source_of(path: Path, package: str) -> str:
    """The text of a program with its imports changed."""
    return re.sub(r"\bpyflink\b", package, path.read_text())


def fingerprint(path: Path) -> str:
    """Says whether a recording is of this text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def programs_of(path: Path, package: str) -> list[Program]:
    """The public functions of a program file."""
    # `__main__`, so that both packages ship what the file defines by value, as they do for a program that is run.
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    exec(compile(source_of(path, package), str(path), "exec"), module.__dict__)
    return [
        Program(
            file=path.stem,
            name=name,
            build=value,
            order_varies=name in getattr(module, "ORDER_VARIES", ()),
            modes=getattr(module, "MODES", MODES),
            is_plain=name in getattr(module, "PLAIN", ()),
        )
        for name, value in vars(module).items()
        if isinstance(value, types.FunctionType) and value.__globals__ is vars(module) and name[0] != "_"
    ]


def run(programs: list[Program], package: str, mode: str, options: dict[str, str], printing: Printing) -> Results:
    """What each program printed, by sink; all of them in one job, to save PyFlink's time.

    A program of plain values has those. One that is named `collected_...` runs alone, and has its records in Python's
    form.
    """
    results: Results = {}
    shared = _environment(package, mode, options)
    printed: dict[str, dict[str, Any]] = {}
    for program in programs:
        is_alone = program.is_collected or program.is_plain
        made = program.build(_environment(package, mode, options) if is_alone else shared)
        if isinstance(made, list):
            results[program.name] = {"values": [repr(value) for value in made]}
        elif program.is_collected:
            with made.execute_and_collect(program.name) as records:
                results[program.name] = {"collected": [repr(record) for record in records]}
        else:
            printed[program.name] = made if isinstance(made, dict) else {"out": made}
    if printed:
        with printing() as lines:
            for name, streams in printed.items():
                for sink, stream in streams.items():
                    stream.print(f"{name}.{sink}")
            shared.execute()
        for name, streams in printed.items():
            results[name] = {"printed": {sink: _lines_of(f"{name}.{sink}", lines) for sink in streams}}
    return results


def _environment(package: str, mode: str, options: dict[str, str]) -> Any:
    configuration = importlib.import_module(f"{package}.common").Configuration()
    for key, value in {**options, "execution.runtime-mode": mode}.items():
        configuration.set_string(key, value)
    datastream = importlib.import_module(f"{package}.datastream")
    environment = datastream.StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(1)
    return environment


def comparable(results: Results, *, order_varies: bool) -> Results:
    """The results, sorted where their order says nothing."""
    if not order_varies:
        return results
    return {"printed": {name: sorted(lines) for name, lines in results["printed"].items()}}


def _lines_of(sink: str, lines: list[str]) -> list[str]:
    return [line.removeprefix(f"{sink}> ") for line in lines if line.startswith(f"{sink}> ")]
