"""Sends the results of a user function on, each to the output that it is meant for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.functions.output_tag import OutputTag
from penstock.runtime.operator import Output

BATCH_SIZE = 10_000

Timestamps = list[int | None] | None


class SendError(BaseException):
    """Carries an error of a consumer through user code that called `ctx.output`: not theirs to catch."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class ResultSender:
    """The main output and the side outputs of an operator."""

    def __init__(self, output: Output, codec: RecordCodec, side_codecs: Mapping[str, RecordCodec]) -> None:
        self._output = output
        self._codec = codec
        self._side_codecs = side_codecs
        self._side: dict[str, tuple[list[Any], list[int | None]]] = {}

    def send(self, values: list[Any], timestamps: Timestamps) -> None:
        """Sends results on: pairs of a tag and a value to side outputs, all else to the main one."""
        if OutputTag.exists:
            # Written out, without a function of its own: this runs for every result of every operator.
            tagged = {
                index
                for index, value in enumerate(values)
                if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], OutputTag)
            }
            if tagged:
                values, timestamps = self._take_out(tagged, values, timestamps)
        if values:
            self._output.emit(Batch(self._codec, values=values, timestamps=timestamps))

    def send_side(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        """Takes one result for a side output; it is on its way at the latest after `flush`."""
        kept = self._keep(tag.tag_id, value, timestamp)
        if kept >= BATCH_SIZE:
            try:
                self.flush()
            except Exception as error:
                raise SendError(error) from error

    def flush(self) -> None:
        """Sends on what is kept for side outputs."""
        side, self._side = self._side, {}
        for tag_id, (values, stamps) in side.items():
            timestamps = None if stamps.count(None) == len(stamps) else stamps
            self._output.emit_side(tag_id, Batch(self._side_codecs[tag_id], values=values, timestamps=timestamps))

    def _take_out(self, tagged: set[int], values: list[Any], timestamps: Timestamps) -> tuple[list[Any], Timestamps]:
        """Keeps the results at some places for side outputs, and returns the others."""
        for index in sorted(tagged):
            tag, value = values[index]
            self._keep(tag.tag_id, value, None if timestamps is None else timestamps[index])
        others = [index for index in range(len(values)) if index not in tagged]
        return [values[index] for index in others], timestamps and [timestamps[index] for index in others]

    def _keep(self, tag_id: str, value: Any, timestamp: int | None) -> int:
        """Returns how many results are kept for that tag; for one that nobody reads there is no codec."""
        if tag_id not in self._side_codecs:
            return 0
        values, stamps = self._side.setdefault(tag_id, ([], []))
        values.append(value)
        stamps.append(timestamp)
        return len(values)
