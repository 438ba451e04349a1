"""Every exception that Penstock raises on purpose: one class per kind of mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class PenstockError(Exception):
    """Base class: `except PenstockError` catches all that Penstock raises on purpose."""


class ConfigurationError(PenstockError, ValueError):
    """An option has a value that cannot be used, or two options contradict each other."""


class EnvironmentNotReadyError(PenstockError):
    """Something outside the program is missing: Java, a package, a Spark setting."""


class PlanError(PenstockError, ValueError):
    """The program describes a job that cannot be built; the message names the user's line."""


class UnsupportedError(PenstockError, NotImplementedError):
    """A declared gap: the thing is known, named and not built."""


class TypeMismatchError(PenstockError, TypeError):
    """A value does not fit its declared type; `index` is its place in the batch it came in."""

    def __init__(self, message: str, *, index: int | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.index = index
        self.field = field


class EventTimeError(PenstockError, ValueError):
    """A timestamp or a watermark is no time, or what makes watermarks cannot be kept."""


class KeyEncodingError(PenstockError, TypeError):
    """A value cannot be a key: its class has no specified encoding."""


class StateError(PenstockError):
    """State is used in a way that it cannot be: no current key, one name for two kinds, ..."""


class StateCorruptionError(StateError):
    """A file that holds state is damaged, missing or not the one that the manifest names."""


class StateMisfitError(StateError):
    """What is stored is not what the program asks for; however often the job is restarted, it is refused again."""


class LocalStoreFullError(StateError):
    """The executor's local disk, or the map of the local store, is full."""


class LocalStoreDamagedError(StateError):
    """The executor's local copy of state was damaged; it is made again from the checkpoint when the task runs again."""


class CheckpointError(PenstockError):
    """The checkpoint directory cannot be used for this job; the message says why and what to do."""


class CheckpointUnavailableError(CheckpointError):
    """The checkpoint directory cannot be read or written now: a full disk, a file system that is away."""


class FencedError(CheckpointError):
    """Another driver has taken over this job; this one must stop."""


class IncompleteEpochError(CheckpointError):
    """The messages of an epoch do not add up: a subtask is missing or records were lost on the way."""


class MissingTimestampError(PenstockError, ValueError):
    """A record without a timestamp came to an operator that works on event time."""


class SourceError(PenstockError):
    """A source cannot be read."""


class SinkError(PenstockError):
    """A sink cannot take or publish what was written to it."""


@dataclass(frozen=True)
class FailureReport:
    """What is known about a failure in a task: plain text only, so that it can travel anywhere."""

    error_type: str
    message: str
    traceback: str
    operator: str = ""
    uid: str = ""
    stage: int = -1
    subtask: int = -1
    epoch: int = -1
    key: str | None = None
    record: str | None = None
    call_site: str | None = None
    keyed_at: str | None = None
    """The line that names the key, where the key of a record could not be had."""
    watermark: int | None = None
    """How far event time had come in the operator."""
    state: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the state of the key held, by the name of the state."""

    def render(self) -> str:
        """The report as a person reads it: the user's own traceback first, then where it happened."""
        lines = [self.traceback.rstrip() or f"{self.error_type}: {self.message}", ""]
        facts: Sequence[tuple[str, str | None]] = (
            ("operator", self.operator),
            ("uid", self.uid),
            ("defined at", self.call_site),
            ("keyed at", self.keyed_at),
            ("subtask", None if self.subtask < 0 else str(self.subtask)),
            ("epoch", None if self.epoch < 0 else str(self.epoch)),
            ("key", self.key),
            ("record", self.record),
        )
        lines += [f"  {name}: {value}" for name, value in facts if value]
        return "\n".join(lines)


class UserFunctionError(PenstockError):
    """User code raised; carries the report of where."""

    def __init__(self, report: FailureReport) -> None:
        super().__init__(report.render())
        self.report = report

    def __reduce__(self) -> tuple[type[UserFunctionError], tuple[FailureReport]]:
        return type(self), (self.report,)


class JobExecutionException(PenstockError):
    """The job failed. The message starts with the user's own traceback where user code raised."""

    def __init__(self, message: str, report: FailureReport | None = None) -> None:
        super().__init__(message)
        self.report = report


class ArgumentError(PlanError, TypeError):
    """A method of the API was given something of the wrong kind; the message names the user's line."""


class InvalidTypeError(PenstockError, ValueError):
    """A declared type contradicts itself: two fields of one name, names and types of different number, ..."""


class MalformedPatternError(PlanError):
    """A pattern of events whose parts do not fit together."""


class PartialMatchLimitError(PenstockError):
    """A key has more partial matches of a pattern than the job allows."""
