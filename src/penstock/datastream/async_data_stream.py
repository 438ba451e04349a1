"""Calls to other systems, many at the same time."""

from __future__ import annotations

import inspect
from typing import Any

from penstock.common.errors import ConfigurationError
from penstock.common.time import DurationLike, parse_duration
from penstock.datastream.arguments import check_instance, refuse, refuse_argument
from penstock.datastream.output_types import ResultMethod, TypeHint, output_type_of
from penstock.datastream.streams.data_stream import DataStream
from penstock.functions.async_function import AsyncFunction
from penstock.functions.async_retry import NO_RETRY_STRATEGY, AsyncRetryPredicate, AsyncRetryStrategy
from penstock.plan.async_node import AsyncNode

_ASYNC_INVOKE = (ResultMethod("async_invoke", True),)


class AsyncDataStream:
    """Applies an `AsyncFunction` to a stream.

    All four methods take the time that a call may need (`Time.seconds(5)`, `"5 s"`; 0 for ever) and how many calls of a
    subtask may be under way at the same time. Results have the timestamps of their records. All calls are
    waited for at a watermark and at the end of an epoch.

    >>> import asyncio
    >>> from penstock.common import Configuration, Types
    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> class Price(AsyncFunction[str, str]):
    ...     async def async_invoke(self, value):
    ...         await asyncio.sleep(0.001)  # stands for a call to a service
    ...         return [f"{value} {len(value)}.00"]
    >>> configuration = Configuration().set_string("execution.engine", "local")
    >>> env = StreamExecutionEnvironment.get_execution_environment(configuration)
    >>> env = env.set_parallelism(1)
    >>> fruits = env.from_collection(["apple", "fig", "pear"])
    >>> priced = AsyncDataStream.ordered_wait(fruits, Price(), "5 s", output_type=Types.STRING())
    >>> list(priced.execute_and_collect())
    ['apple 5.00', 'fig 3.00', 'pear 4.00']
    >>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, None, lambda error: isinstance(error, ConnectionError))
    >>> priced = AsyncDataStream.ordered_wait_with_retry(fruits, Price(), "5 s", strategy, 20, Types.STRING())
    >>> priced.execute_and_collect(limit=1)
    ['apple 5.00']
    >>> sorted(AsyncDataStream.unordered_wait(fruits, Price(), "5 s").execute_and_collect())
    ['apple 5.00', 'fig 3.00', 'pear 4.00']
    >>> priced = AsyncDataStream.unordered_wait_with_retry(fruits, Price(), "5 s", strategy)
    >>> len(list(priced.execute_and_collect()))
    3
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        capacity: int = 100,
        output_type: TypeHint = None,
    ) -> DataStream:
        """Calls the function for each record; results come as the calls return."""
        return _wait(
            "unordered_wait",
            data_stream,
            async_function,
            timeout,
            NO_RETRY_STRATEGY,
            capacity,
            output_type,
            ordered=False,
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeHint = None,
    ) -> DataStream:
        """As `unordered_wait`; calls are made again as the strategy says, all within the time of one."""
        return _wait(
            "unordered_wait_with_retry",
            data_stream,
            async_function,
            timeout,
            async_retry_strategy,
            capacity,
            output_type,
            ordered=False,
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        capacity: int = 100,
        output_type: TypeHint = None,
    ) -> DataStream:
        """Calls the function for each record; results come in the order of the records."""
        return _wait(
            "ordered_wait",
            data_stream,
            async_function,
            timeout,
            NO_RETRY_STRATEGY,
            capacity,
            output_type,
            ordered=True,
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeHint = None,
    ) -> DataStream:
        """As `ordered_wait`; calls are made again as the strategy says, all within the time of one."""
        return _wait(
            "ordered_wait_with_retry",
            data_stream,
            async_function,
            timeout,
            async_retry_strategy,
            capacity,
            output_type,
            ordered=True,
        )


def _wait(
    method: str,
    data_stream: DataStream,
    async_function: AsyncFunction[Any, Any],
    timeout: DurationLike,
    retry_strategy: AsyncRetryStrategy[Any],
    capacity: int,
    output_type: TypeHint,
    *,
    ordered: bool,
) -> DataStream:
    check_instance(method, "data_stream", data_stream, (DataStream,), "a stream")
    _check_function(method, async_function)
    timeout_ms = _timeout_ms(method, timeout)
    _check_retry_strategy(method, retry_strategy, timeout_ms)
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refuse_argument(method, "capacity", capacity, "how many calls may be under way, at least 1")
    resolved = output_type_of(method, async_function, output_type, _ASYNC_INVOKE)
    return data_stream.program.transform(
        AsyncNode,
        "async wait operator",
        (data_stream.upstreams,),
        resolved.type_info,
        type_is_declared=resolved.is_declared,
        function=async_function,
        timeout_ms=timeout_ms,
        capacity=capacity,
        retry_strategy=retry_strategy,
        ordered=ordered,
    )


def _check_function(method: str, function: AsyncFunction[Any, Any]) -> None:
    check_instance(method, "async_function", function, (AsyncFunction,), "an AsyncFunction")
    name = type(function).__name__
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise refuse(f"{method}: {name}.async_invoke must be declared as `async def`, and return a list of results")
    if inspect.iscoroutinefunction(function.timeout):
        raise refuse(f"{method}: {name}.timeout must be declared as `def`, and return a list of results at once")


def _timeout_ms(method: str, timeout: DurationLike) -> int:
    try:
        return parse_duration(timeout)
    except ConfigurationError as error:
        raise refuse(f"{method}: `timeout`: {error}") from error


def _check_retry_strategy(method: str, strategy: AsyncRetryStrategy[Any], timeout_ms: int) -> None:
    check_instance(method, "async_retry_strategy", strategy, (AsyncRetryStrategy,), "an AsyncRetryStrategy")
    if strategy is not NO_RETRY_STRATEGY and timeout_ms == 0:
        raise refuse(f"{method}: with retries a call could take for ever; give a `timeout` greater than 0")
    check_instance(
        method,
        "async_retry_strategy.get_retry_predicate()",
        strategy.get_retry_predicate(),
        (AsyncRetryPredicate,),
        "an AsyncRetryPredicate",
    )
