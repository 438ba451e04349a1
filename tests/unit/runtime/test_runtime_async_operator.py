"""Calls under way: order, capacity, time-outs, failures, and what is never under way."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.errors import UserFunctionError
from penstock.functions import AsyncFunction, AsyncRetryStrategy, RuntimeContext
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.runtime import AsyncOperator
from unit.runtime.operator_harness import ANY, Harness


class Calling(AsyncFunction[Any, Any]):
    """An `AsyncFunction` of a coroutine function, that counts."""

    def __init__(self, invoke: Callable[[Any], Any], timeout: Callable[[Any], Any] | None = None) -> None:
        self.invoke = invoke
        self.on_timeout = timeout
        self.under_way = 0
        self.most_under_way = 0
        self.calls: Counter[Any] = Counter()

    async def async_invoke(self, value: Any) -> list[Any]:
        self.calls[value] += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self.invoke(value)
        finally:
            self.under_way -= 1

    def timeout(self, value: Any) -> list[Any]:
        return super().timeout(value) if self.on_timeout is None else self.on_timeout(value)


def make_harness(
    function: AsyncFunction[Any, Any],
    *,
    ordered: bool = True,
    capacity: int = 100,
    timeout_ms: int = 0,
    retry_strategy: AsyncRetryStrategy[Any] = NO_RETRY_STRATEGY,
    restarts: bool = False,
) -> Harness:
    def make() -> AsyncOperator:
        return AsyncOperator(
            function,
            ANY,
            capacity=capacity,
            timeout_ms=timeout_ms,
            retry_strategy=retry_strategy,
            ordered=ordered,
        )

    return Harness(make, restarts=restarts)


def run_epoch(harness: Harness, values: list[Any], **arguments: Any) -> None:
    harness.process(values, **arguments)
    harness.end_epoch()


async def at_once(value: Any) -> list[Any]:
    return [value]


async def never(value: Any) -> list[Any]:
    await asyncio.Event().wait()
    return [value]


class Reversed(AsyncFunction[int, int]):
    """Lets the calls of one batch return in the reverse of their order."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.turns: dict[int, asyncio.Event] = {}

    async def async_invoke(self, value: int) -> list[int]:
        turn = self.turns[value] = asyncio.Event()
        if len(self.turns) == self.size:
            turn.set()
        await turn.wait()
        del self.turns[value]
        if self.turns:
            self.turns[max(self.turns)].set()
        return [value]


@pytest.mark.parametrize(("ordered", "expected"), [(True, list(range(10))), (False, list(reversed(range(10))))])
def test_results_come_in_the_order_of_records_or_of_returns(ordered: bool, expected: list[int]) -> None:
    harness = make_harness(Reversed(10), ordered=ordered)
    harness.process(range(10))
    harness.end_epoch()
    assert harness.values() == expected


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("ending", ["watermark", "end_epoch", "finish", "inputs_fall_idle"])
def test_nothing_is_under_way_after(ending: str, ordered: bool) -> None:
    function = Calling(at_once)
    harness = make_harness(function, ordered=ordered)
    harness.process(range(50))
    if ending == "watermark":
        harness.watermark(5)
    elif ending == "end_epoch":
        harness.end_epoch()
    else:
        getattr(harness.operator, ending)()
    assert sorted(harness.values()) == list(range(50))


def test_unordered_results_do_not_pass_a_watermark() -> None:
    harness = make_harness(Reversed(5), ordered=False)
    harness.process(range(5))
    harness.watermark(100)
    assert harness.values() == [4, 3, 2, 1, 0]
    harness.process(range(5, 10))
    harness.watermark(200)
    assert harness.values() == [9, 8, 7, 6, 5]
    assert harness.operator.current_watermark == 200


def test_calls_of_several_batches_are_under_way_together() -> None:
    harness = make_harness(Reversed(6), ordered=False)
    for value in range(6):
        harness.process([value])
    harness.end_epoch()
    assert harness.values() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("ordered", [True, False])
def test_capacity_is_reached_and_not_exceeded(ordered: bool) -> None:
    async def yield_often(value: int) -> list[int]:
        for _ in range(value % 7):
            await asyncio.sleep(0)
        return [value]

    function = Calling(yield_often)
    harness = make_harness(function, ordered=ordered, capacity=8)
    for start in range(0, 500, 100):
        harness.process(range(start, start + 100))
    harness.end_epoch()
    assert Counter(harness.values()) == Counter(range(500))
    assert function.most_under_way == 8


