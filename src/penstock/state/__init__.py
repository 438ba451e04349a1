"""State: descriptors and handles, key encoding and key groups, stores, state files, checkpoint storage."""

from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.state.key_encoding import decode_key, encode_column, encode_key, register_key_class
from penstock.state.keyed import KeyedStateBackend
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory import MemoryStore
from penstock.state.migrations import Migration, migrate
from penstock.state.savepoints import Savepoint
from penstock.state.state import (
    AggregatingState,
    AppendingState,
    BroadcastState,
    ListState,
    MapState,
    MergingState,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    ReducingState,
    State,
    ValueState,
)
from penstock.state.storage import CheckpointStorage, LocalCheckpointStorage, open_storage
from penstock.state.store import StateStore, StoreChangedError
from penstock.state.ttl_config import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "BroadcastStateBackend",
    "CheckpointStorage",
    "KeyedStateBackend",
    "ListState",
    "ListStateDescriptor",
    "LmdbStore",
    "LocalCheckpointStorage",
    "MapState",
    "MapStateDescriptor",
    "MemoryStore",
    "MergingState",
    "Migration",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "Savepoint",
    "State",
    "StateDescriptor",
    "StateStore",
    "StateTtlConfig",
    "StoreChangedError",
    "ValueState",
    "ValueStateDescriptor",
    "decode_key",
    "encode_column",
    "encode_key",
    "migrate",
    "open_storage",
    "register_key_class",
]
