"""Examples in docstrings run, and what users call has one.

In an example, `env` is a new environment with one subtask on the local engine, and everything that `penstock.common`,
`penstock.datastream` and `penstock.datastream.state` export is imported.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock.common
import penstock.datastream
import penstock.datastream.functions
import penstock.datastream.state
from penstock.datastream import (
    AsyncDataStream,
    BroadcastConnectedStream,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    KeyedStream,
    StreamExecutionEnvironment,
)

SOURCE = Path(__file__).resolve().parents[2] / "src"
IMPORTED: dict[str, Any] = {
    name: getattr(module, name)
    for module in (penstock.common, penstock.datastream, penstock.datastream.state)
    for name in module.__all__
}
USERS_CALL = (
    StreamExecutionEnvironment,
    DataStream,
    KeyedStream,
    ConnectedStreams,
    BroadcastConnectedStream,
    AsyncDataStream,
    DataStreamSink,
)
REFUSED = {
    "for those who add operators": {"DataStream.operator", "KeyedStream.operator", "DataStreamSink.operator"},
    "it is refused, with what to call instead": {"DataStream.window", "DataStream.count_window", "KeyedStream.cache"},
}
WITHOUT_EXAMPLE = {
    "what several classes have in common: each of those has an example": {
        "AppendingState",
        "BaseBroadcastProcessFunction",
        "KeyedStateStore",
        "MergingState",
        "State",
    },
    "programs are given one: the functions that are have examples": {
        "BroadcastState",
        "FunctionInitializationContext",
        "FunctionSnapshotContext",
        "KeyedBatchContext",
        "OperatorStateStore",
        "ReadOnlyBroadcastState",
    },
    "the example of AggregatingState has it": {"AggregatingStateDescriptor"},
    "the example of AsyncRetryStrategy has it": {"AsyncRetryPredicate"},
    "emits what it is given": {"PassThroughAllWindowFunction", "PassThroughWindowFunction"},
}


def docstrings_with_examples() -> list[doctest.DocTest]:
    found: dict[str, doctest.DocTest] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            for each in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
                if each.examples:
                    found[each.name] = each
    return list(found.values())


@pytest.mark.parametrize("example", docstrings_with_examples(), ids=lambda example: example.name)
def test_the_examples_of_a_docstring_run(
    example: doctest.DocTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PENSTOCK_ENGINE", "local")
    monkeypatch.chdir(tmp_path)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    example.globs = {**IMPORTED, **example.globs, "env": env}
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    failed = runner.run(example, out=report.append).failed
    assert not failed, "".join(report)


def examples_in(described: object) -> str:
    return "\n".join(
        line for line in (inspect.getdoc(described) or "").splitlines() if line.startswith((">>> ", "... "))
    )


@pytest.mark.parametrize("described", USERS_CALL, ids=lambda described: described.__name__)
def test_what_users_call_has_an_example(described: type) -> None:
    methods = {
        name: member
        for name, member in inspect.getmembers(described, callable)
        if not name.startswith("_") and member.__module__.startswith("penstock")
    }
    of_class = examples_in(described)
    without = {
        f"{described.__name__}.{name}"
        for name, method in methods.items()
        if not examples_in(method) and f".{name}(" not in of_class
    }
    assert methods
    assert without - set().union(*REFUSED.values()) == set()


@pytest.mark.parametrize("module", [penstock.datastream.functions, penstock.datastream.state], ids=lambda m: m.__name__)
def test_what_users_extend_or_describe_has_an_example(module: ModuleType) -> None:
    without = {name for name in module.__all__ if not _has_example(getattr(module, name))}
    assert without - set().union(*WITHOUT_EXAMPLE.values()) == set()


def _has_example(described: type) -> bool:
    return bool(examples_in(described)) or any(
        examples_in(member) for name, member in vars(described).items() if callable(member) and not name.startswith("_")
    )
