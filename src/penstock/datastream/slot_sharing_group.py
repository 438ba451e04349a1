"""Slot sharing groups: operators that may share the tasks of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import total_ordering

from penstock.common.config_options import parse_memory_size
from penstock.common.errors import UnsupportedError


@total_ordering
class MemorySize:
    """An amount of memory.

    >>> MemorySize.of_mebi_bytes(2).get_kibi_bytes()
    2048
    """

    def __init__(self, bytes_size: int) -> None:
        self._bytes = parse_memory_size(bytes_size)

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """So many times 1024 * 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """The bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """The whole times 1024 bytes."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """The whole times 1024^2 bytes."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """The whole times 1024^3 bytes."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """The whole times 1024^4 bytes."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash((MemorySize, self._bytes))

    def __str__(self) -> str:
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize<{self}>"


@dataclass(frozen=True)
class _Resources:
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external: Mapping[str, float] = field(default_factory=dict[str, float])


class SlotSharingGroupBuilder:
    """Makes a `SlotSharingGroup`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._resources = _Resources()

    def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroupBuilder:
        """Sets how many cores its tasks need."""
        self._resources = replace(self._resources, cpu_cores=cpu_cores)
        return self

    def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroupBuilder:
        """Sets how much heap its tasks need."""
        self._resources = replace(self._resources, task_heap_memory=task_heap_memory)
        return self

    def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroupBuilder:
        """Sets how much heap its tasks need, in MB."""
        return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

    def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroupBuilder:
        """Sets how much memory outside the heap its tasks need."""
        self._resources = replace(self._resources, task_off_heap_memory=task_off_heap_memory)
        return self

    def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroupBuilder:
        """Sets how much memory outside the heap its tasks need, in MB."""
        return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

    def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroupBuilder:
        """Sets how much managed memory its tasks need."""
        self._resources = replace(self._resources, managed_memory=managed_memory)
        return self

    def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroupBuilder:
        """Sets how much managed memory its tasks need, in MB."""
        return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

    def set_external_resource(self, name: str, value: float) -> SlotSharingGroupBuilder:
        """Sets how much of another resource its tasks need."""
        self._resources = replace(self._resources, external={**self._resources.external, name: value})
        return self

    def build(self) -> SlotSharingGroup:
        """The group."""
        return SlotSharingGroup(self._name, self._resources)


class SlotSharingGroup:
    """A group of operators by name. Make one with `SlotSharingGroup.builder(name)`."""

    Builder = SlotSharingGroupBuilder

    def __init__(self, name: str, resources: _Resources | None = None) -> None:
        self._name = name
        self._resources = resources or _Resources()

    @staticmethod
    def builder(name: str) -> SlotSharingGroupBuilder:
        """Begins one."""
        return SlotSharingGroupBuilder(name)

    def get_name(self) -> str:
        """The name."""
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        """What was set."""
        return self._resources.managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """What was set."""
        return self._resources.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """What was set."""
        return self._resources.task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """What was set."""
        return self._resources.cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """What was set."""
        return dict(self._resources.external)

    def refuse_resources(self) -> None:
        """Raises `UnsupportedError` for a group that asks for resources of its own."""
        if self._resources != _Resources():
            raise UnsupportedError(
                f"the slot sharing group '{self._name}' asks for resources of its own; all tasks of a job run on "
                "executors of one size: set `spark.executor.cores`, `spark.executor.memory` and the like"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSharingGroup) and self._name == other._name and self._resources == other._resources

    def __hash__(self) -> int:
        return hash((SlotSharingGroup, self._name))

    def __repr__(self) -> str:
        return f"<SlotSharingGroup '{self._name}'>"
