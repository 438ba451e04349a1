"""The node of a function that is computed over columns."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.typeinfo import TypeInformation
from penstock.plan.nodes import StatelessNode


@dataclass(frozen=True, kw_only=True)
class TracedNode(StatelessNode):
    """A `map` or `filter` whose function is known well enough to be computed over columns.

    The function stays with it: records for which the columns could say something else than Python go through it.
    """

    input_type: TypeInformation
    program_text: str
    """What the function computes."""
    read_fields: frozenset[str] | None = None
    """The fields of the record that the function looks at, in columns and in Python; None: it may be any."""
    form: TypeInformation | None = None
    """Where the results have no declared type: the type of which they have columns while they stay in the chain."""
    kind_before: str = ""
    """That of the node in whose place it is, where it was another: how results are computed does not change what state
    fits."""

    @property
    def kind(self) -> str:  # noqa: D102
        return self.kind_before or super().kind
