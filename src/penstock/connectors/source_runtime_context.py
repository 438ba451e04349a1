"""What a source function can ask about where it runs: in the driver, alone."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.common.errors import StateError, UnsupportedError
from penstock.functions.distributed_cache import DistributedCache
from penstock.functions.function import RuntimeContext
from penstock.functions.metrics import MetricGroup


class SourceRuntimeContext(RuntimeContext):
    """One subtask, without keyed state."""

    def __init__(self, name: str) -> None:
        self._name = name

    def get_task_name(self) -> str:  # noqa: D102
        return self._name

    def get_number_of_parallel_subtasks(self) -> int:  # noqa: D102
        return 1

    def get_max_number_of_parallel_subtasks(self) -> int:  # noqa: D102
        return 1

    def get_index_of_this_subtask(self) -> int:  # noqa: D102
        return 0

    def get_attempt_number(self) -> int:  # noqa: D102
        return 0

    def get_task_name_with_subtasks(self) -> str:  # noqa: D102
        return f"{self._name} (1/1)#0"

    def get_job_parameter(self, key: str, default_value: str) -> str:  # noqa: D102
        raise self._not_here("job parameters")

    def get_metrics_group(self) -> MetricGroup:  # noqa: D102
        raise self._not_here("metrics")

    def get_distributed_cache(self) -> DistributedCache:  # noqa: D102
        raise self._not_here("cached files: it can open the files themselves")

    def get_state(self, state_descriptor: Any) -> NoReturn:  # noqa: D102
        self._refuse_state()

    def get_list_state(self, state_descriptor: Any) -> NoReturn:  # noqa: D102
        self._refuse_state()

    def get_map_state(self, state_descriptor: Any) -> NoReturn:  # noqa: D102
        self._refuse_state()

    def get_reducing_state(self, state_descriptor: Any) -> NoReturn:  # noqa: D102
        self._refuse_state()

    def get_aggregating_state(self, state_descriptor: Any) -> NoReturn:  # noqa: D102
        self._refuse_state()

    def _not_here(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self._name} runs in the driver and has no {what}; give the function what it needs")

    def _refuse_state(self) -> NoReturn:
        raise StateError(
            f"{self._name} asks for keyed state, but a source has no keys; "
            "extend CheckpointedSourceFunction to be restored after a restart"
        )
