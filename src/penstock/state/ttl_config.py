"""How long state lives."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

from penstock.common.errors import StateError
from penstock.common.time import Duration, DurationLike, Time, parse_duration


class UpdateType(Enum):
    """What counts as a use of a value: its time to live starts anew with each use."""

    Disabled = 0
    """State does not expire."""
    OnCreateAndWrite = 1
    """Setting a value."""
    OnReadAndWrite = 2
    """Setting a value, and reading it."""


class StateVisibility(Enum):
    """Whether a value that has expired can still be read."""

    ReturnExpiredIfNotCleanedUp = 0
    """It can, once, if nothing has removed it before."""
    NeverReturnExpired = 1
    """It cannot."""


class TtlTimeCharacteristic(Enum):
    """The time that values live by."""

    ProcessingTime = 0
    """Processing time, which is constant within an epoch."""


class Strategies(Enum):
    """The ways to find values that have expired."""

    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


class CleanupStrategy(ABC):  # noqa: B024 (a common name for what strategies are told)
    """What a strategy is told."""


class EmptyCleanupStrategy(CleanupStrategy):
    """A strategy that is told nothing."""


class IncrementalCleanupStrategy(CleanupStrategy):
    """Looks at some entries for every use of the state."""

    def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
        if isinstance(cleanup_size, bool) or not isinstance(cleanup_size, int) or cleanup_size <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StateError(f"incremental clean-up looks at a positive number of entries, got {cleanup_size!r}")
        self._cleanup_size = cleanup_size
        self._run_cleanup_for_every_record = run_cleanup_for_every_record

    def get_cleanup_size(self) -> int:
        """How many entries are looked at for every use."""
        return self._cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Whether every record of the operator counts as a use."""
        return self._run_cleanup_for_every_record


class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
    """Looks at all entries when a long history of changes is replaced by a snapshot."""

    def __init__(self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None) -> None:
        self._query_time_after_num_entries = query_time_after_num_entries
        self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

    def get_query_time_after_num_entries(self) -> int:
        """As given; time is constant within an epoch, so it is not asked for again."""
        return self._query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration:
        """As given; snapshots follow the amount of changes, not the clock."""
        return self._periodic_compaction_time


class CleanupStrategies:
    """When values that have expired are removed. One that is read is always removed, whatever is said here."""

    Strategies = Strategies
    CleanupStrategy = CleanupStrategy
    EmptyCleanupStrategy = EmptyCleanupStrategy
    IncrementalCleanupStrategy = IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy = RocksdbCompactFilterCleanupStrategy
    EMPTY_STRATEGY: ClassVar[EmptyCleanupStrategy] = EmptyCleanupStrategy()

    def __init__(self, strategies: Mapping[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
        self._strategies = dict(strategies)
        self._is_cleanup_in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        """Whether the default strategies are in use where none was chosen."""
        return self._is_cleanup_in_background

    def in_full_snapshot(self) -> bool:
        """Whether snapshots are to be free of what has expired."""
        return Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """The chosen incremental clean-up, or the default one."""
        chosen = self._strategies.get(Strategies.INCREMENTAL_CLEANUP)
        if isinstance(chosen, IncrementalCleanupStrategy):
            return chosen
        return IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
        """The chosen clean-up by compaction, or the default one."""
        chosen = self._strategies.get(Strategies.ROCKSDB_COMPACTION_FILTER)
        if isinstance(chosen, RocksdbCompactFilterCleanupStrategy):
            return chosen
        return RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None


class Builder:
    """Makes a `StateTtlConfig` step by step."""

    def __init__(self, ttl: DurationLike) -> None:
        self.set_ttl(ttl)
        self._update_type = UpdateType.OnCreateAndWrite
        self._state_visibility = StateVisibility.NeverReturnExpired
        self._ttl_time_characteristic = TtlTimeCharacteristic.ProcessingTime
        self._is_cleanup_in_background = True
        self._strategies: dict[Strategies, CleanupStrategy] = {}

    def set_update_type(self, update_type: UpdateType) -> Builder:
        """Says what counts as a use of a value."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> Builder:
        """The time to live starts anew when a value is set."""
        return self.set_update_type(UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> Builder:
        """The time to live starts anew when a value is set or read."""
        return self.set_update_type(UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: StateVisibility) -> Builder:
        """Says whether a value that has expired can still be read."""
        self._state_visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> Builder:
        """A value that has expired can be read as long as it is there."""
        return self.set_state_visibility(StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> Builder:
        """A value that has expired cannot be read."""
        return self.set_state_visibility(StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, ttl_time_characteristic: TtlTimeCharacteristic) -> Builder:
        """Says which time values live by; there is only processing time."""
        self._ttl_time_characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> Builder:
        """Values live by processing time."""
        return self.set_ttl_time_characteristic(TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> Builder:
        """What has expired is removed before a snapshot of the state is written."""
        self._strategies[Strategies.FULL_STATE_SCAN_SNAPSHOT] = CleanupStrategies.EMPTY_STRATEGY
        return self

    def cleanup_incrementally(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> Builder:
        """For every use of the state, `cleanup_size` entries of any keys are looked at, at the end of the epoch.

        With `run_cleanup_for_every_record`, every record of the operator counts as a use.
        """
        self._strategies[Strategies.INCREMENTAL_CLEANUP] = IncrementalCleanupStrategy(
            cleanup_size, run_cleanup_for_every_record
        )
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
    ) -> Builder:
        """What has expired is removed when a long history of changes is replaced by a snapshot.

        There is no RocksDB here: this is the step that compaction is there. Both numbers are kept and not used.
        """
        self._strategies[Strategies.ROCKSDB_COMPACTION_FILTER] = RocksdbCompactFilterCleanupStrategy(
            query_time_after_num_entries, periodic_compaction_time
        )
        return self

    def disable_cleanup_in_background(self) -> Builder:
        """Nothing is removed but what is read, unless a strategy is chosen."""
        self._is_cleanup_in_background = False
        return self

    def set_ttl(self, ttl: DurationLike) -> Builder:
        """Says how long a value lives after its last use: a `Time`, or whatever else says a duration."""
        milliseconds = parse_duration(ttl)
        if milliseconds == 0:
            raise StateError(f"the time to live has to be positive, got {ttl!r}")
        self._ttl = Time.milliseconds(milliseconds)
        return self

    def build(self) -> StateTtlConfig:
        """The configuration."""
        return StateTtlConfig(
            self._update_type,
            self._state_visibility,
            self._ttl_time_characteristic,
            self._ttl,
            CleanupStrategies(self._strategies, self._is_cleanup_in_background),
        )


class StateTtlConfig:
    """How long values of a state live after their last use, and what happens to them then.

    >>> from penstock.common import Time
    >>> StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build().get_ttl()
    Time<3600000 ms>
    """

    UpdateType = UpdateType
    StateVisibility = StateVisibility
    TtlTimeCharacteristic = TtlTimeCharacteristic
    CleanupStrategies = CleanupStrategies
    Builder = Builder

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Time,
        cleanup_strategies: CleanupStrategies,
    ) -> None:
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: DurationLike) -> Builder:
        """A builder; the rest is `OnCreateAndWrite`, `NeverReturnExpired`, clean-up in the background."""
        return Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """What counts as a use of a value."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether a value that has expired can still be read."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """How long a value lives after its last use."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """The time that values live by."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Whether values expire at all."""
        return self._update_type is not UpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """When values that have expired are removed."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return f"StateTtlConfig({self._ttl}, {self._update_type.name}, {self._state_visibility.name})"
