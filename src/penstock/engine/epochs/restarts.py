"""When a job that failed is started again, as restart strategies say."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque

from penstock.common import options
from penstock.common.configuration import Configuration


class RestartPolicy(ABC):
    """Decides after every failure. One object serves one run of a job."""

    @abstractmethod
    def delay_after_failure(self, now: int) -> int | None:
        """How long to wait before the job goes on; None: it does not. `now` is when it failed; all in ms."""


class NoRestart(RestartPolicy):
    """The first failure ends the job."""

    def delay_after_failure(self, now: int) -> int | None:
        """None."""
        return None


class FixedDelayRestart(RestartPolicy):
    """So many times, each after the same wait."""

    def __init__(self, attempts: int, delay: int) -> None:
        self._left = attempts
        self._delay = delay

    def delay_after_failure(self, now: int) -> int | None:
        """The delay while attempts are left."""
        self._left -= 1
        return self._delay if self._left >= 0 else None


class FailureRateRestart(RestartPolicy):
    """Unless there are more than so many failures within the interval."""

    def __init__(self, max_failures: int, interval: int, delay: int) -> None:
        self._failures: deque[int] = deque(maxlen=max_failures + 1)
        self._interval = interval
        self._delay = delay

    def delay_after_failure(self, now: int) -> int | None:
        """The delay, unless the failures come too fast."""
        self._failures.append(now)
        too_many = len(self._failures) == self._failures.maxlen and now - self._failures[0] <= self._interval
        return None if too_many else self._delay


class ExponentialDelayRestart(RestartPolicy):
    """Each time, after a wait that grows up to a maximum, and is short again after a time without failures."""

    def __init__(
        self,
        initial: int,
        maximum: int,
        multiplier: float,
        reset_after: int,
        jitter: float,
        randomness: random.Random | None = None,
        *,
        attempts: int | None = None,
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._multiplier = multiplier
        self._reset_after = reset_after
        self._jitter = jitter
        self._random = randomness or random.Random()  # noqa: S311  a spread of waits, not a secret
        self._attempts = attempts
        """How often in a row, None: without end."""
        self._made = 0
        self._backoff: float = initial
        self._goes_on_at = 0

    def delay_after_failure(self, now: int) -> int | None:
        """The next wait, while attempts are left."""
        if now - self._goes_on_at >= self._reset_after:
            self._backoff = self._initial
            self._made = 0
        self._made += 1
        if self._attempts is not None and self._made > self._attempts:
            return None
        spread = self._backoff * self._jitter
        delay = min(int(self._backoff + self._random.uniform(-spread, spread)), self._maximum)
        self._backoff = min(self._backoff * self._multiplier, self._maximum)
        self._goes_on_at = now + delay
        return delay


def restart_policy(configuration: Configuration, *, is_checkpointed_stream: bool = False) -> RestartPolicy:
    """The policy that the options describe.

    Where they describe none, it is as in Flink: exponential delay for a stream with checkpoints, else no restart.
    """
    match configuration.get(options.RESTART_STRATEGY) or ("exponential-delay" if is_checkpointed_stream else "none"):
        case "fixed-delay":
            return FixedDelayRestart(
                configuration.get(options.FIXED_DELAY_ATTEMPTS), configuration.get(options.FIXED_DELAY_DELAY)
            )
        case "failure-rate":
            return FailureRateRestart(
                configuration.get(options.FAILURE_RATE_MAX),
                configuration.get(options.FAILURE_RATE_INTERVAL),
                configuration.get(options.FAILURE_RATE_DELAY),
            )
        case "exponential-delay":
            return ExponentialDelayRestart(
                configuration.get(options.EXPONENTIAL_INITIAL),
                configuration.get(options.EXPONENTIAL_MAX),
                configuration.get(options.EXPONENTIAL_MULTIPLIER),
                configuration.get(options.EXPONENTIAL_RESET),
                configuration.get(options.EXPONENTIAL_JITTER),
                attempts=configuration.get(options.EXPONENTIAL_ATTEMPTS),
            )
        case _:
            return NoRestart()