def test_process_waits_while_more_results_than_the_capacity_are_held_back() -> None:
    last_came = asyncio.Event()

    async def first_waits_for_the_last(value: int) -> list[int]:
        if value == 4:
            last_came.set()
        if value == 0:
            await last_came.wait()
        return [value]

    harness = make_harness(Calling(first_waits_for_the_last), ordered=True, capacity=4)
    harness.process(range(4))
    assert harness.values() == []
    harness.process([4])
    assert harness.output.sent[0] == (None, 0, None)
    harness.end_epoch()
    assert harness.values() == list(range(5))


@pytest.mark.parametrize("ordered", [True, False])
def test_results_have_the_timestamps_of_their_records(ordered: bool) -> None:
    async def repeated(value: int) -> list[int]:
        for _ in range(value):
            await asyncio.sleep(0)
        return [value] * value

    harness = make_harness(Calling(repeated), ordered=ordered)
    harness.process([3, 0, 1], timestamps=[30, 0, None])
    harness.process([2])
    harness.end_epoch()
    assert Counter(harness.taken()) == Counter({(3, 30): 3, (1, None): 1, (2, None): 2})


def test_any_iterable_is_a_result() -> None:
    async def results(value: Any) -> Any:
        return {"tuple": (1, 2), "generator": (n for n in (3, 4)), "none": ()}[value]

    harness = make_harness(Calling(results))
    harness.process(["tuple", "generator", "none"])
    harness.end_epoch()
    assert harness.values() == [1, 2, 3, 4]


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(st.one_of(st.integers(1, 40), st.sampled_from(["watermark", "end_epoch", "restart"])), max_size=8),
    ordered=st.booleans(),
    capacity=st.integers(1, 20),
    seed=st.integers(0, 1000),
)
def test_whatever_happens_between_records_each_has_its_result_once(
    steps: list[int | str], ordered: bool, capacity: int, seed: int
) -> None:
    generator = random.Random(seed)

    async def waits_a_little(value: int) -> list[int]:
        for _ in range(generator.randrange(5)):
            await asyncio.sleep(0)
        return [value]

    harness = make_harness(Calling(waits_a_little), ordered=ordered, capacity=capacity)
    sent: list[int] = []
    before_barrier = 0
    for step in steps:
        if isinstance(step, int):
            values = list(range(len(sent), len(sent) + step))
            sent += values
            harness.process(values)
            continue
        if step == "watermark":
            harness.watermark(len(sent))
        else:
            getattr(harness, step)()
        results = [value for _, value, _ in harness.output.sent]
        assert set(results) == set(sent)
        assert set(results[:before_barrier]) == set(range(before_barrier))
        before_barrier = len(sent)
    harness.end_epoch()
    harness.operator.close()
    results = harness.values()
    assert results == sent if ordered else Counter(results) == Counter(sent)


# --- time-outs


def test_a_call_that_takes_too_long_fails_the_job_and_names_the_record() -> None:
    harness = make_harness(Calling(never), timeout_ms=5)
    with pytest.raises(UserFunctionError, match="took longer than its time-out; the record is 'slow'") as failure:
        run_epoch(harness, ["slow"], key=lambda value: f"key of {value}")
    assert failure.value.report.record == "'slow'"
    assert failure.value.report.key == "'key of slow'"
    assert failure.value.report.error_type == "TimeoutError"


@pytest.mark.parametrize("ordered", [True, False])
def test_timeout_may_give_other_results_and_the_call_is_cancelled(ordered: bool) -> None:
    async def odd_ones_hang(value: int) -> list[int]:
        return await (never if value % 2 else at_once)(value)

    function = Calling(odd_ones_hang, lambda value: [-value])
    harness = make_harness(function, ordered=ordered, capacity=2, timeout_ms=5)
    harness.process(range(8), timestamps=list(range(8)))
    harness.end_epoch()
    assert sorted(harness.taken()) == sorted((-n if n % 2 else n, n) for n in range(8))
    harness.operator.close()
    assert function.under_way == 0


