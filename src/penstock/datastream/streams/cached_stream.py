"""A stream whose records are kept for later jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.connectors.source import Boundedness, Source
from penstock.datastream.arguments import refuse
from penstock.datastream.output_types import united_type
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.transformation import Transformation
from penstock.datastream.translation import with_all_inputs
from penstock.plan.nodes import RecordFunctionKind, StatelessNode

if TYPE_CHECKING:
    from penstock.datastream.program import Program
    from penstock.datastream.stream_caches import CachedOperator


class CachedDataStream(DataStream):
    """A stream that is computed by the first job that uses it; later jobs of the environment read what it gave."""

    def __init__(self, program: Program, stream: DataStream, cached: CachedOperator) -> None:
        super().__init__(program, stream.upstreams)
        self._cached = cached

    def operator(self, method: str) -> Transformation:  # noqa: D102
        raise refuse(f"{method}: a cached stream is not an operator; call `{method}` on the stream before `cache()`")

    def cache(self) -> CachedDataStream:
        """The stream itself: it is cached."""
        return self

    def invalidate(self) -> None:
        """Drops the records; the next job that uses the stream computes them again."""
        self.program.caches.use_written()
        self._cached.compute_again()


def cached(stream: DataStream) -> CachedDataStream:
    """The stream with its records kept."""
    operators = [upstream.transformation for upstream in stream.upstreams]
    for operator in with_all_inputs(operators):
        source = operator.arguments.get("source")
        if isinstance(source, Source) and source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED:
            raise refuse(
                f"cache: the stream never ends, because of its source '{operator.name}' ({operator.call_site})"
            )
    resolved = united_type("cache", stream.upstreams)
    kept = stream.program.transform(
        StatelessNode,
        "Cache",
        (stream.upstreams,),
        resolved.type_info,
        type_is_declared=resolved.is_declared,
        function=_same,
        function_kind=RecordFunctionKind.MAP,
    )
    operator = kept.upstreams[0].transformation
    return CachedDataStream(stream.program, kept, stream.program.caches.add(operator))


def _same(record: object) -> object:
    return record
