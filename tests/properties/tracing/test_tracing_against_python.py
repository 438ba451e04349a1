"""Random functions: what is computed over columns is what Python computes, errors and classes included."""

from __future__ import annotations

import os
import warnings
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.common.null_columns import widened
from penstock.common.row import Row
from penstock.runtime.traced_operator import TracedMapOperator
from penstock.tracing import NotTraceable, trace_filter, trace_map
from properties.tracing.random_programs import CHANGED, HELPERS, OUTPUTS, PLACES, RECORD, batches, composites, programs
from unit.runtime.operator_harness import Harness
from unit.tracing.traced_twins import exact

EXAMPLES = int(os.environ.get("PENSTOCK_TRACED_PROGRAMS", "1400"))
CODEC = codec_for(RECORD)
# Functions of the programs' own, as Python sees them: lines of them in tracebacks are not needed.
STATISTICS = {"refused": 0, "left to Python": 0, "columns": 0}


def compiled(source: str) -> Any:
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `1 is None`, and `~True`
        exec(HELPERS + source, scope)
    return scope["function"]


def answers(function: Any, records: list[Any]) -> list[Any] | None:
    """What Python says; None where it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [function(record) for record in records]
        except Exception:
            return None


def failure(function: Any, records: list[Any]) -> str:
    """What Python raises for the first record that it raises for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            list(map(function, records))
        except Exception as error:
            return exact(error)
    return ""


def check(kind: str, source: str, rows: list[Row]) -> None:
    columns = CODEC.to_columns(rows)
    records = CODEC.to_values(columns)
    try:
        function = compiled(source)
    except SyntaxError:
        return  # an f-string inside another, before Python 3.12
    expected = answers(function, records)
    for attempt in (_filtered, _mapped):
        try:
            found = attempt(function, kind, columns, len(rows))
        except NotTraceable as refusal:
            _check_reason(refusal)
            _count("refused")
            continue
        except Exception:
            _count("left to Python")
            continue
        _count("columns")
        assert expected is not None, (source, found)
        wanted = list(map(bool, expected)) if attempt is _filtered else expected
        assert list(map(exact, found)) == list(map(exact, wanted)), source


def _check_reason(refusal: NotTraceable) -> None:
    """A refusal is a decision, not an accident."""
    assert "tracer" not in refusal.reason, refusal.reason


def _count(outcome: str) -> None:
    STATISTICS[outcome] += 1
    event(outcome)


def _filtered(function: Any, kind: str, columns: Any, count: int) -> list[Any]:
    return trace_filter(function, RECORD).mask(columns, count).to_pylist()


def _mapped(function: Any, kind: str, columns: Any, count: int) -> list[Any]:
    output = OUTPUTS[kind]
    return codec_for(output).to_values(trace_map(function, RECORD, output).columns(columns, count))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), print_blob=True)
@given(programs(), st.lists(batches, min_size=2, max_size=3))
def test_random_functions(program: tuple[str, str], several: list[list[Row]]) -> None:
    for rows in several:
        check(*program, rows)


@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck), print_blob=True)
@given(composites(), st.lists(batches, min_size=2, max_size=3))
def test_random_functions_that_make_records(source: str, several: list[list[Row]]) -> None:
    try:
        function = compiled(source)
    except SyntaxError:
        return  # an f-string inside another, before Python 3.12
    for rows in several:
        columns = CODEC.to_columns(rows)
        expected = answers(function, CODEC.to_values(columns))
        try:
            program = trace_map(function, RECORD, None)
        except NotTraceable as refusal:
            _check_reason(refusal)
            return
        try:
            made = program.columns(columns, len(rows))
        except Exception:
            event("left to Python")
            continue
        event("columns")
        assert expected is not None, source
        found = codec_for(program.type).to_values(made)
        assert list(map(exact, found)) == list(map(exact, expected)), source


@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck), print_blob=True)
@given(programs(), batches, st.sampled_from(("before it opens", "while it runs", "never")))
def test_operators_do_not_miss_the_fields_that_are_not_sent(
    program: tuple[str, str], rows: list[Row], captured_values_change: str
) -> None:
    kind, source = program
    try:
        function = compiled(source)
        fields = trace_map(function, RECORD, OUTPUTS[kind]).read_fields
    except (SyntaxError, NotTraceable):
        return
    event("all" if fields is None else "some")
    if captured_values_change == "before it opens":
        exec(CHANGED, function.__globals__)
    harness = Harness(lambda: TracedMapOperator(function, codec_for(OUTPUTS[kind]), RECORD, OUTPUTS[kind]))
    if captured_values_change == "while it runs":
        exec(CHANGED, function.__globals__)
    columns = CODEC.to_columns(rows)
    places = sorted(PLACES.values() if fields is None else (PLACES[name] for name in fields)) or [0]
    assert CODEC.schema is not None
    sent = widened([columns[place] for place in places], places, CODEC.schema)
    records = CODEC.to_values(columns)
    expected = answers(function, records)
    raised = ""
    try:
        harness.operator.process(Batch(CODEC, columns=sent), 0)
    except UserFunctionError as error:
        raised = exact(error.__cause__)
    assert raised == failure(function, records), source
    if expected is not None:
        assert list(map(exact, harness.values())) == list(map(exact, expected)), source


def test_random_functions_are_mostly_computed_over_columns() -> None:
    if sum(STATISTICS.values()) < 100:
        test_random_functions()  # this test runs alone, or before that one
    assert STATISTICS["columns"] > sum(STATISTICS.values()) * 0.2
