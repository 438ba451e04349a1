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
    StateMisfitError,
    UnsupportedError,
    UserFunctionError,
)

_FINAL = (ConfigurationError, FencedError, PlanError, StateCorruptionError, StateMisfitError, UnsupportedError)
_FINAL_AT_FIRST = (EnvironmentNotReadyError,)
"""What a job had when it worked, it may have again: machines that are lost are replaced, sooner or later."""


def is_final(error: Exception, *, has_worked: bool) -> bool:
    """Whether the job would fail in the same way again, or must not go on: then no restart strategy is asked.

    All else may be gone after a while: a service, a machine, a bad moment; also an error of the program's own code,
    which may hang on the outside world. It is as in Flink. `has_worked` is whether an epoch has gone well here.
    """
    final = _FINAL if has_worked else (*_FINAL, *_FINAL_AT_FIRST)
    if isinstance(error, JobExecutionException | UserFunctionError) and error.report is not None:
        return error.report.error_type in {kind.__name__ for kind in final}
    if isinstance(error, CheckpointError):
        return not isinstance(error, CheckpointUnavailableError | IncompleteEpochError)
    return isinstance(error, final)


def is_damage(error: Exception) -> bool:
    """Whether a file of the checkpoint is damaged or missing."""
    if isinstance(error, JobExecutionException | UserFunctionError) and error.report is not None:
        return error.report.error_type == StateCorruptionError.__name__
    return isinstance(error, StateCorruptionError)
