from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from penstock.common import Types
from penstock.common.errors import JobExecutionException, LocalStoreFullError, UserFunctionError
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime import MapOperator
from penstock.runtime.failures import safe_repr, user_function_error, user_traceback
from penstock.state.key_encoding import encode_key
from penstock.testing import local_environment
from unit.runtime.operator_harness import ANY, Harness


def parse(value: str) -> int:
    return int(value)


def failure_of(value: object) -> UserFunctionError:
    harness = Harness(lambda: MapOperator(parse, ANY))
    try:
        harness.process(["1", value])
    except UserFunctionError as error:
        return error
    raise AssertionError("nothing was raised")


def test_a_report_says_what_failed_where_and_on_which_record() -> None:
    report = failure_of("x").report
    assert report.error_type == "ValueError"
    assert report.message == "invalid literal for int() with base 10: 'x'"
    assert (report.operator, report.uid, report.subtask, report.epoch) == ("Sessions", "sessions", 1, 1)
    assert (report.record, report.key) == ("'x'", None)
    assert report.call_site == "program.py:7: stream.process(...)"


def test_the_traceback_is_the_users_own() -> None:
    traceback = failure_of("x").report.traceback
    assert traceback.startswith("Traceback (most recent call last):")
    assert "return int(value)" in traceback
    assert "src/penstock" not in traceback
    assert traceback.endswith("ValueError: invalid literal for int() with base 10: 'x'\n")


def test_causes_are_the_users_own_too() -> None:
    def inner() -> None:
        try:
            Harness(lambda: MapOperator(parse, ANY)).process(["x"])
        except UserFunctionError as error:
            raise RuntimeError("outer") from error

    try:
        inner()
    except RuntimeError as error:
        text = user_traceback(error)
    assert "return int(value)" in text
    assert "src/penstock" not in text


class UsesStateTooSoon(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        try:
            int("none")
        except ValueError:
            state.value()

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield value


def test_what_penstock_came_across_on_its_way_to_an_error_is_not_told() -> None:
    env = local_environment()
    env.from_collection([1], Types.LONG()).key_by(lambda n: n, Types.LONG()).process(UsesStateTooSoon()).print()
    with pytest.raises(JobExecutionException, match="state 'count' is used without a current key") as failure:
        env.execute()
    assert "KeyError" not in str(failure.value)
    assert "invalid literal for int" in str(failure.value), "that is the program's own"


def test_a_record_without_a_repr_does_not_hide_the_failure() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert "whose repr raised RuntimeError" in str(failure_of(Shy()).report.record)


def test_a_long_record_is_cut() -> None:
    assert safe_repr("x" * 10_000) == "'" + "x" * 499 + "... (10002 characters)"


def test_a_key_is_shown_as_the_user_knows_it() -> None:
    context = Harness(lambda: MapOperator(parse, ANY)).context
    error = user_function_error(ValueError("no"), context, key=encode_key(("a", 1)), record=None)
    assert isinstance(error, UserFunctionError)
    assert (error.report.key, error.report.record) == ("('a', 1)", "None")


def test_an_error_without_traceback_has_no_headline() -> None:
    assert user_traceback(ValueError("no")) == "ValueError: no\n"


def test_what_is_not_the_users_fault_stays_what_it_is() -> None:
    context = Harness(lambda: MapOperator(parse, ANY)).context
    full = LocalStoreFullError("disk full")
    assert user_function_error(full, context) is full
    reported = failure_of("x")
    assert user_function_error(reported, context) is reported


def test_a_failure_travels() -> None:
    error = failure_of("x")
    copy = pickle.loads(pickle.dumps(error))
    assert copy.report == error.report
