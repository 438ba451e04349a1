"""Which failures a restart can mend."""

from __future__ import annotations

from penstock.common.errors import (
    CheckpointError,
    CheckpointUnavailableError,
    ConfigurationError,
    EnvironmentNotReadyError,
    FencedError,
    IncompleteEpochError,
    JobExecutionException,
    PlanError,
    StateCorruptionError,
    UnsupportedError,
    UserFunctionError,
)

_FINAL = (ConfigurationError, EnvironmentNotReadyError, FencedError, PlanError, StateCorruptionError, UnsupportedError)
_FINAL_NAMES = frozenset(kind.__name__ for kind in _FINAL)


def is_final(error: Exception) -> bool:
    """Whether the job would fail in the same way again, or must not go on: then no restart strategy is asked.

    All else may be gone after a while: a service, a machine, a bad moment; also an error of the program's own code,
    which may hang on the outside world. It is as in Flink.
    """
    if isinstance(error, JobExecutionException | UserFunctionError) and error.report is not None:
        return error.report.error_type in _FINAL_NAMES
    if isinstance(error, CheckpointError):
        return not isinstance(error, CheckpointUnavailableError | IncompleteEpochError)
    return isinstance(error, _FINAL)


def is_damage(error: Exception) -> bool:
    """Whether a file of the checkpoint is damaged or missing."""
    if isinstance(error, JobExecutionException | UserFunctionError) and error.report is not None:
        return error.report.error_type == StateCorruptionError.__name__
    return isinstance(error, StateCorruptionError)
