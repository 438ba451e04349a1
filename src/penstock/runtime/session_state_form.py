"""How open sessions are stored: the usual trigger and others keep them in two forms, and go on with each other's."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from penstock.common.typeinfo import Types
from penstock.functions.timer_service import TimeDomain
from penstock.runtime.operator import OperatorContext
from penstock.runtime.timers import timer_prefix
from penstock.runtime.window_state_form import has_entries
from penstock.state.catalogue import prefix_of
from penstock.state.namespaced_keys import namespace_in
from penstock.state.state_keys import delete_prefix, end_of_prefix, key_in
from penstock.state.value_serializers import serializer_for
from penstock.windows.window import TimeWindow

_TWO_LONGS = Struct(">qq")
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())

SESSIONS_OF_KEYS = "window: sessions"
SESSIONS_TYPE = Types.LIST(Types.TUPLE([Types.LONG(), Types.LONG(), _BYTES]))
"""Start, end and name of each session of a key."""
MERGING_WINDOWS = "window: merging-window-set"
MERGING_WINDOWS_TYPE = Types.MAP(_BYTES, _BYTES)
"""From the windows of a key to those that their contents are kept under."""


class StoredSession(NamedTuple):
    """An open session."""

    key: bytes
    window: TimeWindow
    state_window: bytes
    """The bytes of the window that its contents are kept under."""


def take_stored_sessions(context: OperatorContext, name: str) -> list[StoredSession]:
    """Takes all sessions of a form out of the store, with the timers of the operator; their contents stay."""
    if not has_entries(context, name):
        return []
    place = prefix_of(context.uid, name)
    entries = context.store.scan(place, end_of_prefix(place))
    found = [session for key, data in entries for session in _sessions(name, key_in(key), data)]
    for prefix in (place, *(timer_prefix(context.uid, domain) for domain in TimeDomain)):
        delete_prefix(context.store, prefix)
    return found


def stored_merging_windows(context: OperatorContext) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Keys, windows that merge, and those that their contents are kept under: of triggers of the program's own."""
    place = prefix_of(context.uid, MERGING_WINDOWS)
    for key, data in context.store.scan(place, end_of_prefix(place)):
        for window, state_window in serializer_for(MERGING_WINDOWS_TYPE).loads(data).items():
            yield key_in(key), window, state_window


def _sessions(name: str, key: bytes, data: bytes) -> Iterator[StoredSession]:
    if name == SESSIONS_OF_KEYS:
        for start, end, suffix in serializer_for(SESSIONS_TYPE).loads(data):
            yield StoredSession(key, TimeWindow(start, end), namespace_in(suffix))
    else:
        for window, state_window in serializer_for(MERGING_WINDOWS_TYPE).loads(data).items():
            yield StoredSession(key, TimeWindow(*_TWO_LONGS.unpack(window)), state_window)
