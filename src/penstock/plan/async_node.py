"""The node of asynchronous calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.functions.async_retry import AsyncRetryStrategy
from penstock.plan.nodes import Node


@dataclass(frozen=True, kw_only=True)
class AsyncNode(Node):
    """An `AsyncFunction`: calls to another system, many at the same time."""

    function: Any
    timeout_ms: int
    """From the first attempt to the last; 0: none."""
    capacity: int
    """How many calls of a subtask are under way at most."""
    retry_strategy: AsyncRetryStrategy[Any]
    ordered: bool
    """Whether results leave in the order of their records."""
