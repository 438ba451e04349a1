"""Batches, call sites and errors."""

from __future__ import annotations

import pickle
import sys

import pytest

from penstock.common import call_site
from penstock.common.batch import Batch
from penstock.common.call_site import CallSite, capture_call_site
from penstock.common.codecs import codec_for
from penstock.common.errors import (
    ConfigurationError,
    FailureReport,
    JobExecutionException,
    PenstockError,
    TypeMismatchError,
    UserFunctionError,
)
from penstock.common.typeinfo import Types

PAIRS = codec_for(Types.TUPLE([Types.STRING(), Types.LONG()]))


def test_a_batch_makes_columns_of_values_once() -> None:
    batch = Batch(PAIRS, values=[("a", 1), ("b", 2)], timestamps=[5, None])
    assert len(batch) == 2
    assert not batch.is_columnar
    columns = batch.columns
    assert [column.to_pylist() for column in columns] == [["a", "b"], [1, 2]]
    assert batch.is_columnar
    assert batch.columns is columns
    assert batch.timestamps == [5, None]


def test_a_batch_makes_values_of_columns_once() -> None:
    batch = Batch(PAIRS, columns=PAIRS.to_columns([("a", 1)]))
    assert len(batch) == 1
    values = batch.values
    assert values == [("a", 1)]
    assert batch.values is values


def test_a_batch_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="values or columns"):
        Batch(PAIRS)


def test_the_call_site_is_the_line_outside_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    here = sys._getframe().f_lineno
    site = capture_call_site()
    assert site == CallSite(__file__, here + 1, "site = capture_call_site()")
    assert str(site) == f"{__file__}:{here + 1}: site = capture_call_site()"
    monkeypatch.setattr(call_site, "_PACKAGE_DIRECTORY", str(__file__))
    assert capture_call_site().file != __file__


def test_a_failure_report_shows_the_traceback_first_then_where() -> None:
    report = FailureReport(
        "ValueError", "bad", "Traceback ...\nValueError: bad\n", "count", "uid-1", 1, 3, 12, "'k'", "(1, 2)", "job.py:5"
    )
    assert report.render().splitlines() == [
        "Traceback ...",
        "ValueError: bad",
        "",
        "  operator: count",
        "  uid: uid-1",
        "  defined at: job.py:5",
        "  subtask: 3",
        "  epoch: 12",
        "  key: 'k'",
        "  record: (1, 2)",
    ]
    assert FailureReport("ValueError", "bad", "").render() == "ValueError: bad\n"


@pytest.mark.parametrize(
    "error",
    [
        UserFunctionError(FailureReport("ValueError", "bad", "")),
        JobExecutionException("failed", FailureReport("ValueError", "bad", "")),
        TypeMismatchError("no fit", index=3, field="a"),
    ],
)
def test_errors_keep_what_they_carry_on_their_way_between_processes(error: PenstockError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_errors_are_also_the_builtin_kind_that_people_expect() -> None:
    assert issubclass(ConfigurationError, ValueError)
    assert issubclass(TypeMismatchError, TypeError)
