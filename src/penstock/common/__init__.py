"""What every layer shares: types, rows, time, configuration, errors, under PyFlink's names."""

from __future__ import annotations

from penstock.common.config_options import ConfigOption, ConfigOptions
from penstock.common.configuration import Configuration
from penstock.common.errors import JobExecutionException, PenstockError
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.job import JobExecutionResult, JobID, JobStatus
from penstock.common.row import Row, RowKind
from penstock.common.time import Duration, Instant, Time
from penstock.common.typeinfo import TypeInformation, Types

__all__ = [
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "Duration",
    "Instant",
    "JobExecutionException",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "PenstockError",
    "Row",
    "RowKind",
    "RuntimeExecutionMode",
    "Time",
    "TypeInformation",
    "Types",
]
