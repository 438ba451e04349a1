"""Operators, timers and watermarks: what runs in a task, whatever engine runs the task."""

from penstock.runtime.async_operator import AsyncOperator
from penstock.runtime.broadcast_process import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.runtime.co_process import CoProcessOperator, KeyedCoProcessOperator
from penstock.runtime.failures import user_function_error
from penstock.runtime.input_gate import InputGate
from penstock.runtime.keyed_process import KeyedProcessOperator
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import MAX_WATERMARK, MIN_WATERMARK, Operator, OperatorContext, Output
from penstock.runtime.sink_writer import SinkWriterOperator
from penstock.runtime.stateless import FilterOperator, FlatMapOperator, MapOperator, ProcessOperator
from penstock.runtime.timers import TimerQueue

__all__ = [
    "MAX_WATERMARK",
    "MIN_WATERMARK",
    "AsyncOperator",
    "BroadcastProcessOperator",
    "CoProcessOperator",
    "FilterOperator",
    "FlatMapOperator",
    "InputGate",
    "KeyedBroadcastProcessOperator",
    "KeyedCoProcessOperator",
    "KeyedProcessOperator",
    "MapOperator",
    "MetricGroup",
    "Operator",
    "OperatorContext",
    "Output",
    "ProcessOperator",
    "SinkWriterOperator",
    "TimerQueue",
    "user_function_error",
]
