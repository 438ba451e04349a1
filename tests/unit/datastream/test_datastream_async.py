"""What `AsyncDataStream` adds to a program, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.common.errors import ArgumentError, PlanError
from penstock.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from penstock.datastream.async_retry_predicates import empty_result_predicate
from penstock.datastream.async_retry_strategies import NoRetryStrategy
from penstock.plan.async_node import AsyncNode

FIXED = AsyncRetryStrategy.fixed_delay(3, 10, empty_result_predicate, None)


class Lookup(AsyncFunction[str, int]):
    async def async_invoke(self, value: str) -> list[int]:
        return [len(value)]


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def node_of(stream: Any) -> AsyncNode:
    stream.print()
    plan = stream.program.environment.get_plan()
    (node,) = (node for node in plan.nodes if isinstance(node, AsyncNode))
    return node


@pytest.mark.parametrize(
    ("add", "ordered", "strategy"),
    [
        (lambda s: AsyncDataStream.ordered_wait(s, Lookup(), Time.seconds(5)), True, NoRetryStrategy),
        (lambda s: AsyncDataStream.unordered_wait(s, Lookup(), Time.seconds(5)), False, NoRetryStrategy),
        (lambda s: AsyncDataStream.ordered_wait_with_retry(s, Lookup(), "5 s", FIXED), True, type(FIXED)),
        (lambda s: AsyncDataStream.unordered_wait_with_retry(s, Lookup(), 5000, FIXED), False, type(FIXED)),
    ],
)
def test_what_the_operator_is_told(
    env: StreamExecutionEnvironment, add: Callable[[Any], Any], ordered: bool, strategy: type
) -> None:
    node = node_of(add(env.from_collection(["a"])))
    assert (node.name, node.timeout_ms, node.capacity, node.ordered) == ("async wait operator", 5000, 100, ordered)
    assert type(node.retry_strategy) is strategy
    assert node.output_type == Types.LONG()


def test_a_declared_type_and_capacity(env: StreamExecutionEnvironment) -> None:
    stream = AsyncDataStream.unordered_wait(env.from_collection(["a"]), Lookup(), Time.seconds(0), 7, Types.INT())
    node = node_of(stream)
    assert (node.capacity, node.timeout_ms, node.output_type) == (7, 0, Types.INT())


class NotAsync(AsyncFunction[str, int]):
    def async_invoke(self, value: str) -> list[int]:  # type: ignore[override]
        return [1]


class Generates(AsyncFunction[str, int]):
    async def async_invoke(self, value: str) -> Any:  # type: ignore[override]
        yield 1


class AsyncTimeout(Lookup):
    async def timeout(self, value: str) -> list[int]:  # type: ignore[override]
        return [1]


class NoPredicate(NoRetryStrategy[Any]):
    def get_retry_predicate(self) -> Any:
        return None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data_stream": None}, "`data_stream` is None; expected a stream"),
        ({"async_function": lambda value: [value]}, "`async_function` is .*expected an AsyncFunction"),
        ({"async_function": Lookup}, r"expected an instance: write Lookup\(...\)"),
        ({"async_function": NotAsync()}, "NotAsync.async_invoke must be declared as `async def`"),
        ({"async_function": Generates()}, "Generates.async_invoke must be declared as `async def`"),
        ({"async_function": AsyncTimeout()}, "AsyncTimeout.timeout must be declared as `def`"),
        ({"timeout": "soon"}, "`timeout`: 'soon' is not a duration"),
        ({"timeout": Time.seconds(-1)}, "`timeout`: a duration cannot be negative"),
        ({"timeout": Time.seconds(0)}, "with retries a call could take for ever"),
        ({"capacity": 0}, "`capacity` is 0 .*at least 1"),
        ({"capacity": "10"}, "`capacity` is '10'"),
        ({"async_retry_strategy": None}, "`async_retry_strategy` is None; expected an AsyncRetryStrategy"),
        ({"async_retry_strategy": NoPredicate()}, "get_retry_predicate.* is None; expected an AsyncRetryPredicate"),
        ({"output_type": "int"}, "`output_type` is 'int'"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_users_line(
    env: StreamExecutionEnvironment, arguments: dict[str, Any], message: str
) -> None:
    good = {
        "data_stream": env.from_collection(["a"]),
        "async_function": Lookup(),
        "timeout": Time.seconds(5),
        "async_retry_strategy": FIXED,
    }
    with pytest.raises((PlanError, ArgumentError), match=message) as refusal:
        AsyncDataStream.ordered_wait_with_retry(**{**good, **arguments})
    assert "test_datastream_async.py" in str(refusal.value)


def test_there_are_no_side_outputs(env: StreamExecutionEnvironment) -> None:
    stream = AsyncDataStream.ordered_wait(env.from_collection(["a"]), Lookup(), Time.seconds(5))
    assert not stream.operator("test").emits_side_outputs
