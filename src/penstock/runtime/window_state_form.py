"""What the state of windows was stored as: that of another form is taken over or refused, not overlooked."""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.errors import StateError
from penstock.common.typeinfo import Types
from penstock.runtime.columnar_windows.parts import PartialRows
from penstock.runtime.operator import OperatorContext
from penstock.state.catalogue import StateCatalogue, catalogue_key, description_from, prefix_of
from penstock.state.descriptors import ListStateDescriptor
from penstock.state.state_keys import end_of_prefix

CONTENTS = "window: contents"
"""The state of windows that are computed record by record."""
PANES = "window-panes"
SESSIONS = "window-sessions"
"""The state of windows that are computed in columns."""
UNKNOWN_COLUMNS = "ColumnarWindows"
"""What older programs have put down of aggregates by name: not which they are."""


def kind_of_columns(rows: PartialRows) -> str:
    """What is put down of columns."""
    return f"{UNKNOWN_COLUMNS}({', '.join(f'{part.function} {part.type}' for part in rows.parts)})"


def stored_kind(context: OperatorContext, name: str) -> str | None:
    """What the store says of a piece of state; None where it does not know it."""
    stored = context.store.get(catalogue_key(context.uid, name))
    return None if stored is None else description_from(stored).kind


def describe_columns(
    context: OperatorContext, name: str, rows: PartialRows, *, takes: Callable[[str], bool] = lambda kind: False
) -> StateCatalogue:
    """Puts down what columns there are; raises `StateError` where the store has others that it does not take."""
    kind, stored = kind_of_columns(rows), stored_kind(context, name)
    is_known = stored in (None, kind, UNKNOWN_COLUMNS) or takes(stored)
    if not is_known and has_entries(context, name):
        raise StateError(
            f"operator '{context.name}': its open windows have {stored}, and the program makes {kind} of them; give "
            "the operator another uid, or let the windows end before the program changes"
        )
    catalogue = StateCatalogue(context.store, context.uid)
    catalogue.add(ListStateDescriptor(name, Types.PRIMITIVE_ARRAY(Types.BYTE())), kind)
    return catalogue


def has_entries(context: OperatorContext, name: str) -> bool:
    """Whether the store has something of a piece of state."""
    if context.store.get(catalogue_key(context.uid, name)) is None:
        return False
    prefix = prefix_of(context.uid, name)
    return next(iter(context.store.scan(prefix, end_of_prefix(prefix))), None) is not None


def refused(context: OperatorContext, before: str, now: str, reason: str = "") -> StateError:
    """The error for open windows of another form; `reason` says why they cannot be brought into this one."""
    return StateError(
        f"operator '{context.name}': its open windows were computed {before}, and the program computes them {now}"
        f"{reason and ', but ' + reason}. "
        "Keep what decides that (the function, lateness, trigger, evictor, `reduce-in-columns` in "
        "optimizer.disabled-rules), give the operator another uid, or let the windows end before the program changes"
    )
