"""The test kit: drives pipelines by hand, scripts their input and tries other schedules, without Spark."""

from penstock.testing.check_sink import SinkReport, TrialResult, check_sink
from penstock.testing.check_source import SourceReport, check_source
from penstock.testing.fuzz_case import FuzzCase
from penstock.testing.fuzzer import fuzz
from penstock.testing.harness import Harness, HarnessSnapshot, harness
from penstock.testing.script import fail, pause, record, watermark
from penstock.testing.scripted_source import ScriptedSource
from penstock.testing.stream_equality import assert_stream_equal
from penstock.testing.virtual_clock import VirtualClock, local_environment

__all__ = [
    "FuzzCase",
    "Harness",
    "HarnessSnapshot",
    "ScriptedSource",
    "SinkReport",
    "SourceReport",
    "TrialResult",
    "VirtualClock",
    "assert_stream_equal",
    "check_sink",
    "check_source",
    "fail",
    "fuzz",
    "harness",
    "local_environment",
    "pause",
    "record",
    "watermark",
]
