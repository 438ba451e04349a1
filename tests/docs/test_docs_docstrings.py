"""Examples in docstrings run, and what users call has one.

In an example, `env` is a new environment with one subtask on the local engine, and everything that `penstock.common`,
`penstock.datastream` and `penstock.datastream.state` export is imported.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

import penstock.common
import penstock.datastream
import penstock.datastream.state
from penstock.datastream import (
    BroadcastConnectedStream,
    ConnectedStreams,
    DataStream,
    KeyedStream,
    StreamExecutionEnvironment,
)
from penstock.datastream.environment_settings import EnvironmentSettings
from penstock.datastream.streams.operator_settings import OperatorSettings

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
)
WITHOUT_EXAMPLE = {
    "for those who add operators": {"operator"},
    "the example of ConnectedStreams and BroadcastConnectedStream shows it": {"connect", "broadcast"},
    "which subtask gets a record is not seen in a result": {"rebalance", "rescale", "shuffle", "forward", "global_"},
    "a setting, or asks for one: the example of the class shows the manner": {
        "get_name",
        "get_type",
        "get_execution_config",
        "get_execution_environment",
        "set_max_parallelism",
        "set_buffer_timeout",
        "start_new_chain",
        "force_non_parallel",
    },
    "event time and windows have pages of their own": {
        "assign_timestamps_and_watermarks",
        "window",
        "window_all",
        "count_window",
        "count_window_all",
    },
    "the how-to on upgrades has examples, which are run": {"check_upgrade", "execute_backfill_to_live"},
    "needs something outside the program, or refuses": {
        "cache",
        "clear_job_listeners",
        "close",
        "create_input",
        "sink_to",
    },
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


@pytest.mark.parametrize("described", USERS_CALL)
def test_what_users_call_has_an_example(described: type) -> None:
    own = {name: member for name, member in vars(described).items() if callable(member) and not name.startswith("_")}
    without = {name for name, method in own.items() if ">>> " not in (inspect.getdoc(method) or "")}
    assert without - set().union(*WITHOUT_EXAMPLE.values()) == set()


@pytest.mark.parametrize("settings", [OperatorSettings, EnvironmentSettings])
def test_classes_of_settings_have_an_example(settings: type) -> None:
    assert ">>> " in (settings.__doc__ or "")
