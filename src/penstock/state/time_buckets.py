"""Records of each key by their time. Every time of a key is one entry of the store:

store key of the key | u64 time, moved to unsigned, big-endian   ->   the records, in the order in which they came
"""

from __future__ import annotations

from bisect import bisect_right, insort
from struct import Struct
from typing import Any

from penstock.common.errors import StateError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.catalogue import StateCatalogue
from penstock.state.descriptors import MapStateDescriptor
from penstock.state.handle import DEFAULT_CACHE_LIMIT
from penstock.state.state_keys import StateKeys, end_of_prefix
from penstock.state.state_schema import BUCKETS
from penstock.state.store import StateStore
from penstock.state.value_serializers import serializer_for

_TIME = Struct(">Q")
_OFFSET = 1 << 63


class BucketsOfKey:
    """The records of one key; to be changed by `TimeBuckets` only."""

    __slots__ = ("changed", "records", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        """In order."""
        self.records: dict[int, list[Any]] = {}
        self.changed: dict[int, bool] = {}
        """Times that are not in the store as they are here: whether the store has something there."""

    def before(self, time: int) -> list[Any] | None:
        """The records of the newest time up to the given one."""
        at = bisect_right(self.times, time)
        return self.records[self.times[at - 1]] if at else None


class TimeBuckets:
    """Keeps decoded records in memory; `flush` writes what was changed. What comes and goes in between is not written.

    Records are not copied.
    """

    def __init__(
        self,
        store: StateStore,
        uid: str,
        name: str,
        max_parallelism: int,
        record_type: TypeInformation | None,
        *,
        cache_limit: int = DEFAULT_CACHE_LIMIT,
    ) -> None:
        self.name = name
        self._store = store
        self._keys = StateKeys(uid, name, max_parallelism)
        self._serializer = serializer_for(record_type)
        self._cache: dict[bytes, BucketsOfKey] = {}
        self._changed: dict[bytes, None] = {}
        self._found_empty: list[bytes] = []
        """Keys of which the store had nothing."""
        self._cache_limit = cache_limit
        self._size = 0
        """The records in the cache, roughly."""
        self.catalogue = StateCatalogue(store, uid)
        self.catalogue.add(MapStateDescriptor(name, Types.LONG(), record_type), form=BUCKETS)

    def of(self, key: bytes) -> BucketsOfKey:
        """What a key has."""
        return self._cache.get(key) or self._load(key)

    def add(self, key: bytes, time: int, record: Any) -> bool:
        """Adds a record; True when the key has none as early."""
        buckets = self._cache.get(key) or self._load(key)
        self._changed[key] = None
        bucket = buckets.records.get(time)
        if bucket is not None:
            bucket.append(record)
            buckets.changed.setdefault(time, True)
            return False
        return self._begin(buckets, time, record)

    def replace(self, key: bytes, time: int, record: Any) -> None:
        """Makes a record the only one of its time."""
        buckets = self._cache.get(key) or self._load(key)
        self._changed[key] = None
        if time in buckets.records:
            buckets.records[time] = [record]
            buckets.changed.setdefault(time, True)
        else:
            self._begin(buckets, time, record)

    def remove_until(self, key: bytes, time: int) -> list[tuple[int, list[Any]]]:
        """Takes out all records up to a time, in the order of time."""
        buckets = self._cache.get(key) or self._load(key)
        return self._remove_first(key, buckets, bisect_right(buckets.times, time))

    def remove_superseded(self, key: bytes, time: int) -> None:
        """Takes out all records that have a newer one up to a time."""
        buckets = self._cache.get(key) or self._load(key)
        self._remove_first(key, buckets, bisect_right(buckets.times, time) - 1)

    def flush(self) -> None:
        """Writes what was changed since the last time to the store."""
        keys = list(self._changed)
        put, delete, dumps = self._store.put, self._store.delete, self._serializer.dumps_many
        for key, prefix in zip(keys, self._keys.of_all(keys), strict=True):
            buckets = self._cache[key]
            for time, is_stored in buckets.changed.items():
                records = buckets.records.get(time)
                if records is not None:
                    try:
                        put(prefix + _TIME.pack(time + _OFFSET), dumps(records))
                    except Exception as error:
                        raise StateError(f"{self.name}: cannot save {records!r}: {error}") from error
                elif is_stored:
                    delete(prefix + _TIME.pack(time + _OFFSET))
            buckets.changed = {}
        # What is kept in memory follows what is open, not the keys that there ever were.
        for key in (*keys, *self._found_empty):
            if key in self._cache and not self._cache[key].times:
                del self._cache[key]
        self._changed = {}
        self._found_empty = []
        if self._size > self._cache_limit:
            self._cache = {}
            self._size = 0

    def drop_caches(self) -> None:
        """Forgets everything, what was changed too."""
        self._cache = {}
        self._changed = {}
        self._found_empty = []
        self._size = 0

    def _begin(self, buckets: BucketsOfKey, time: int, record: Any) -> bool:
        times = buckets.times
        if not times or times[-1] < time:
            times.append(time)
        else:
            insort(times, time)
        buckets.records[time] = [record]
        buckets.changed.setdefault(time, False)
        self._size += 1
        return times[0] == time

    def _remove_first(self, key: bytes, buckets: BucketsOfKey, count: int) -> list[tuple[int, list[Any]]]:
        if count <= 0:
            return []
        removed = buckets.times[:count]
        del buckets.times[:count]
        changed, taken = buckets.changed, []
        for time in removed:
            if changed.setdefault(time, True) is False:
                del changed[time]
            taken.append((time, buckets.records.pop(time)))
        self._changed[key] = None
        self._size -= count
        return taken

    def _load(self, key: bytes) -> BucketsOfKey:
        prefix = self._keys.of(key)
        buckets = self._cache[key] = BucketsOfKey()
        for store_key, data in self._store.scan(prefix, end_of_prefix(prefix)):
            time = _TIME.unpack_from(store_key, len(prefix))[0] - _OFFSET
            buckets.times.append(time)
            buckets.records[time] = self._serializer.loads_many(data)
        if not buckets.times:
            self._found_empty.append(key)
        self._size += len(buckets.times)
        return buckets
