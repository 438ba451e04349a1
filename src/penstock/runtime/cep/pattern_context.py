"""The context of pattern process functions."""

from __future__ import annotations

from typing import Any

from penstock.functions.output_tag import OutputTag
from penstock.patterns import PatternProcessFunction
from penstock.runtime.contexts import CurrentKey
from penstock.runtime.operator import OperatorContext
from penstock.runtime.result_sender import ResultSender


class MatchContext(PatternProcessFunction.Context):
    """One object per operator, set anew for each match."""

    time: int = 0
    id: str = ""

    def __init__(
        self, context: OperatorContext, sender: ResultSender, current_key: CurrentKey, *, is_event_time: bool
    ) -> None:
        self._context = context
        self._sender = sender
        self._current_key = current_key
        self._is_event_time = is_event_time

    def timestamp(self) -> int:
        """The time of the match."""
        return self.time

    def current_processing_time(self) -> int:
        """The processing time."""
        return self._context.processing_time

    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output."""
        self._sender.send_side(tag, value, self.stamp)

    def get_current_key(self) -> Any:
        """The key of the match."""
        return self._current_key.get()

    def pattern_id(self) -> str:
        """Which of several patterns it is."""
        return self.id

    @property
    def stamp(self) -> int | None:
        """The timestamp of results: in processing time they have none."""
        return self.time if self._is_event_time else None
