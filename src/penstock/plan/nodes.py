"""The nodes of a plan: frozen descriptions of operators. What runs them lives in `runtime` and `engine`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.common.call_site import UNKNOWN_CALL_SITE, CallSite
from penstock.common.typeinfo import TypeInformation
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.expressions import Expression
from penstock.windows.field_reduction import FieldReduction


class Chaining(Enum):
    """Whether an operator may share a chain with its neighbours."""

    ALWAYS = "always"
    HEAD = "head"
    """Starts a new chain."""
    NEVER = "never"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One operator."""

    id: int = -1
    """Assigned by `PlanBuilder`."""
    name: str
    uid: str = ""
    """Given by the user, or derived when the plan is built."""
    uid_is_given: bool = False
    parallelism: int = 1
    max_parallelism: int = 128
    max_parallelism_is_given: bool = False
    """Where False, the plan builder derives the maximum from the parallelism."""
    slot_sharing_group: str = "default"
    chaining: Chaining = Chaining.ALWAYS
    description: str = ""
    output_type: TypeInformation | None = None
    side_outputs: Mapping[str, TypeInformation] = field(default_factory=dict[str, TypeInformation])
    """The type of each side output, by tag id."""
    call_site: CallSite = UNKNOWN_CALL_SITE

    @property
    def kind(self) -> str:
        """The node's kind as `explain()` shows it."""
        return type(self).__name__.removesuffix("Node")

    @property
    def is_keyed(self) -> bool:
        """Whether the operator works on the records of one key at a time."""
        return False

    @property
    def wants_sorted_keys(self) -> bool:
        """Whether, in batch execution, all records of a key are to come one after the other."""
        return self.is_keyed


@dataclass(frozen=True, kw_only=True)
class SourceNode(Node):
    """Reads a source."""

    source: Source
    watermark_strategy: WatermarkStrategy | None = None
    """None: records keep the timestamps that the source gives them, and there are no watermarks before its end."""
    timestamps_not_traced: str = ""
    """Why the timestamp assigner could not be traced."""
    read_fields: tuple[str, ...] | None = None
    """The fields that are read, where nobody looks at the others, which are None; None: all."""


class RecordFunctionKind(Enum):
    """How a stateless node calls its function."""

    MAP = "map"
    FLAT_MAP = "flat_map"
    FILTER = "filter"
    PROCESS = "process"


@dataclass(frozen=True, kw_only=True)
class StatelessNode(Node):
    """Applies a function to each record on its own."""

    function: Any
    function_kind: RecordFunctionKind
    not_traced: str = ""
    """Why the function is not computed over columns, where the optimizer looked at it."""

    @property
    def kind(self) -> str:  # noqa: D102
        return self.function_kind.value.title().replace("_", "")


@dataclass(frozen=True, kw_only=True)
class KeyedProcessNode(Node):
    """A `KeyedProcessFunction`: state and timers per key."""

    function: Any
    not_traced: str = ""
    """Why the function is not computed over columns, where the optimizer looked at it."""

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True, kw_only=True)
class ReduceNode(Node):
    """Combines the records of each key into one of the same type."""

    function: Any
    reduction: FieldReduction | None = None
    """What the function makes of each field, where that is known."""
    not_traced: str = ""
    """Why it is not known."""

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True, kw_only=True)
class CoProcessNode(Node):
    """A function of two connected streams: `CoProcessFunction` or `KeyedCoProcessFunction`."""

    function: Any
    keyed: bool

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return self.keyed


@dataclass(frozen=True, kw_only=True)
class BroadcastProcessNode(Node):
    """A function of a stream (input 0) and a broadcast stream (input 1)."""

    function: Any
    keyed: bool
    state_descriptors: tuple[Any, ...]

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return self.keyed


@dataclass(frozen=True, kw_only=True)
class TimestampsAndWatermarksNode(Node):
    """Gives records new timestamps, and makes watermarks of them."""

    watermark_strategy: WatermarkStrategy
    timestamps_not_traced: str = ""
    """Why the timestamp assigner could not be traced."""


@dataclass(frozen=True, kw_only=True)
class SinkNode(Node):
    """Writes to a sink."""

    sink: Sink


class ExchangeKind(Enum):
    """How records find the subtask of the consumer."""

    FORWARD = "forward"
    HASH = "hash"
    BROADCAST = "broadcast"
    REBALANCE = "rebalance"
    RESCALE = "rescale"
    SHUFFLE = "shuffle"
    GLOBAL = "global"
    CUSTOM = "custom"


@dataclass(frozen=True)
class Exchange:
    """An exchange and what it needs to choose a subtask."""

    kind: ExchangeKind
    key_selector: Callable[[Any], Any] | None = None
    """HASH and CUSTOM: the key of a record. Ignored where `key_fields` is given."""
    key_fields: tuple[str | int, ...] = ()
    """HASH by fields: one field is the key itself, several are a tuple of them."""
    key_type: TypeInformation | None = None
    partitioner: Callable[[Any, int], int] | None = None
    """CUSTOM: (key, number of subtasks) -> subtask."""
    not_traced: str = ""
    """HASH by a function that could not be traced, and CUSTOM: why."""
    call_site: CallSite = field(default=UNKNOWN_CALL_SITE, compare=False)
    """HASH: the line of the program that names the key."""


FORWARD = Exchange(ExchangeKind.FORWARD)


@dataclass(frozen=True)
class Edge:
    """Records flow from one node to an input of another."""

    source: int
    target: int
    exchange: Exchange = FORWARD
    input_index: int = 0
    side_output: str | None = None
    """The tag id where the edge carries a side output."""
    order: int = 0
    """Tells apart several edges between the same two nodes (a stream united with itself)."""
    fields: tuple[str, ...] | None = None
    """The fields of records that cross an exchange, as rows of them; None: records as they are."""
    is_combined: bool = False
    """Whether records are aggregated as far as that goes before they cross the exchange to their windows."""
    condition: Expression | None = field(default=None, compare=False)
    """What records must fulfil to cross the exchange: its target would drop the others; None: all cross it."""
