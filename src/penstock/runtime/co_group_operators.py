"""The operators behind `join` and `co_group` in windows: window operators with two inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.common.batch import Batch, RecordCodec
from penstock.functions.output_tag import OutputTag
from penstock.functions.tagged_union import TaggedUnion, tagged
from penstock.runtime.aligned_window_operator import AlignedWindowOperator
from penstock.runtime.evicting_window_operator import EvictingWindowOperator
from penstock.runtime.session_window_operator import SessionWindowOperator
from penstock.runtime.window_operator import WindowOperator
from penstock.runtime.window_operators import record_operator
from penstock.windows.definition import WindowDefinition


class CoGroupOperator(WindowOperator):
    """Windows with the records of two inputs, each marked with the one that it is of."""

    def __init__(
        self,
        definition: WindowDefinition,
        late_data_tags: Sequence[OutputTag | None],
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec],
    ) -> None:
        super().__init__(definition, output_codec, side_output_codecs)
        # Records that go to a side output which nobody reads are dropped like all others.
        self._late_tags = [tag if tag and tag.tag_id in side_output_codecs else None for tag in late_data_tags]

    def process(self, batch: Batch, input_index: int) -> None:
        """Puts every record into its windows."""
        unions = tagged(input_index, batch.values)
        super().process(Batch(batch.codec, values=unions, timestamps=batch.timestamps, keys=batch.keys), 0)

    def _skip(self, value: TaggedUnion, timestamp: int | None, had_windows: bool, records: int = 1) -> None:
        stream, record = value
        self._late_tag = self._late_tags[stream]
        super()._skip(record, timestamp, had_windows, records)


class AlignedCoGroupOperator(CoGroupOperator, AlignedWindowOperator):
    """In windows of one width with the usual trigger."""


class SessionCoGroupOperator(CoGroupOperator, SessionWindowOperator):
    """In sessions with the usual trigger."""


class EvictingCoGroupOperator(CoGroupOperator, EvictingWindowOperator):
    """With an evictor."""


_CO_GROUP_OPERATORS: dict[type[WindowOperator], type[CoGroupOperator]] = {
    AlignedWindowOperator: AlignedCoGroupOperator,
    SessionWindowOperator: SessionCoGroupOperator,
    EvictingWindowOperator: EvictingCoGroupOperator,
}


def co_group_operator(
    definition: WindowDefinition,
    late_data_tags: Sequence[OutputTag | None],
    output_codec: RecordCodec,
    side_output_codecs: Mapping[str, RecordCodec],
) -> CoGroupOperator:
    """A new operator for these windows."""
    kind = record_operator(definition)
    return _CO_GROUP_OPERATORS.get(kind, CoGroupOperator)(definition, late_data_tags, output_codec, side_output_codecs)
