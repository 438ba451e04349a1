"""What the state of windows was stored as: that of another form is taken over or refused, not overlooked."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.common.errors import StateMisfitError
from penstock.common.typeinfo import Types
from penstock.runtime.columnar_windows.parts import PartialRows
from penstock.runtime.operator import OperatorContext
from penstock.state.catalogue import StateCatalogue, StateDescription, catalogue_key, description_from, prefix_of
from penstock.state.descriptors import StateDescriptor
from penstock.state.namespaced_keys import namespace_in
from penstock.state.state_keys import end_of_prefix, key_in
from penstock.windows.definition import WindowDefinition, has_usual_trigger
from penstock.windows.serializers import WindowSerializer

CONTENTS = "window: contents"
"""The state of windows that are computed record by record."""
TIMERS = "window: timers"
"""What is put down of their timers; there are no entries."""
PANES = "window-panes"
SESSIONS = "window-sessions"
"""The state of windows that are computed in columns."""
UNKNOWN_COLUMNS = "ColumnarWindows"
"""What older programs have put down of aggregates by name: not which they are."""


def kind_of_columns(rows: PartialRows) -> str:
    """What is put down of columns."""
    return f"{UNKNOWN_COLUMNS}({', '.join(f'{part.function} {part.type}' for part in rows.parts)})"


def stored_description(context: OperatorContext, name: str) -> StateDescription | None:
    """What the store says of a piece of state; None where it does not know it."""
    stored = context.store.get(catalogue_key(context.uid, name))
    return None if stored is None else description_from(stored)


def stored_kind(context: OperatorContext, name: str) -> str | None:
    """The kind of a piece of state; None where the store does not know it."""
    stored = stored_description(context, name)
    return None if stored is None else stored.kind


def has_entries(context: OperatorContext, name: str) -> bool:
    """Whether the store has something of a piece of state."""
    if context.store.get(catalogue_key(context.uid, name)) is None:
        return False
    prefix = prefix_of(context.uid, name)
    return next(iter(context.store.scan(prefix, end_of_prefix(prefix))), None) is not None


def stored_keys(context: OperatorContext, name: str) -> Iterator[bytes]:
    """The keys that have something in a piece of state, with their namespaces."""
    prefix = prefix_of(context.uid, name)
    for key, _ in context.store.scan(prefix, end_of_prefix(prefix)):
        yield key_in(key)


def describe_timers(catalogue: StateCatalogue, definition: WindowDefinition) -> None:
    """Puts down which timers windows have that are computed record by record."""
    descriptor = StateDescriptor(TIMERS, Types.PRIMITIVE_ARRAY(Types.BYTE()))
    catalogue.add(descriptor, "WindowTimers", type_name=_timers_of(definition))


def are_timers_of_others(context: OperatorContext, definition: WindowDefinition) -> bool:
    """Whether the program before had another lateness, or one of both a trigger of its own."""
    stored = stored_description(context, TIMERS)
    return stored is not None and stored.type != _timers_of(definition)


def why_windows_of_another_kind(context: OperatorContext, definition: WindowDefinition) -> str | None:
    """Why open windows that were computed record by record are not like those of a program; None where they are."""
    first = next(stored_keys(context, CONTENTS), None)
    if first is None:
        return None
    assigner, stored = definition.assigner, stored_description(context, TIMERS)
    before, now = None if stored is None else _kind_in(stored), _kind_of(definition)
    if before not in (None, now):
        return f"were {before}, and those of {assigner!r} are {now}"
    serializer = assigner.get_window_serializer()
    if isinstance(serializer, WindowSerializer) and len(namespace_in(first)) != serializer.length:
        return f"are of another class than those of {assigner!r}"
    return None


def are_timers_of_another_kind(context: OperatorContext, definition: WindowDefinition) -> bool:
    """Whether they were set for windows that are not like those of the program."""
    stored = stored_description(context, TIMERS)
    return stored is not None and _kind_in(stored) != _kind_of(definition)


def _kind_in(timers: StateDescription) -> str:
    return timers.type.partition(":")[0]


def _kind_of(definition: WindowDefinition) -> str:
    serializer = definition.assigner.get_window_serializer()
    is_own = not isinstance(serializer, WindowSerializer)
    windows = "windows" if is_own else f"{type(serializer).__name__.removesuffix('Serializer')}s"
    return f"{windows} of {'event' if definition.assigner.is_event_time() else 'processing'} time"


def _timers_of(definition: WindowDefinition) -> str:
    trigger = "the usual trigger" if has_usual_trigger(definition) else "a trigger of the program's own"
    lateness = definition.allowed_lateness if definition.assigner.is_event_time() else 0
    return f"{_kind_of(definition)}: {trigger}, lateness {lateness}"


def refused(context: OperatorContext, before: str, now: str, reason: str = "") -> StateMisfitError:
    """The error for open windows of another form; `reason` says why they cannot be brought into this one."""
    return StateMisfitError(
        f"operator '{context.name}': its open windows were computed {before}, and the program computes them {now}"
        f"{reason and ', but ' + reason}. "
        "Keep what decides that (the function, lateness, trigger, evictor, `reduce-in-columns` in "
        "optimizer.disabled-rules), give the operator another uid, or let the windows end before the program changes"
    )
