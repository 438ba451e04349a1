"""The node of a windowed operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.plan.nodes import Node
from penstock.windows.definition import WindowDefinition


@dataclass(frozen=True, kw_only=True)
class WindowNode(Node):
    """Windows of each key: an assigner, a trigger, and a function of the contents."""

    window: WindowDefinition
    not_in_columns: str = ""
    """Why the function is called for every record, where the optimizer looked at it."""

    @property
    def is_keyed(self) -> bool:  # noqa: D102
        return True

    @property
    def wants_sorted_keys(self) -> bool:  # noqa: D102
        return not self.window.is_columnar

    @property
    def function(self) -> Any:
        """What the program's own function is, as plans show it."""
        window = self.window
        return window.window_function or window.reduce_function or window.aggregate_function
