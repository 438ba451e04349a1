"""Which operator runs which windows."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.common.batch import RecordCodec
from penstock.runtime.aligned_window_operator import AlignedWindowOperator
from penstock.runtime.columnar_windows.base import ColumnarOperator
from penstock.runtime.columnar_windows.operator import ColumnarWindowOperator
from penstock.runtime.columnar_windows.processing_time_operator import ProcessingTimeWindowOperator
from penstock.runtime.columnar_windows.session_operator import ColumnarSessionOperator
from penstock.runtime.evicting_window_operator import EvictingWindowOperator
from penstock.runtime.operator import Operator
from penstock.runtime.session_window_operator import SessionWindowOperator
from penstock.runtime.window_operator import WindowOperator
from penstock.windows.assigner import AlignedWindowAssigner, is_known
from penstock.windows.definition import WindowDefinition, has_usual_trigger
from penstock.windows.session import SessionWindows, are_plain_sessions


def window_operator(
    definition: WindowDefinition, output_codec: RecordCodec, side_output_codecs: Mapping[str, RecordCodec]
) -> Operator:
    """A new operator for these windows."""
    if not definition.is_columnar:
        return record_operator(definition)(definition, output_codec, side_output_codecs)
    return _columnar_operator(definition)(definition, output_codec, side_output_codecs)


def _columnar_operator(definition: WindowDefinition) -> type[ColumnarOperator]:
    if isinstance(definition.assigner, SessionWindows):
        return ColumnarSessionOperator
    return ColumnarWindowOperator if definition.assigner.is_event_time() else ProcessingTimeWindowOperator


def record_operator(definition: WindowDefinition) -> type[WindowOperator]:
    """What runs windows one record after the other."""
    if definition.evictor is not None:
        return EvictingWindowOperator
    if has_usual_trigger(definition):
        if isinstance(definition.assigner, AlignedWindowAssigner) and is_known(definition.assigner):
            return AlignedWindowOperator
        if are_plain_sessions(definition.assigner):
            return SessionWindowOperator
    return WindowOperator
