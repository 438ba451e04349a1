"""Every operator of the API is in a scenario that runs on both engines and in both modes, with a restart."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.operators import OPERATORS
from penstock.common import Configuration
from penstock.datastream import (
    AllWindowedStream,
    AsyncDataStream,
    BroadcastConnectedStream,
    ConnectedStreams,
    DataStream,
    KeyedStream,
    StreamExecutionEnvironment,
    WindowedStream,
)
from penstock.datastream.streams.operator_settings import OperatorSettings, StreamSettings

FOLDER = Path(__file__).parent
CLASSES = (
    DataStream,
    KeyedStream,
    ConnectedStreams,
    BroadcastConnectedStream,
    WindowedStream,
    AllWindowedStream,
    AsyncDataStream,
)
NO_OPERATORS = {
    "tells something": {
        "get_type",
        "get_execution_environment",
        "get_execution_config",
        "get_input_type",
        "operator",
    },
    "sets something": {
        *(name for settings in (OperatorSettings, StreamSettings) for name in vars(settings)),
        "allowed_lateness",
        "evictor",
        "side_output_late_data",
        "trigger",
    },
    "runs the job": {"execute_and_collect"},
}
ELSEWHERE = {
    "test_conformance_joins.py": {
        "DataStream.co_group",
        "DataStream.interval_join",
        "DataStream.join",
        "DataStream.lookup_join",
        "DataStream.temporal_join",
    },
    "test_conformance_source_and_sink_functions.py": {"DataStream.add_sink"},
    "test_conformance_restarts.py": {"DataStream.sink_to"},
}
WITHOUT_A_RESTART = {
    "it reads what a job that has ended left": {"DataStream.cache"},
    "lines are printed again after a restart": {"DataStream.print"},
    "it is refused": {"DataStream.window", "DataStream.count_window", "KeyedStream.cache"},
    "it goes to the stream before the keys": {
        "KeyedStream.count_window_all",
        "KeyedStream.key_by",
        "KeyedStream.project",
        "KeyedStream.window_all",
    },
}


def operator_methods() -> dict[str, Callable[..., Any]]:
    """The operators of each class that it does not share with one before it."""
    ignored = set().union(*NO_OPERATORS.values())
    return {
        f"{each.__name__}.{name}": member
        for each in CLASSES
        for name, member in inspect.getmembers(each, inspect.isfunction)
        if name[0] != "_"
        and name not in ignored
        and not any(getattr(base, name, None) is member for base in each.__mro__[1:] if base in CLASSES)
    }


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The methods that the programs of `operators.py` call."""
    found: set[str] = set()

    def recorded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*arguments: Any, **named: Any) -> Any:
            found.add(name)
            return method(*arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name, method in operator_methods().items():
            owner = next(each for each in CLASSES if each.__name__ == name.partition(".")[0])
            call = recorded(name, method)
            patch.setattr(owner, name.partition(".")[2], staticmethod(call) if owner is AsyncDataStream else call)
        directory = tmp_path_factory.mktemp("programs") / "checkpoint"  # a program puts its files beside it
        configuration = Configuration().set_string("execution.checkpointing.dir", str(directory))
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        for build in OPERATORS.values():
            build(env)
    return found


@pytest.mark.parametrize("method", operator_methods())
def test_a_scenario_restarts_it(method: str, called: set[str]) -> None:
    name = method.partition(".")[2]
    exempt = set().union(*WITHOUT_A_RESTART.values())
    place = next((file for file, methods in ELSEWHERE.items() if method in methods), None)
    if place is not None:
        text = (FOLDER / place).read_text()
        assert f".{name}(" in text
        assert "power is back" in text or "fails" in text
    else:
        assert (method in called) is (method not in exempt)


def test_what_is_declared_is_there() -> None:
    assert set().union(*ELSEWHERE.values(), *WITHOUT_A_RESTART.values()) <= operator_methods().keys()
