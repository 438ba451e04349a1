"""The options of restart strategies, under Flink's names."""

from __future__ import annotations

from penstock.common.config_options import ConfigOption, one_of, parse_integer, parse_number, positive
from penstock.common.time import parse_duration

_FLINKS_OTHER_WORDS = {
    "off": "none",
    "disable": "none",
    "fixeddelay": "fixed-delay",
    "failurerate": "failure-rate",
    "exponentialdelay": "exponential-delay",
}

RESTART_STRATEGY = ConfigOption[str | None](
    "restart-strategy.type",
    one_of("none", "fixed-delay", "failure-rate", "exponential-delay", same=_FLINKS_OTHER_WORDS),
    None,
    "What follows a failure: none (the job fails), fixed-delay, failure-rate or exponential-delay. A restarted job "
    "goes on from its last committed epoch. Unset: exponential-delay for a stream with a checkpoint directory or "
    "interval, else none.",
    environment_variable="PENSTOCK_RESTART_STRATEGY",
    other_keys=("restart-strategy",),
)
FIXED_DELAY_ATTEMPTS = ConfigOption(
    "restart-strategy.fixed-delay.attempts",
    positive(parse_integer),
    1,
    "How often a job is started again.",
)
FIXED_DELAY_DELAY = ConfigOption(
    "restart-strategy.fixed-delay.delay",
    parse_duration,
    1000,
    "The wait before each attempt, in ms.",
)
FAILURE_RATE_MAX = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval",
    positive(parse_integer),
    1,
    "How many failures within the interval do not end the job.",
)
FAILURE_RATE_INTERVAL = ConfigOption(
    "restart-strategy.failure-rate.failure-rate-interval",
    parse_duration,
    60_000,
    "The time that failures are counted over, in ms.",
)
FAILURE_RATE_DELAY = ConfigOption(
    "restart-strategy.failure-rate.delay",
    parse_duration,
    1000,
    "The wait before each attempt, in ms.",
)
EXPONENTIAL_INITIAL = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    parse_duration,
    1000,
    "The wait before the first attempt, in ms.",
)
EXPONENTIAL_MAX = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff",
    parse_duration,
    60_000,
    "The longest wait, in ms.",
)
EXPONENTIAL_MULTIPLIER = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    parse_number,
    1.5,
    "By how much each wait is longer than the one before.",
)
EXPONENTIAL_RESET = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    parse_duration,
    3_600_000,
    "After so long without a failure, in ms, the wait is the first one again.",
)
EXPONENTIAL_JITTER = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    parse_number,
    0.1,
    "The part of a wait that is random, either way.",
)
EXPONENTIAL_ATTEMPTS = ConfigOption[int | None](
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    positive(parse_integer),
    None,
    "How often a job is started again, counted from the last time that the wait was the first one; unset: without end.",
)
