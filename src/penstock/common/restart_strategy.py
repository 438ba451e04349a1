"""What happens after a failure: how often a job is started again, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import timedelta

from penstock.common import restart_options as options
from penstock.common.configuration import Configuration
from penstock.common.time import DurationLike, parse_duration


class RestartStrategyConfiguration(ABC):
    """A restart strategy with its numbers. `env.set_restart_strategy(...)` takes one."""

    @abstractmethod
    def get_description(self) -> str:
        """One line that says what it does."""

    @abstractmethod
    def to_dict(self) -> Mapping[str, str]:
        """The same as options, under Flink's names."""

    def set_in(self, configuration: Configuration) -> None:
        """Makes this the strategy of a configuration."""
        for key, value in self.to_dict().items():
            configuration.set_string(key, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RestartStrategyConfiguration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __repr__(self) -> str:
        return f"<{self.get_description()}>"


class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
    """The first failure ends the job."""

    def get_description(self) -> str:
        """One line that says what it does."""
        return "Restart deactivated."

    def to_dict(self) -> Mapping[str, str]:
        """The same as options."""
        return {options.RESTART_STRATEGY.key: "none"}


class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Whatever the configuration says otherwise."""

    def get_description(self) -> str:
        """One line that says what it does."""
        return "Cluster level default restart strategy"

    def to_dict(self) -> Mapping[str, str]:
        """No option: those that are set stay."""
        return {}


class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Starts the job again so many times, each time after the same wait."""

    def __init__(self, restart_attempts: int, delay_between_attempts_interval: DurationLike) -> None:
        self._attempts = restart_attempts
        self._delay = parse_duration(delay_between_attempts_interval)

    def get_restart_attempts(self) -> int:
        """How often."""
        return self._attempts

    def get_delay_between_attempts_interval(self) -> timedelta:
        """The wait before each attempt."""
        return timedelta(milliseconds=self._delay)

    def get_description(self) -> str:
        """One line that says what it does."""
        return f"Restart with fixed delay ({self._delay} ms). #{self._attempts} restart attempts."

    def to_dict(self) -> Mapping[str, str]:
        """The same as options."""
        return {
            options.RESTART_STRATEGY.key: "fixed-delay",
            options.FIXED_DELAY_ATTEMPTS.key: str(self._attempts),
            options.FIXED_DELAY_DELAY.key: f"{self._delay} ms",
        }


class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Starts the job again unless it fails too often within some time."""

    def __init__(
        self, max_failure_rate: int, failure_interval: DurationLike, delay_between_attempts_interval: DurationLike
    ) -> None:
        self._rate = max_failure_rate
        self._interval = parse_duration(failure_interval)
        self._delay = parse_duration(delay_between_attempts_interval)

    def get_max_failure_rate(self) -> int:
        """How many failures within the interval do not end the job."""
        return self._rate

    def get_failure_interval(self) -> timedelta:
        """The time that failures are counted over."""
        return timedelta(milliseconds=self._interval)

    def get_delay_between_attempts_interval(self) -> timedelta:
        """The wait before each attempt."""
        return timedelta(milliseconds=self._delay)

    def get_description(self) -> str:
        """One line that says what it does."""
        return (
            f"Failure rate restart with maximum of {self._rate} failures within interval {self._interval} ms "
            f"and fixed delay {self._delay} ms."
        )

    def to_dict(self) -> Mapping[str, str]:
        """The same as options."""
        return {
            options.RESTART_STRATEGY.key: "failure-rate",
            options.FAILURE_RATE_MAX.key: str(self._rate),
            options.FAILURE_RATE_INTERVAL.key: f"{self._interval} ms",
            options.FAILURE_RATE_DELAY.key: f"{self._delay} ms",
        }


class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Starts the job again each time, after a wait that grows; it is short again after a time without failures."""

    def __init__(
        self,
        initial_backoff: DurationLike,
        max_backoff: DurationLike,
        backoff_multiplier: float,
        reset_backoff_threshold: DurationLike,
        jitter_factor: float,
    ) -> None:
        self._initial = parse_duration(initial_backoff)
        self._max = parse_duration(max_backoff)
        self._multiplier = backoff_multiplier
        self._reset = parse_duration(reset_backoff_threshold)
        self._jitter = jitter_factor

    def get_description(self) -> str:
        """One line that says what it does."""
        return (
            f"Restart with exponential delay: starting at {self._initial} ms, increasing by {self._multiplier}, with "
            f"maximum {self._max} ms. Delay resets after {self._reset} ms with jitter {self._jitter}"
        )

    def to_dict(self) -> Mapping[str, str]:
        """The same as options."""
        return {
            options.RESTART_STRATEGY.key: "exponential-delay",
            options.EXPONENTIAL_INITIAL.key: f"{self._initial} ms",
            options.EXPONENTIAL_MAX.key: f"{self._max} ms",
            options.EXPONENTIAL_MULTIPLIER.key: str(self._multiplier),
            options.EXPONENTIAL_RESET.key: f"{self._reset} ms",
            options.EXPONENTIAL_JITTER.key: str(self._jitter),
        }


class RestartStrategies:
    """Makes restart strategies.

    >>> RestartStrategies.fixed_delay_restart(3, "10 s").get_description()
    'Restart with fixed delay (10000 ms). #3 restart attempts.'
    """

    NoRestartStrategyConfiguration = NoRestartStrategyConfiguration
    FixedDelayRestartStrategyConfiguration = FixedDelayRestartStrategyConfiguration
    FailureRateRestartStrategyConfiguration = FailureRateRestartStrategyConfiguration
    FallbackRestartStrategyConfiguration = FallbackRestartStrategyConfiguration

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The first failure ends the job."""
        return NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Whatever the configuration says otherwise."""
        return FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: DurationLike
    ) -> FixedDelayRestartStrategyConfiguration:
        """So many times, each after the same wait."""
        return FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: DurationLike, delay_interval: DurationLike
    ) -> FailureRateRestartStrategyConfiguration:
        """Unless there are more than so many failures within the interval."""
        return FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: DurationLike,
        max_backoff: DurationLike,
        backoff_multiplier: float,
        reset_backoff_threshold: DurationLike,
        jitter_factor: float,
    ) -> ExponentialDelayRestartStrategyConfiguration:
        """Each time, after a wait that grows."""
        return ExponentialDelayRestartStrategyConfiguration(
            initial_backoff, max_backoff, backoff_multiplier, reset_backoff_threshold, jitter_factor
        )
