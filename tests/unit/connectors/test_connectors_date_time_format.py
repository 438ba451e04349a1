from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.connectors.files.sink.date_time_format import DateTimeFormat

TIME = int(datetime(2024, 3, 5, 7, 8, 9, tzinfo=UTC).timestamp() * 1000) + 123


@pytest.mark.parametrize(
    ("pattern", "zone", "text"),
    [
        ("yyyy-MM-dd--HH", "UTC", "2024-03-05--07"),
        ("'dt='yyyy-MM-dd/'hour='HH", "GMT+02:00", "dt=2024-03-05/hour=09"),
        ("uuuu DDD mm:ss", "Europe/Berlin", "2024 065 08:09"),
        ("yy'%''x'", "America/Los_Angeles", "24%'x"),
    ],
)
def test_times_have_the_text_that_java_gives_them(pattern, zone, text):
    assert DateTimeFormat(pattern, zone).text(TIME) == text


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("yyyy", datetime(2025, 1, 1)),
        ("yyyy-MM", datetime(2024, 4, 1)),
        ("yyyyDDD", datetime(2024, 3, 6)),
        ("yyyy-MM-dd", datetime(2024, 3, 6)),
        ("yyyy-MM-dd HH", datetime(2024, 3, 5, 8)),
        ("yyyy-MM-dd HH:mm", datetime(2024, 3, 5, 7, 9)),
        ("yyyy-MM-dd HH:mm:ss", datetime(2024, 3, 5, 7, 8, 10)),
    ],
)
def test_the_end_of_a_text_is_where_the_next_one_begins(pattern, end):
    form = DateTimeFormat(pattern, "UTC")
    assert form.end_of(form.text(TIME)) == end.replace(tzinfo=UTC).timestamp() * 1000


@given(st.integers(0, 4_000_000_000_000), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu"]))
def test_a_day_ends_after_all_its_times(time, zone):
    form = DateTimeFormat("yyyy-MM-dd", zone)
    end = form.end_of(form.text(time))
    assert end is not None
    assert end > time
    assert form.text(end) != form.text(time) == form.text(end - 1)


def test_what_is_no_such_text_has_no_end():
    assert DateTimeFormat("yyyy", "UTC").end_of("abc") is None


def test_patterns_and_zones_that_are_not_known_are_refused():
    with pytest.raises(UnsupportedError, match="'EEE' is not supported"):
        DateTimeFormat("EEE")
    with pytest.raises(ConfigurationError, match="unknown time zone"):
        DateTimeFormat("yyyy", "Nowhere/City")
    with pytest.raises(ConfigurationError, match="cannot be read from character 4"):
        DateTimeFormat("yyyy'open")
    with pytest.raises(ConfigurationError):
        DateTimeFormat("")
