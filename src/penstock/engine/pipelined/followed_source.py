"""A source of the plan as pipelined mode reads it."""

from __future__ import annotations

import dataclasses

from penstock.common.typeinfo import TypeInformation
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.connectors.source import Boundedness, EnumeratorContext, Source, SplitEnumerator, SplitReader
from penstock.functions.output_tag import OutputTag
from penstock.plan.nodes import SourceNode
from penstock.plan.plan import Plan


def with_followed_sources(plan: Plan) -> Plan:
    """The plan, with sources whose splits are followed; those of a plan that was checked can be."""
    nodes = [
        dataclasses.replace(node, source=FollowedSource(node.source))
        if isinstance(node, SourceNode) and isinstance(node.source, LiveSource)
        else node
        for node in plan.nodes
    ]
    return dataclasses.replace(plan, nodes=tuple(nodes))


class FollowedSource(Source, LiveSource):
    """Another source, read live."""

    def __init__(self, source: Source) -> None:
        assert isinstance(source, LiveSource)
        self._source = source
        self._live = source

    @property
    def position_kind(self) -> str:  # noqa: D102
        return self._source.position_kind

    @property
    def broken_records_tag(self) -> OutputTag | None:  # noqa: D102
        return self._source.broken_records_tag

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return self._source.boundedness

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._source.produced_type

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return self._live.create_live_enumerator(context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return self._source.create_reader()

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return self._live.create_live_enumerator(context)

    def create_live_reader(self) -> LiveReader:  # noqa: D102
        return self._live.create_live_reader()

    def describe(self) -> str:  # noqa: D102
        return self._source.describe()