def test_a_call_that_catches_its_cancellation_has_only_the_results_of_its_timeout() -> None:
    async def stubborn(value: int) -> list[str]:
        with contextlib.suppress(asyncio.CancelledError):
            await never(value)
        return ["late"]

    harness = make_harness(Calling(stubborn, lambda value: ["in time"]), timeout_ms=5)
    harness.process([1])
    harness.end_epoch()
    harness.end_epoch()
    assert harness.values() == ["in time"]


# --- failures


@pytest.mark.parametrize("ordered", [True, False])
def test_a_failed_call_names_the_record_and_ends_the_others(ordered: bool) -> None:
    async def three_fails(value: int) -> list[int]:
        if value == 3:
            raise ZeroDivisionError("three")
        return await never(value)

    function = Calling(three_fails)
    harness = make_harness(function, ordered=ordered, capacity=10)
    with pytest.raises(UserFunctionError) as failure:
        harness.process(range(100), key=lambda value: value)
    report = failure.value.report
    assert (report.error_type, report.record, report.key) == ("ZeroDivisionError", "3", "3")
    assert "three_fails" in report.traceback
    assert "async_calls.py" not in report.traceback
    harness.operator.close()
    assert function.under_way == 0
    assert set(function.calls) <= set(range(10))


@pytest.mark.parametrize("result", [None, 5])
def test_a_result_that_is_no_list_is_explained(result: Any) -> None:
    async def wrong(value: int) -> Any:
        return result

    harness = make_harness(Calling(wrong))
    message = rf"Calling.async_invoke returned {result} .*expected a list of results"
    with pytest.raises(UserFunctionError, match=message) as failure:
        run_epoch(harness, [7])
    assert failure.value.report.record == "7"


def test_a_timeout_that_returns_nothing_is_explained() -> None:
    harness = make_harness(Calling(never, lambda value: None), timeout_ms=1)
    with pytest.raises(UserFunctionError, match=r"Calling.timeout returned None"):
        run_epoch(harness, [7])


def test_a_call_that_cancels_itself_is_a_failure() -> None:
    async def gives_up(value: int) -> list[int]:
        raise asyncio.CancelledError

    harness = make_harness(Calling(gives_up))
    with pytest.raises(UserFunctionError, match="was cancelled, and not because of its time-out"):
        run_epoch(harness, [7])


def test_a_function_that_stops_the_loop_does_not_hang_the_job() -> None:
    async def stops(value: int) -> list[int]:
        asyncio.get_running_loop().stop()
        return await never(value)

    harness = make_harness(Calling(stops))
    with pytest.raises(RuntimeError, match="event loop of an asynchronous function has ended"):
        run_epoch(harness, [7])


def test_a_failure_of_a_consumer_is_not_the_functions() -> None:
    harness = make_harness(Calling(at_once))

    def fail(batch: Any) -> None:
        raise OSError("disk full")

    harness.output.emit = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="disk full"):
        run_epoch(harness, [1])


# --- the life of the function and of the loop


class Lifecycle(AsyncFunction[int, str]):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls.append(f"open {runtime_context.get_task_name_with_subtasks()}")

    async def async_invoke(self, value: int) -> list[str]:
        self.calls.append(f"invoke {value}")
        self.thread = threading.current_thread()
        return [self.thread.name]

    def close(self) -> None:
        self.calls.append("close")


def test_the_function_is_opened_and_closed_and_has_one_loop_for_all_epochs() -> None:
    function = Lifecycle()
    harness = make_harness(function)
    harness.process([1])
    harness.end_epoch()
    harness.process([2])
    harness.end_epoch()
    harness.operator.close()
    assert function.calls == ["open Sessions (2/4)#0", "invoke 1", "invoke 2", "close"]
    assert harness.values() == ["Sessions (2/4)"] * 2
    assert not function.thread.is_alive()


def test_keyed_state_is_refused() -> None:
    class Stateful(Lifecycle):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(None)  # type: ignore[arg-type]

    with pytest.raises(UserFunctionError, match="keyed state"):
        make_harness(Stateful())


def test_the_loop_of_an_operator_that_is_only_dropped_ends() -> None:
    harness = make_harness(Calling(never))
    harness.process([1])
    calls = harness.operator._calls  # type: ignore[attr-defined]
    dropped = weakref.ref(harness.operator)
    del harness.operator
    gc.collect()
    assert dropped() is None
    calls.join()
    assert calls._has_ended
