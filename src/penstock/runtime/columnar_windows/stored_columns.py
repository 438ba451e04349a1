"""What is put down of open windows in columns: which columns they have, and which windows their panes are parts of."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import StateMisfitError
from penstock.common.typeinfo import Types
from penstock.runtime.columnar_windows.parts import PartialRows
from penstock.runtime.columnar_windows.stored_key_fields import stored_rows
from penstock.runtime.operator import OperatorContext
from penstock.runtime.window_state_form import (
    PANES,
    SESSIONS,
    UNKNOWN_COLUMNS,
    has_entries,
    kind_of_columns,
    stored_description,
)
from penstock.state.catalogue import StateCatalogue, StateDescription
from penstock.state.descriptors import ListStateDescriptor
from penstock.windows.assigner import WindowAssigner
from penstock.windows.session import SessionWindows

_UNKNOWN_WINDOWS = str(Types.LIST(Types.PRIMITIVE_ARRAY(Types.BYTE())))
"""What an older program has put down in the place of the windows: the type of what is stored."""


def describe_columns(
    context: OperatorContext, name: str, rows: PartialRows, assigner: WindowAssigner[Any, Any]
) -> StateCatalogue:
    """Puts down what columns there are.

    Raises `StateMisfitError` where the store has others that these are not made of.
    """
    for each in (PANES, SESSIONS):
        stored = stored_description(context, each)
        reason = None if stored is None else why_other_columns(stored, rows, assigner)
        if reason is not None and has_entries(context, each):
            raise StateMisfitError(
                f"operator '{context.name}': its open windows {reason}; give the operator another uid, or let the "
                "windows end before the program changes"
            )
    catalogue = StateCatalogue(context.store, context.uid)
    descriptor = ListStateDescriptor(name, Types.PRIMITIVE_ARRAY(Types.BYTE()))
    catalogue.add(descriptor, kind_of_columns(rows), type_name=_windows_of(assigner))
    return catalogue


def why_other_columns(stored: StateDescription, rows: PartialRows, assigner: WindowAssigner[Any, Any]) -> str | None:
    """Why what is stored does not go on in such columns; None where it does."""
    kind, wanted = stored.kind, kind_of_columns(rows)
    other = why_other_windows(stored, assigner)
    if other is not None:
        return other
    takes = stored.name == PANES and stored_rows(rows, kind) is not None
    if takes or kind in (wanted, UNKNOWN_COLUMNS):
        return None
    return f"have {kind}, and the program makes {wanted} of them"


def why_other_windows(stored: StateDescription, assigner: WindowAssigner[Any, Any]) -> str | None:
    """Why what is stored cannot be that of such windows; None where it can.

    Sessions with another gap go on: each knows its end. A pane does not say of which windows it is a part.
    """
    if (stored.name == SESSIONS) != isinstance(assigner, SessionWindows):
        were = "sessions of event time" if stored.name == SESSIONS else "no sessions"
        return f"were {were}, and now they are those of {assigner!r}"
    if stored.name == SESSIONS or stored.type in (_UNKNOWN_WINDOWS, _windows_of(assigner)):
        return None
    return f"were those of {stored.type}, and now they are those of {assigner!r}"


def _windows_of(assigner: WindowAssigner[Any, Any]) -> str:
    """The windows in words, those of a class of the program's own as those of ours that it is made of."""
    classes: list[type[WindowAssigner[Any, Any]]] = type(assigner).mro()
    known = next(each for each in classes if each.__module__.startswith("penstock.windows."))
    return f"{known.__name__}{known.__repr__(assigner).removeprefix(type(assigner).__name__)}"
