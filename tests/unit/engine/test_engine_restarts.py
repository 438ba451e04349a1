"""When a failed job goes on, by the numbers."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration, RestartStrategies
from penstock.engine.epochs.restarts import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    restart_policy,
)


def test_a_fixed_delay_has_so_many_attempts() -> None:
    policy = FixedDelayRestart(2, 500)
    assert [policy.delay_after_failure(now) for now in (0, 10, 10_000_000)] == [500, 500, None]


def test_a_failure_rate_counts_within_its_interval() -> None:
    policy = FailureRateRestart(2, 1000, 7)
    assert [policy.delay_after_failure(now) for now in (0, 900, 1001, 1002)] == [7, 7, 7, None]


def test_an_exponential_delay_grows_to_its_maximum_and_begins_again_after_a_quiet_time() -> None:
    policy = ExponentialDelayRestart(100, 350, 2.0, 10_000, 0.0)
    assert [policy.delay_after_failure(now) for now in (0, 1, 2, 3)] == [100, 200, 350, 350]
    assert policy.delay_after_failure(50_000) == 100


@given(st.integers(0, 10**6), st.floats(0, 1), st.integers())
def test_jitter_stays_within_its_part_of_the_delay(initial: int, jitter: float, seed: int) -> None:
    policy = ExponentialDelayRestart(initial, 10**7, 1.0, 10, jitter, random.Random(seed))
    delay = policy.delay_after_failure(0)
    assert delay is not None
    assert initial * (1 - jitter) - 1 <= delay <= initial * (1 + jitter) + 1


@pytest.mark.parametrize(
    ("strategy", "delays"),
    [
        (RestartStrategies.no_restart(), [None]),
        (RestartStrategies.fall_back_restart(), [None]),
        (RestartStrategies.fixed_delay_restart(1, "2 s"), [2000, None]),
        (RestartStrategies.failure_rate_restart(1, "1 min", 30), [30, None]),
        (RestartStrategies.exponential_delay_restart(100, "1 s", 2, "1 h", 0), [100, 200, 400]),
    ],
)
def test_a_strategy_is_a_policy_by_way_of_the_options(strategy, delays) -> None:
    configuration = Configuration()
    strategy.set_in(configuration)
    policy = restart_policy(configuration)
    assert [policy.delay_after_failure(1) for _ in delays] == delays


def test_the_options_have_flinks_names_and_defaults() -> None:
    policy = restart_policy(Configuration().set_string("restart-strategy.type", "FixedDelay"))
    assert [policy.delay_after_failure(0), policy.delay_after_failure(0)] == [1000, None]
