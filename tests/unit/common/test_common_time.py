from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.errors import ConfigurationError
from penstock.common.time import Duration, Instant, Time, parse_duration


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ("10 s", 10_000),
        ("200 ms", 200),
        ("200ms", 200),
        ("1 min", 60_000),
        ("5 m", 300_000),
        ("2 h", 7_200_000),
        ("1 d", 86_400_000),
        ("1.5 s", 1500),
        ("0.1 s", 100),
        (" 3 Seconds ", 3000),
        ("250", 250),
        ("1999 us", 1),
        ("PT10S", 10_000),
        ("PT1H30M", 5_400_000),
        ("P1DT0.5S", 86_400_500),
        ("P2D", 172_800_000),
        (timedelta(seconds=1.5), 1500),
        (Time.minutes(2), 120_000),
        (Duration.of_hours(1), 3_600_000),
        (42, 42),
        (0, 0),
    ],
)
def test_durations_in_all_their_forms(value: Any, millis: int) -> None:
    assert parse_duration(value) == millis


NAN: Any = float("nan")
FRACTIONS: list[Any] = [Time(NAN), Time.milliseconds(2.5), Duration.of_seconds(NAN)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", ["", "s", "10 parsecs", "P", "PT", "1 2 s", "-1 s", 1.5, None, True, [], "P1M", *FRACTIONS]
)
def test_what_is_not_a_duration_is_an_error_that_shows_how_to_write_one(value: Any) -> None:
    with pytest.raises(ConfigurationError, match='"10 s"') as caught:
        parse_duration(value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [-1, timedelta(seconds=-1), Time(-5)])
def test_negative_durations_are_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="negative"):
        parse_duration(value)


def test_equal_lengths_are_equal_however_they_are_made() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert str(Time.seconds(2)) == "2000 ms"
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440)
    assert Duration.of_seconds(1) == Duration.of_millis(1000) == Duration.of_nanos(1_000_000_000)
    assert Duration.of_nanos(1) != Duration.of_nanos(2)
    assert len({Time.seconds(60), Time.minutes(1), Duration.of_minutes(1), Duration.of_seconds(60)}) == 2


@given(st.integers(-(2**60), 2**60))
def test_instants_keep_their_milliseconds_on_both_sides_of_1970(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert instant.to_epoch_milli() == millis
    assert 0 <= instant.nanos < 1_000_000_000


def test_instants_are_values() -> None:
    assert Instant(1, 2) == Instant(1, 2)
    assert Instant(1, 2) != Instant(1, 3)
    assert len({Instant(1, 2), Instant(1, 2)}) == 1
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
