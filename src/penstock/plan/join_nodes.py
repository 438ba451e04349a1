"""The nodes of joins: two keyed inputs, and a function of records that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.functions.join_kind import JoinKind
from penstock.functions.output_tag import OutputTag
from penstock.plan.nodes import Node
from penstock.windows.definition import WindowDefinition


@dataclass(frozen=True, kw_only=True)
class JoinNode(Node):
    """What all joins have in common: input 0 is the first, or left, stream, input 1 the second, or right, one."""

    function: Any
    late_data_tags: tuple[OutputTag | None, OutputTag | None] = (None, None)
    """The side outputs of records of each input that come too late."""

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True, kw_only=True)
class CoGroupNode(JoinNode):
    """Windows of each key with the records of both inputs: `join` and `co_group`."""

    window: WindowDefinition


@dataclass(frozen=True, kw_only=True)
class IntervalJoinNode(JoinNode):
    """Pairs whose right record is from `lower` to `upper` milliseconds after the left one."""

    lower: int
    upper: int
    join_kind: JoinKind
    input_types: tuple[TypeInformation, TypeInformation]


@dataclass(frozen=True, kw_only=True)
class TemporalJoinNode(JoinNode):
    """Each left record with the version of the right input that held at its time."""

    join_kind: JoinKind
    input_types: tuple[TypeInformation, TypeInformation]


@dataclass(frozen=True, kw_only=True)
class LookupJoinNode(JoinNode):
    """Each left record with the rows of a table (the right input, which ends) that have its key."""

    join_kind: JoinKind
    valid_from: str | None
    """The column that says since when a row holds; None: rows hold for ever."""
    table_type: TypeInformation
