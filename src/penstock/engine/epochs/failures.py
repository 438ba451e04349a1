"""Which failures a restart can mend, and what is said of those that end the job."""

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
from penstock.engine.epochs.restorable import say_what_is_left
from penstock.state.storage import CheckpointStorage

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


def described(error: Exception, storage: CheckpointStorage, *, may_be_replayed: bool) -> Exception:
    """A failure as the user sees it; `may_be_replayed` is whether the checkpoint stays when the job has failed."""
    if isinstance(error, JobExecutionException | UserFunctionError) and error.report is not None:
        text = error.report.render()
        if is_damage(error):
            text = f"{text}\n{say_what_is_left(storage)}"
        elif may_be_replayed and error.report.epoch > 0:
            text += f"\n  debug it: penstock replay {storage.location} PROGRAM --epoch {error.report.epoch}"
        return JobExecutionException(text, error.report)
    if is_damage(error):
        return StateCorruptionError(f"{error} {say_what_is_left(storage)}")
    return error
