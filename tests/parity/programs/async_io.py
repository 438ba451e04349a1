"""Calls to other systems."""

import asyncio

from pyflink.common import Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction
from pyflink.datastream.functions import AsyncRetryStrategy

MODES = ("STREAMING",)


class Slow(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.05 * (5 - value))
        return [value, value * 10]


def ordered(env):
    numbers = env.from_collection([1, 2, 3, 4], Types.INT())
    return AsyncDataStream.ordered_wait(numbers, Slow(), Time.seconds(10), capacity=10, output_type=Types.INT())


def unordered(env):
    numbers = env.from_collection([1, 2, 3, 4], Types.INT())
    return AsyncDataStream.unordered_wait(numbers, Slow(), Time.seconds(10), 10, Types.INT())


class Never(AsyncFunction):
    async def async_invoke(self, value):
        if value % 2:
            await asyncio.sleep(60)
        return [value]

    def timeout(self, value):
        return [-value, -value * 10]


def timeouts(env):
    numbers = env.from_collection([1, 2], Types.INT())
    return AsyncDataStream.ordered_wait(numbers, Never(), Time.milliseconds(300))


def _is_empty(results):
    return not results


def _is_refused(problem):
    return isinstance(problem, ConnectionError)


class Unreliable(AsyncFunction):
    def open(self, runtime_context):
        self.calls = {}

    async def async_invoke(self, value):
        calls = self.calls[value] = self.calls.get(value, 0) + 1
        if value == "raises" and calls < 3:
            raise ConnectionError("refused")
        if value == "empty" and calls < 2:
            return []
        return [f"{value} after {calls}"]


def retries(env):
    words = env.from_collection(["raises", "empty", "good"], Types.STRING())
    strategy = AsyncRetryStrategy.fixed_delay(5, 20, _is_empty, _is_refused)
    return AsyncDataStream.ordered_wait_with_retry(
        words, Unreliable(), Time.seconds(20), strategy, output_type=Types.STRING()
    )


def retries_come_to_an_end(env):
    words = env.from_collection(["empty"], Types.STRING())
    strategy = AsyncRetryStrategy.fixed_delay(1, 20, lambda results: True, None)
    return AsyncDataStream.unordered_wait_with_retry(words, Unreliable(), Time.seconds(20), strategy, 5, Types.STRING())


ORDER_VARIES = ("unordered",)
