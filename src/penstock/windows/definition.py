"""A windowed operator as a whole: what the plan describes and the runtime runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.functions.output_tag import OutputTag
from penstock.windows.accumulation import Accumulation
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner, is_known
from penstock.windows.declared_aggregation import DeclaredAggregation
from penstock.windows.evictors import Evictor
from penstock.windows.field_reduction import FieldReduction
from penstock.windows.nesting_triggers import PurgingTrigger
from penstock.windows.session import EventTimeSessionWindows, SessionWindows
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.trigger import Trigger
from penstock.windows.tumbling import TumblingWindows


@dataclass(frozen=True, kw_only=True)
class WindowDefinition:
    """Which windows there are, when they fire, and what is made of their contents.

    Contents are reduced or aggregated record by record where there is such a function, else all records are kept.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    """In ms."""
    late_data_tag: OutputTag | None = None
    reduce_function: Any = None
    aggregate_function: Any = None
    window_function: Any = None
    """None emits the contents as they are."""
    element_type: TypeInformation | None = None
    accumulator_type: TypeInformation | None = None
    aggregation: DeclaredAggregation | None = None
    """What the functions above do one record after the other, where the program has said so by names of aggregates."""
    reduction: FieldReduction | None = None
    """What `reduce_function` does, where that is known."""
    accumulation: Accumulation | None = None
    """What `aggregate_function` does, where that is known."""

    @property
    def is_columnar(self) -> bool:
        """Whether all records of an epoch can be aggregated at once: Python sees results, not records."""
        return self._is_known and self.why_not_columnar is None

    @property
    def why_not_columnar(self) -> str | None:
        """What is against it but for the functions; None where nothing is."""
        reduction, assigner = self.reduction, self.assigner
        is_folded, is_ordered = (False, False) if reduction is None else (reduction.is_folded, reduction.is_ordered)
        against = (
            (
                not _is_columnar_assigner(assigner),
                f"windows of this {type(assigner).__name__} are made record by record",
            ),
            # A window of several panes would add up their sums.
            (
                is_folded and not isinstance(assigner, TumblingWindows),
                "only tumbling windows add floating-point numbers in the order of arrival",
            ),
            (
                is_ordered and isinstance(assigner, SessionWindows),
                "sessions merge in the order of their time, not in that in which their records came",
            ),
            (not has_usual_trigger(self), f"{type(self.trigger).__name__} is not the usual trigger"),
            (self.evictor is not None, "an evictor sees the records"),
            (self.allowed_lateness != 0, "windows with allowed lateness fire again"),
        )
        return next((reason for is_so, reason in against if is_so), None)

    @property
    def _is_known(self) -> bool:
        """Whether it is known what is made of the records."""
        if self.reduction is not None or self.accumulation is not None:
            return True
        return self.aggregation is not None and self.aggregation.can_be_columns

    def __str__(self) -> str:
        functions = (self.reduce_function, self.aggregate_function, self.window_function)
        parts = [repr(self.assigner), type(self.trigger).__name__]
        if self.evictor is not None:
            parts.append(type(self.evictor).__name__)
        if self.aggregation is not None:
            how = "in columns" if self.is_columnar else "record by record"
            return f"Window({', '.join(parts)}, {self.aggregation}, {how})"
        parts += [_name(function) for function in functions if function is not None]
        recognised = self.reduction or self.accumulation
        if recognised is not None:
            parts += [f"recognised as {recognised}", "in columns" if self.is_columnar else "record by record"]
        return f"Window({', '.join(parts)})"


def _is_columnar_assigner(assigner: WindowAssigner[Any, Any]) -> bool:
    if not is_known(assigner):
        return False
    if isinstance(assigner, TumblingWindows):
        return assigner.stagger_offset is not None
    # Of the windows of processing time those whose panes are windows: what is left of others after a restart would
    # not tell which of them have fired. Of sessions those whose gap need not be asked for.
    is_aligned = isinstance(assigner, AlignedWindowAssigner) and assigner.is_event_time()
    return is_aligned or type(assigner) is EventTimeSessionWindows


def has_usual_trigger(definition: WindowDefinition) -> bool:
    """Whether windows fire when their time is over and, of event time, for late records: the trigger is known."""
    trigger = definition.trigger
    if type(trigger) is PurgingTrigger:
        trigger = trigger.nested_trigger
    return type(trigger) is (EventTimeTrigger if definition.assigner.is_event_time() else ProcessingTimeTrigger)


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
