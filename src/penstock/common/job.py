"""What is known of a job: its id, its status, its result."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from enum import Enum
from typing import Any


class JobID:
    """The identity of a job: 32 hexadecimal digits, random unless given."""

    __slots__ = ("_hex",)

    def __init__(self, value: str | None = None) -> None:
        self._hex = uuid.uuid4().hex if value is None else uuid.UUID(hex=value).hex

    def __str__(self) -> str:
        return self._hex

    def __repr__(self) -> str:
        return f"JobID({self._hex!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash((JobID, self._hex))


class JobStatus(Enum):
    """Where a job is in its life."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """True when the job is over for good: failed, cancelled or finished."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """True when this process no longer works on the job; a suspended job may go on elsewhere."""
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED


class JobExecutionResult:
    """What a job that has ended leaves behind."""

    def __init__(self, job_id: JobID, net_runtime: int, accumulators: Mapping[str, Any] | None = None) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """The job's id."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """How long the job ran, in ms."""
        return self._net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """One accumulator's value; None where there is none of this name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """All accumulators' values by name."""
        return dict(self._accumulators)

    def __repr__(self) -> str:
        return f"<JobExecutionResult of job {self._job_id}, which ran for {self._net_runtime} ms>"

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results:")
            lines += [f"- {name}: {value!r}" for name, value in sorted(self._accumulators.items())]
        return "\n".join(lines)
