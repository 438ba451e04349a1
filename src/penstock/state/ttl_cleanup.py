"""What expired values have in common, whatever kind of state they are in: when they expire, and how they are found."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from penstock.common.errors import StateMisfitError
from penstock.state.handle import StateHandle
from penstock.state.own_copy import ATOMS, own_copy
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore
from penstock.state.ttl_config import StateTtlConfig
from penstock.state.ttl_serializer import TIME_BYTES, Used, time_bytes
from penstock.state.value_serializers import ValueSerializer

_UID_BYTES = 8
_TAG = b"\0ttl"
_ROUNDS_PER_LIFE = 10
"""A round of incremental clean-up begins no sooner than a tenth of the time to live after the last one did."""


class Expiry:
    """How long values live, by a clock, and what is done about those that have expired."""

    def __init__(self, config: StateTtlConfig, clock: Callable[[], int]) -> None:
        self.now = clock
        self.ttl = config.get_ttl().to_milliseconds()
        self.reads_are_uses = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        self.shows_expired = config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        strategies = config.get_cleanup_strategies()
        incremental = strategies.get_incremental_cleanup_strategy()
        self.visits_per_use = 0 if incremental is None else incremental.get_cleanup_size()
        self.records_are_uses = incremental is not None and incremental.run_cleanup_for_every_record()
        self.cleans_up_before_snapshots = (
            strategies.in_full_snapshot() or strategies.get_rocksdb_compact_filter_cleanup_strategy() is not None
        )

    def latest_expired(self) -> int:
        """Values that were last used at this time, or before, have expired."""
        return self.now() - self.ttl


@dataclass(frozen=True)
class _Round:
    """How far incremental clean-up has come; it is part of the state, so that all who look find the same."""

    next: str = ""
    """The key of the store to go on from, in hexadecimal; nothing between two rounds."""
    began: int = 0
    """When the round, or the last one, began."""


class ExpiringHandle(StateHandle):
    """A handle of state with a time to live. An entry of the store marks such state."""

    expiry: Expiry
    value_serializer: ValueSerializer
    """Of values without their times."""
    uses: int
    """Of the state since the last clean-up."""
    _cache: dict[bytes | None, Any]
    _dirty: dict[bytes, None]

    def flush(self) -> None:
        """Writes what was set since the last time to the store, and looks for entries that have expired."""
        has_changes = bool(self._dirty)
        super().flush()
        visits, self.uses = self.uses * self.expiry.visits_per_use, 0
        if has_changes or visits:
            self._save_round(self._clean_up(visits))

    def use_for_records(self, records: int) -> None:
        """The operator has processed records."""
        if self.expiry.records_are_uses:
            self.uses += records

    def clean_up_before_snapshot(self) -> None:
        """Removes everything that has expired, where the state is meant to be free of it in snapshots."""
        if self.expiry.cleans_up_before_snapshots and self._store.get(_mark(self.keys_in_store)) is not None:
            start, end = self.keys_in_store.range
            self._remove_expired(start, end, None)
            self._save_round(_Round(began=self.expiry.now()))

    @abstractmethod
    def _remove(self, store_keys: list[bytes]) -> None:
        """Removes what has expired of entries of the store, each of which has something that has."""

    def _clean_up(self, visits: int) -> _Round:
        stored = self._store.get(_mark(self.keys_in_store))
        current = _Round() if stored is None else _Round(**json.loads(stored))
        now = self.expiry.now()
        start, end = self.keys_in_store.range
        if current.next:
            start = bytes.fromhex(current.next)
        elif now - current.began < self.expiry.ttl // _ROUNDS_PER_LIFE:
            return current
        else:
            current = _Round(began=now)
        if not visits:
            return current
        following = self._remove_expired(start, end, visits)
        return _Round("" if following is None else following.hex(), current.began)

    def _remove_expired(self, start: bytes, end: bytes, visits: int | None) -> bytes | None:
        """Looks at so many entries; returns where the next ones are, None at the end."""
        latest_expired = time_bytes(self.expiry.latest_expired())
        expired: list[bytes] = []
        visited = 0
        store_key = b""
        for store_key, data in islice(self._store.scan(start, end), visits):
            visited += 1
            if data[:TIME_BYTES] <= latest_expired:
                expired.append(store_key)
        self._remove(expired)
        return store_key + b"\0" if visited == visits else None

    def _save_round(self, current: _Round) -> None:
        key, data = _mark(self.keys_in_store), json.dumps(asdict(current), sort_keys=True).encode()
        if self._store.get(key) != data:
            self._store.put(key, data)

    def _used(self, value: Any) -> Used:
        """A value that is set, as it is kept."""
        if type(value) not in ATOMS:
            value = self._owned(value)
        return self.expiry.now(), self.value_serializer.convert(value)

    def _given(self, value: Any) -> Any:
        """A value that is kept, as it is given out."""
        return value if type(value) in ATOMS else own_copy(value)


def check_time_to_live(store: StateStore, uid: str, name: str, keys: StateKeys, *, is_enabled: bool) -> None:
    """Refuses state that was written with a time to live and is used without one, and the reverse."""
    is_marked = store.get(_mark(keys)) is not None
    if is_enabled and not is_marked and next(store.scan(*keys.range), None) is not None:
        raise StateMisfitError(
            f"state '{name}' of operator '{uid}' was written without a time to live and is now used with one: its "
            "values do not say when they were last used. Take the time to live away, or give the state another name."
        )
    if is_marked and not is_enabled:
        raise StateMisfitError(
            f"state '{name}' of operator '{uid}' was written with a time to live and is now used without one. "
            "Enable it again (any time to live will do), or give the state another name."
        )


def _mark(keys: StateKeys) -> bytes:
    return keys.prefix[:_UID_BYTES] + _TAG + keys.prefix[_UID_BYTES:]
