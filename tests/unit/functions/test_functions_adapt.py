from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import ArgumentError
from penstock.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    adapt,
)


class Twice(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Upto(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        yield from range(value)


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Add(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class First(KeySelector):
    def get_key(self, value: tuple[Any, ...]) -> Any:
        return value[0]


def test_function_objects_and_plain_functions_are_called_alike() -> None:
    for function in (Twice(), lambda value: 2 * value):
        assert adapt.map_callable(function)(4) == 8
    for function in (Upto(), range):
        assert list(adapt.flat_map_callable(function)(3)) == [0, 1, 2]
    for function in (Even(), lambda value: value % 2 == 0):
        assert adapt.filter_callable(function)(4)
    for function in (Modulo(), lambda key, number: key % number):
        assert adapt.partition_callable(function)(7, 4) == 3
    for function in (Add(), lambda a, b: a + b):
        assert adapt.reduce_callable(function)(7, 4) == 11
    for function in (First(), lambda value: value[0]):
        assert adapt.key_callable(function)(("a", 1)) == "a"


def test_the_null_byte_key_selector_gives_all_records_one_key() -> None:
    assert {adapt.key_callable(NullByteKeySelector())(value) for value in ("a", None, 3)} == {0}


@pytest.mark.parametrize("function", [None, 5, "text", Even(), Upto()])
def test_what_is_no_map_function_is_refused(function: object) -> None:
    with pytest.raises(ArgumentError, match="expected a MapFunction or a plain function"):
        adapt.map_callable(function)


def test_a_function_class_in_place_of_an_instance_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected an instance: Twice\(\.\.\.\)"):
        adapt.map_callable(Twice)


def test_any_other_class_is_a_function() -> None:
    assert adapt.map_callable(str)(5) == "5"


def test_a_co_map_drops_none() -> None:
    class Parse(CoMapFunction):
        def map1(self, value: str) -> int | None:
            return int(value) if value.isdigit() else None

        def map2(self, value: int) -> int:
            return -value

    first, second = adapt.co_process_callables(Parse())
    assert (first("5", None), first("x", None), second(3, None)) == ((5,), None, (-3,))


def test_a_co_flat_map_gives_any_number_of_results() -> None:
    class Split(CoFlatMapFunction):
        def flat_map1(self, value: str) -> Iterator[str]:
            yield from value

        def flat_map2(self, value: str) -> None:
            return None

    first, second = adapt.co_process_callables(Split())
    assert list(first("ab", None) or ()) == ["a", "b"]
    assert second("ab", None) is None


def test_what_is_no_function_of_two_streams_is_refused() -> None:
    with pytest.raises(ArgumentError, match="function of two streams"):
        adapt.co_process_callables(lambda value: value)


def test_function_objects_have_a_life_and_plain_functions_have_none() -> None:
    class Recorder(ProcessFunction):
        def __init__(self) -> None:
            self.calls: list[object] = []

        def open(self, runtime_context: Any) -> None:
            self.calls.append(runtime_context)

        def close(self) -> None:
            self.calls.append("closed")

        def process_element(self, value: Any, ctx: Any) -> None:
            return None

    recorder = Recorder()
    adapt.open_function(recorder, "context")  # type: ignore[arg-type]
    adapt.close_function(recorder)
    assert recorder.calls == ["context", "closed"]
    adapt.open_function(len, "context")  # type: ignore[arg-type]
    adapt.close_function(len)


@pytest.mark.parametrize(
    "function_class", [MapFunction, FlatMapFunction, FilterFunction, ProcessFunction, KeyedCoProcessFunction]
)
def test_base_classes_cannot_be_used_themselves(function_class: type) -> None:
    with pytest.raises(TypeError, match="abstract"):
        function_class()
