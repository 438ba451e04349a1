"""A chain at work: its operators, wired to each other and to the edges that leave it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import TypeMismatchError, UserFunctionError
from penstock.connectors.sink import EpochId
from penstock.engine.stages.compiled import CompiledChain, CompiledEdge
from penstock.engine.stages.edge_writer import EdgeWriter
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.keying import RecordFailure
from penstock.engine.stages.lowering import operator_for
from penstock.plan.nodes import Node
from penstock.runtime.failures import user_function_error
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.operator import Operator, OperatorContext
from penstock.runtime.sink_writer import SinkWriterOperator
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore


@dataclass
class _Port:
    """One output of an operator: the operators and edges behind it."""

    operators: list[tuple[Operator, OperatorCounts]] = field(default_factory=list["tuple[Operator, OperatorCounts]"])
    edges: list[int] = field(default_factory=list[int])


@dataclass
class OperatorCounts:
    """Records that an operator took and gave in the epoch under way."""

    records_in: int = 0
    records_out: int = 0


class _FanOut:
    """The `Output` of one operator."""

    def __init__(self, chain: ChainInstance, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._main = _Port()
        self._sides: dict[str, _Port] = {}
        self.counts = OperatorCounts()

    def port(self, side_output: str | None) -> _Port:
        return self._main if side_output is None else self._sides.setdefault(side_output, _Port())

    def emit(self, batch: Batch) -> None:
        self._send(self._main, batch)

    def emit_side(self, tag: str, batch: Batch) -> None:
        port = self._sides.get(tag)
        if port is not None:
            self._send(port, batch)

    def _send(self, port: _Port, batch: Batch) -> None:
        count = len(batch)
        self.counts.records_out += count
        for operator, counts in port.operators:
            counts.records_in += count
            operator.process(batch, 0)
        for edge in port.edges:
            try:
                self._chain.writers[edge].write(batch)
            except UserFunctionError:
                raise
            except Exception as error:
                # Key selectors, partitioners and type conversion fail here, on behalf of this operator.
                raise _failure_at_edge(error, self._chain.contexts[self._node.id], batch) from error


def _failure_at_edge(error: Exception, context: OperatorContext, batch: Batch) -> Exception:
    if isinstance(error, RecordFailure) and isinstance(error.__cause__, Exception):
        return user_function_error(error.__cause__, context, record=error.record)
    if isinstance(error, TypeMismatchError) and error.index is not None:
        return user_function_error(error, context, record=batch.values[error.index])
    return user_function_error(error, context)


class ChainInstance:
    """One subtask of a chain. `writers` are the edges that leave it, replaced for every epoch and sender."""

    def __init__(
        self,
        chain: CompiledChain,
        *,
        job_id: str,
        job_name: str,
        subtask: int,
        run: int,
        store: StateStore,
        storage: CheckpointStorage,
        metrics: MetricGroup,
    ) -> None:
        self.chain = chain
        self.writers: dict[int, EdgeWriter] = {}
        self.contexts: dict[int, OperatorContext] = {}
        self.watermarks: dict[int, int] = {}
        self._operators: dict[int, Operator] = {}
        self._outputs = {node.id: _FanOut(self, node) for node in chain.nodes}
        self._parent = {link.target: link.source for link in chain.links}
        for node in chain.nodes:
            operator = operator_for(node)
            if operator is not None:
                self._operators[node.id] = operator
        for link in chain.links:
            port = self._outputs[link.source].port(link.side_output)
            port.operators.append((self._operators[link.target], self._outputs[link.target].counts))
        for edge in chain.outputs:
            self._outputs[edge.source].port(edge.side_output).edges.append(edge.number)
        for node in chain.nodes:
            context = OperatorContext(
                job_id=job_id,
                job_name=job_name,
                name=node.name,
                uid=node.uid,
                subtask=subtask,
                parallelism=node.parallelism,
                max_parallelism=node.max_parallelism,
                attempt=run,
                call_site=str(node.call_site),
                output=self._outputs[node.id],
                store=store,
                storage=storage,
                metrics=metrics.add_group(node.uid),
                epoch=EpochId(0, 0),
                staging="",
                processing_time=0,
            )
            self.contexts[node.id] = context
        for node_id, operator in self._operators.items():
            operator.open(self.contexts[node_id])

    def begin_epoch(self, epoch: EpochId, processing_time: int, staging: str) -> None:
        """A new epoch starts."""
        for context in self.contexts.values():
            context.epoch = epoch
            context.processing_time = processing_time
            context.staging = f"{staging}-{quote(context.uid, safe='')}"
        for output in self._outputs.values():
            output.counts.records_in = output.counts.records_out = 0
        for operator in self._operators.values():
            operator.begin_epoch()

    def set_writers(self, sender: int, emit: list[Envelope]) -> None:
        """Edge writers for one sender; rows are appended to `emit`."""
        self.writers = {
            edge.number: EdgeWriter(edge, codec_for(edge.record_type), sender, emit.append)
            for edge in self.chain.outputs
        }

    def emit_from_source(self, batch: Batch) -> None:
        """Records that a reader delivers, into a chain whose head is a source."""
        self._outputs[self.chain.head.id].emit(batch)

    def process(self, batch: Batch, edge: CompiledEdge) -> None:
        """Records that arrive at the head."""
        self._outputs[self.chain.head.id].counts.records_in += len(batch)
        self._operators[self.chain.head.id].process(batch, edge.input_index)

    def advance_watermark(self, watermark: int) -> None:
        """Event time rises at the head; timers fire through the whole chain, then the edges hear of it."""
        for node in self.chain.nodes:
            seen = watermark if node is self.chain.head else self.watermarks[self._parent[node.id]]
            operator = self._operators.get(node.id)
            self.watermarks[node.id] = seen if operator is None else operator.advance_watermark(seen)
        for edge in self.chain.outputs:
            self.writers[edge.number].watermark(self.watermarks[edge.source])

    def restore_watermark(self, watermark: int) -> None:
        """Sets the watermark of a subtask that other processes have worked on, without firing anything."""
        for node_id, operator in self._operators.items():
            operator.restore_watermark(watermark)
            self.watermarks[node_id] = watermark

    def advance_processing_time(self, now: int) -> None:
        """Fires what is due."""
        for operator in self._operators.values():
            operator.advance_processing_time(now)

    def finish(self) -> None:
        """The end of all inputs, told to the operators and then to the edges."""
        self.finish_operators()
        for edge in self.chain.outputs:
            self.writers[edge.number].end()

    def finish_operators(self) -> None:
        """The end of all inputs."""
        for operator in self._operators.values():
            operator.finish()

    def end_epoch(self) -> None:
        """Operators write their state, edges pack what is pending."""
        for operator in self._operators.values():
            operator.end_epoch()
        self.flush_writers()

    def flush_writers(self) -> None:
        """Packs what is pending on the edges."""
        for writer in self.writers.values():
            writer.flush()

    def drop_caches(self) -> None:
        """Forgets what was read from the store."""
        for operator in self._operators.values():
            operator.drop_caches()

    def close(self) -> None:
        """The end of the job."""
        for operator in self._operators.values():
            operator.close()

    def next_processing_timer(self) -> int | None:
        """When the earliest timer of the chain is due."""
        times = [operator.next_processing_timer() for operator in self._operators.values()]
        return min((time for time in times if time is not None), default=None)

    def tokens(self) -> Iterator[tuple[str, list[object]]]:
        """What the chain's sinks staged in this epoch, by uid."""
        for node_id, operator in self._operators.items():
            if isinstance(operator, SinkWriterOperator):
                tokens = operator.tokens()
                if tokens:
                    yield self.contexts[node_id].uid, list(tokens)

    def counts(self) -> Iterator[tuple[str, OperatorCounts]]:
        """Records in and out per operator uid."""
        for node in self.chain.nodes:
            yield node.uid, self._outputs[node.id].counts
