"""How a sender makes less of its records before it sends them, for consumers that allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from penstock.common.batch import RecordCodec
from penstock.common.codecs import codec_for
from penstock.engine.stages.compiled import CompiledEdge
from penstock.engine.stages.envelope import Kind
from penstock.engine.stages.pending_buffer import Part
from penstock.runtime.columnar_windows.pane_combiner import PaneCombiner
from penstock.runtime.record_combiner import CombinedRecords, RecordCombiner
from penstock.windows.assigner import AlignedWindowAssigner


class Combining(Protocol):
    """Makes parts of parts of records, and fewer of several of them."""

    kind: Kind
    """Of the rows that have them."""

    @property
    def codec(self) -> RecordCodec:
        """The codec of what is made."""
        ...

    def made_of(self, part: Part) -> Part | None:
        """Of records; None where these are to be sent as they are."""
        ...

    def merged(self, part: Part) -> Part:
        """The same with every group once, as far as that goes."""
        ...


def combining_of(edge: CompiledEdge) -> Combining | None:
    """What an edge's senders do; None where they send records as they are."""
    if edge.combined is not None:
        if edge.combined.is_columnar:
            return _PartialAggregates(PaneCombiner(edge.combined))
        assert isinstance(edge.combined.assigner, AlignedWindowAssigner)
        combiner = RecordCombiner(edge.combined.reduce_function, edge.combined.assigner, codec_for(edge.record_type))
        return _ReducedRecords(combiner)
    if edge.reduced_by is not None:
        return _ReducedRecords(RecordCombiner(edge.reduced_by, None, codec_for(edge.record_type)))
    return None


class _PartialAggregates:
    """Rows of aggregates: no records any more."""

    kind = Kind.PARTIALS

    def __init__(self, combiner: PaneCombiner) -> None:
        self._combiner = combiner

    @property
    def codec(self) -> RecordCodec:
        return self._combiner.codec

    def made_of(self, part: Part) -> Part | None:
        assert part.columns is not None
        assert part.keys is not None
        made = self._combiner.of_records(part.columns, part.count, part.timestamps, part.keys)
        if made is None:
            return None
        return Part(len(made.keys.codes), made.columns, None, None, made.keys, is_combined=True)

    def merged(self, part: Part) -> Part:
        assert part.columns is not None
        assert part.keys is not None
        keys, columns = self._combiner.merged(part.keys, list(part.columns))
        return replace(part, count=len(keys.codes), columns=columns, keys=keys)


class _ReducedRecords:
    """Records, each with the number of those that it was made of."""

    kind = Kind.DATA

    def __init__(self, combiner: RecordCombiner) -> None:
        self._combiner = combiner

    @property
    def codec(self) -> RecordCodec:
        return self._combiner.codec

    def made_of(self, part: Part) -> Part | None:
        assert part.columns is not None
        assert part.keys is not None
        made = self._combiner.of_records(part.columns, part.timestamps, part.keys)
        return None if made is None else _part_of(made)

    def merged(self, part: Part) -> Part:
        assert part.columns is not None
        assert part.keys is not None
        given = CombinedRecords(list(part.columns), part.timestamps, part.keys, part.record_counts)
        return _part_of(self._combiner.merged(given))


def _part_of(made: CombinedRecords) -> Part:
    return Part(
        len(made.keys.codes),
        made.columns,
        None,
        made.timestamps,
        made.keys,
        is_combined=True,
        record_counts=made.record_counts,
    )
