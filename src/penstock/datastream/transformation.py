"""What the fluent API builds while a program is written: operators that can still be named, resized and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.common.call_site import CallSite
from penstock.common.typeinfo import TypeInformation
from penstock.plan.nodes import Chaining, Exchange, Node


@dataclass(frozen=True, eq=False)
class Upstream:
    """One way into an operator: the main or a side output of another one, and how records travel from there."""

    transformation: Transformation
    side_output: str | None = None
    exchange: Exchange | None = None
    """None leaves it to the parallelism of the two ends: forward where it is the same, else rebalance."""

    @property
    def output_type(self) -> TypeInformation:
        """The type of the records that come this way."""
        if self.side_output is None:
            return self.transformation.output_type
        return self.transformation.side_outputs[self.side_output]

    @property
    def type_is_declared(self) -> bool:
        """Whether the program asked for that type, or it was found out."""
        return self.side_output is not None or self.transformation.type_is_declared


@dataclass(eq=False, kw_only=True)
class Transformation:
    """An operator in the making. Settings that are None are decided when the plan is made."""

    node_class: type[Node]
    arguments: Mapping[str, Any]
    """What the node class needs beyond what every node has."""
    inputs: tuple[tuple[Upstream, ...], ...]
    """Per input of the operator, the streams that are united there."""
    name: str
    output_type: TypeInformation
    type_is_declared: bool = False
    emits_side_outputs: bool = False
    parallelism_is_fixed: bool = False
    """True for what can only run as one subtask."""
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    slot_sharing_group: str | None = None
    chaining: Chaining = Chaining.ALWAYS
    description: str = ""
    side_outputs: dict[str, TypeInformation] = field(default_factory=dict[str, TypeInformation])
    call_site: CallSite
