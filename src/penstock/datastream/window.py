"""Windows, assigners, triggers and evictors, under PyFlink's module path."""

from __future__ import annotations

from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.windows.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.windows.cumulative import CumulativeEventTimeWindows, CumulativeProcessingTimeWindows
from penstock.windows.delta import DeltaFunction
from penstock.windows.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from penstock.windows.global_windows import GlobalWindows
from penstock.windows.nesting_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from penstock.windows.record_triggers import CountTrigger, DeltaTrigger, EndOfStreamTrigger, NeverTrigger
from penstock.windows.serializers import CountWindowSerializer, GlobalWindowSerializer, TimeWindowSerializer
from penstock.windows.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.windows.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.windows.stagger import WindowStagger
from penstock.windows.time_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
)
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.windows.window import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "CumulativeEventTimeWindows",
    "CumulativeProcessingTimeWindows",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowStagger",
]
