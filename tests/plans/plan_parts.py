"""Small nodes and connectors that plans are made of in tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.common.batch import Batch
from penstock.common.call_site import CallSite
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.sink import DeliveryGuarantee, Sink, SinkWriter, SinkWriterContext, Token
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.expressions import Expression
from penstock.functions.async_function import AsyncFunction
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.plan.async_node import AsyncNode
from penstock.plan.expression_node import ExpressionNode
from penstock.plan.nodes import (
    BroadcastProcessNode,
    CoProcessNode,
    Edge,
    Exchange,
    ExchangeKind,
    KeyedProcessNode,
    Node,
    RecordFunctionKind,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsAndWatermarksNode,
)
from penstock.plan.plan import Plan


class WordSource(Source):
    """A list of words, read whole in one epoch."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:
        return Types.STRING()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _WordEnumerator(len(self.words), context)

    def create_reader(self) -> SplitReader:
        return _WordReader(self.words)

    def describe(self) -> str:
        return f"{len(self.words)} words"


class _WordEnumerator(SplitEnumerator):
    def __init__(self, count: int, context: EnumeratorContext) -> None:
        self._count = count
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        if self.is_exhausted():
            return []
        self._state["read"] = True
        return [SplitRead("0", 0, self._count, finishes=True, size=self._count)]

    def is_exhausted(self) -> bool:
        return bool(self._state.get("read"))


class _WordReader(SplitReader):
    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        yield Batch(codec_for(Types.STRING()), values=list(self._words[read.start : read.end]))
        self.position = read.end
        self.finished = read.finishes


class LineSink(Sink):
    """Appends records to a file as they come: at least once."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return _LineWriter(self.path)

    def describe(self) -> str:
        return f"lines of {self.path}"


class _LineWriter(SinkWriter):
    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def write(self, batch: Batch) -> None:
        with self._path.open("a") as file:
            file.writelines(json.dumps(value) + "\n" for value in batch.values)

    def prepare_commit(self) -> list[Token]:
        return []


class Tagger:
    """A function as an object: gives records to a side output, in a program that runs."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value


class Lookup(AsyncFunction[Any, Any]):
    """A call that comes back with what it was asked about."""

    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


def identity(value: Any) -> Any:
    return value


def first_letter(word: str) -> str:
    return word[:1]


def by_length(key: str, subtasks: int) -> int:
    return len(key) % subtasks


HASH = Exchange(ExchangeKind.HASH, key_selector=first_letter, key_type=Types.STRING())
BROADCAST = Exchange(ExchangeKind.BROADCAST)
REBALANCE = Exchange(ExchangeKind.REBALANCE)
CUSTOM = Exchange(ExchangeKind.CUSTOM, key_selector=first_letter, partitioner=by_length)


def call_site(line: int) -> CallSite:
    return CallSite("program.py", line, f"step_{line}()")


def _common(line: int, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": line, "name": name, "uid": f"uid-{line}", "call_site": call_site(line), **fields}


def source(line: int, name: str = "words", **fields: Any) -> SourceNode:
    defaults = {"source": WordSource("a", "bb"), "output_type": Types.STRING()}
    return SourceNode(**{**defaults, **_common(line, name, fields)})


def mapping(line: int, name: str = "upper", **fields: Any) -> StatelessNode:
    defaults = {
        "function": identity,
        "function_kind": RecordFunctionKind.MAP,
        "output_type": Types.STRING(),
    }
    return StatelessNode(**{**defaults, **_common(line, name, fields)})


def computing(
    line: int,
    name: str,
    expression: Expression,
    function_kind: RecordFunctionKind = RecordFunctionKind.MAP,
    **fields: Any,
) -> ExpressionNode:
    defaults = {
        "expression": expression,
        "function_kind": function_kind,
        "input_type": Types.STRING(),
        "output_type": Types.STRING(),
    }
    return ExpressionNode(**{**defaults, **_common(line, name, fields)})


def keyed(line: int, name: str = "count", **fields: Any) -> KeyedProcessNode:
    defaults = {"function": Tagger(), "output_type": Types.TUPLE([Types.STRING(), Types.LONG()])}
    return KeyedProcessNode(**{**defaults, **_common(line, name, fields)})


def stamping(line: int, name: str = "Timestamps/Watermarks", **fields: Any) -> TimestampsAndWatermarksNode:
    return TimestampsAndWatermarksNode(output_type=Types.STRING(), **_common(line, name, fields))


def calling(line: int, name: str = "look up", **fields: Any) -> AsyncNode:
    defaults = {
        "function": Lookup(),
        "timeout_ms": 5_000,
        "capacity": 100,
        "retry_strategy": NO_RETRY_STRATEGY,
        "ordered": False,
        "output_type": Types.STRING(),
    }
    return AsyncNode(**{**defaults, **_common(line, name, fields)})


def connected(line: int, name: str = "join", **fields: Any) -> CoProcessNode:
    defaults = {"function": Tagger(), "keyed": False, "output_type": Types.STRING()}
    return CoProcessNode(**{**defaults, **_common(line, name, fields)})


def broadcast(line: int, name: str = "rules", **fields: Any) -> BroadcastProcessNode:
    defaults = {
        "function": Tagger(),
        "keyed": False,
        "state_descriptors": (),
        "output_type": Types.STRING(),
    }
    return BroadcastProcessNode(**{**defaults, **_common(line, name, fields)})


def sink(line: int, name: str = "out", **fields: Any) -> SinkNode:
    return SinkNode(**{"sink": LineSink(f"{name}.txt"), **_common(line, name, fields)})


def plan(*parts: Node | Edge, job_name: str = "test") -> Plan:
    """A plan of nodes and edges in any order."""
    nodes = tuple(part for part in parts if isinstance(part, Node))
    edges = tuple(part for part in parts if isinstance(part, Edge))
    return Plan(nodes, edges, job_name)
