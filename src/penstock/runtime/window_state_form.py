"""What the state of windows was stored as: that of another form is refused, not overlooked."""

from __future__ import annotations

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
_KIND = "ColumnarWindows"


def describe_columns(context: OperatorContext, name: str, rows: PartialRows) -> StateCatalogue:
    """Puts down what columns there are; raises `StateError` where the store has others."""
    kind = f"{_KIND}({', '.join(f'{part.function} {part.type}' for part in rows.parts)})"
    before = context.store.get(catalogue_key(context.uid, name))
    stored = kind if before is None else description_from(before).kind
    if stored not in (kind, _KIND) and has_entries(context, name):
        raise StateError(
            f"operator '{context.name}': its open windows have {stored}, and the program makes {kind} of them; give "
            "the operator another uid, or let the windows end before the program changes"
        )
    catalogue = StateCatalogue(context.store, context.uid)
    catalogue.add(ListStateDescriptor(name, Types.PRIMITIVE_ARRAY(Types.BYTE())), kind)
    return catalogue


def refuse_state_of_columns(context: OperatorContext) -> None:
    """Refuses the state of windows that were computed in columns."""
    if has_entries(context, PANES) or has_entries(context, SESSIONS):
        raise refused(context, "in columns", "record by record")


def has_entries(context: OperatorContext, name: str) -> bool:
    """Whether the store has something of a piece of state."""
    if context.store.get(catalogue_key(context.uid, name)) is None:
        return False
    prefix = prefix_of(context.uid, name)
    return next(iter(context.store.scan(prefix, end_of_prefix(prefix))), None) is not None


def refused(context: OperatorContext, before: str, now: str) -> StateError:
    """The error for open windows of another form."""
    return StateError(
        f"operator '{context.name}': its open windows were computed {before}, and the program computes them {now}. "
        "Keep what decides that (the function, lateness, trigger, evictor, `reduce-in-columns` in "
        "optimizer.disabled-rules), give the operator another uid, or let the windows end before the program changes"
    )
