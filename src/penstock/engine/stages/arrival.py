"""Records as they arrive over an exchange."""

from __future__ import annotations

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.null_columns import widened
from penstock.engine.stages import payload
from penstock.engine.stages.compiled import CompiledEdge


def arrived(edge: CompiledEdge, content: bytes) -> Batch:
    """The records of a buffer, with all their fields: those that were not sent, for nobody reads them, are None."""
    sent = payload.decode(codec_for(edge.sent_type), content)
    if edge.columns is None:
        return sent
    codec = codec_for(edge.record_type)
    assert codec.schema is not None
    columns = widened(sent.columns, edge.columns, codec.schema)
    return Batch(
        codec,
        columns=columns,
        timestamps=sent.either_timestamps,
        keys=sent.dictionary_keys,
        record_counts=sent.record_counts,
    )
