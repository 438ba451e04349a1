"""A chain at work: its operators, wired to each other and to the edges that leave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote

from penstock.common.batch import Batch, concatenated
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.connectors.sink import EpochId
from penstock.engine.stages import payload
from penstock.engine.stages.combining import combining_of
from penstock.engine.stages.compiled import CompiledChain, CompiledEdge
from penstock.engine.stages.edge_failures import failure_at_edge, failure_of_record
from penstock.engine.stages.edge_writer import EdgeWriter
from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.job_resources import JobResources
from penstock.engine.stages.lowering import operator_for
from penstock.engine.stages.operator_times import OperatorTimes
from penstock.functions.adapt import close_function, open_function
from penstock.plan.nodes import Node
from penstock.runtime.columnar_windows.operator import ColumnarWindowOperator
from penstock.runtime.failures import user_function_error
from penstock.runtime.metrics import LATE_RECORDS_DROPPED, MetricGroup
from penstock.runtime.operator import MIN_WATERMARK, Operator, OperatorContext
from penstock.runtime.runtime_context import OperatorRuntimeContext
from penstock.runtime.sink_writer import SinkWriterOperator
from penstock.runtime.timestamps_and_watermarks_operator import TimestampsAndWatermarksOperator
from penstock.state.memory import MemoryStore
from penstock.state.operator_state import UnionLists
from penstock.state.storage import CheckpointStorage
from penstock.state.store import StateStore

_COLLECTED_RECORDS = 4_096


@dataclass
class _Port:
    """One output of an operator: the operators and edges behind it."""

    operators: list[tuple[Operator, OperatorCounts]] = field(default_factory=list["tuple[Operator, OperatorCounts]"])
    edges: list[int] = field(default_factory=list[int])


@dataclass
class OperatorCounts:
    """Records that an operator took, gave and dropped in the epoch under way."""

    uid: str
    metrics: MetricGroup
    records_in: int = 0
    records_out: int = 0
    late_before: int = 0
    """What the operator's metric, which goes on from epoch to epoch, had come to when the epoch began."""

    def begin_epoch(self) -> None:
        """Starts from 0."""
        self.records_in = self.records_out = 0
        self.late_before = self.metrics.counted(LATE_RECORDS_DROPPED) or 0

    def to_json(self) -> dict[str, int]:
        """By name; records dropped as late only where the operator can do that."""
        late = self.metrics.counted(LATE_RECORDS_DROPPED)
        dropped = {} if late is None else {LATE_RECORDS_DROPPED: late - self.late_before}
        return {"in": self.records_in, "out": self.records_out, **dropped}


class _FanOut:
    """The `Output` of one operator."""

    def __init__(self, chain: ChainInstance, node: Node, metrics: MetricGroup) -> None:
        self._chain = chain
        self._node = node
        self._main = _Port()
        self._sides: dict[str, _Port] = {}
        self.counts = OperatorCounts(node.uid, metrics)

    def port(self, side_output: str | None) -> _Port:
        return self._main if side_output is None else self._sides.setdefault(side_output, _Port())

    def emit(self, batch: Batch) -> None:
        self._send(self._main, batch)

    def flush(self) -> None:
        """Sends on what is kept."""

    def forget(self) -> None:
        """Drops what is kept."""

    def emit_side(self, tag: str, batch: Batch) -> None:
        port = self._sides.get(tag)
        if port is not None:
            self._send(port, batch)

    def emit_watermark(self, watermark: int) -> None:
        self._chain.tell_watermark(self._node.id, watermark)

    def emit_idle(self) -> None:
        self._chain.tell_idleness(self._node.id, idle=True)

    def _send(self, port: _Port, batch: Batch) -> None:
        count = len(batch)
        self.counts.records_out += count
        for operator, counts in port.operators:
            counts.records_in += count
            self._chain.times.enter(counts.uid)
            operator.process(batch, 0)
            self._chain.times.leave()
        for edge in port.edges:
            try:
                self._chain.writers[edge].write(batch)
            except UserFunctionError:
                raise
            except Exception as error:
                # Key selectors, partitioners and type conversion fail here, on behalf of this operator.
                exchange = self._chain.writers[edge].exchange
                raise failure_at_edge(error, self._chain.contexts[self._node.id], batch, exchange) from error


class _CollectingFanOut(_FanOut):
    """Of an operator whose records come key by key: the few results of each key travel on together."""

    def __init__(self, chain: ChainInstance, node: Node, metrics: MetricGroup) -> None:
        super().__init__(chain, node, metrics)
        self._kept: dict[str | None, list[Batch]] = {}
        self._kept_records: Counter[str | None] = Counter()

    def emit(self, batch: Batch) -> None:
        self._keep(None, batch)

    def emit_side(self, tag: str, batch: Batch) -> None:
        if tag in self._sides:
            self._keep(tag, batch)

    def flush(self) -> None:
        for tag in list(self._kept):
            self._flush_port(tag)

    def forget(self) -> None:
        self._kept.clear()
        self._kept_records.clear()

    def _keep(self, tag: str | None, batch: Batch) -> None:
        self._kept.setdefault(tag, []).append(batch)
        self._kept_records[tag] += len(batch)
        if self._kept_records[tag] >= _COLLECTED_RECORDS:
            self._flush_port(tag)

    def _flush_port(self, tag: str | None) -> None:
        kept = self._kept.pop(tag)
        del self._kept_records[tag]
        self._send(self._main if tag is None else self._sides[tag], concatenated(kept))


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
        epoch: EpochId = EpochId(0, 0),  # noqa: B008 (frozen)
        watermark_interval: int = 200,
        batch: bool = False,
        resources: JobResources = JobResources(),  # noqa: B008 (frozen)
        restored_epoch: int | None = None,
        union_lists: UnionLists | None = None,
    ) -> None:
        self.chain = chain
        self.writers: dict[int, EdgeWriter] = {}
        self.contexts: dict[int, OperatorContext] = {}
        self.times = OperatorTimes()
        self.watermarks = dict.fromkeys((node.id for node in chain.nodes), MIN_WATERMARK)
        self._operators: dict[int, Operator] = {}
        self._outputs = {node.id: _FanOut(self, node, metrics.add_group(node.uid)) for node in chain.nodes}
        self._key_store: MemoryStore | None = None
        """The state of one key, where the records of a key come one after the other."""
        if chain.sorted_inputs:
            self._key_store = MemoryStore()
            self._outputs[chain.head.id] = _CollectingFanOut(self, chain.head, metrics.add_group(chain.head.uid))
        self._parent = {link.target: link.source for link in chain.links}
        self._children: dict[int, list[int]] = {node.id: [] for node in chain.nodes}
        self._edges: dict[int, list[int]] = {node.id: [] for node in chain.nodes}
        for node in chain.nodes:
            operator = operator_for(node)
            if operator is not None:
                self._operators[node.id] = operator
        for link in chain.links:
            self._children[link.source].append(link.target)
            port = self._outputs[link.source].port(link.side_output)
            port.operators.append((self._operators[link.target], self._outputs[link.target].counts))
        for edge in chain.outputs:
            self._edges[edge.source].append(edge.number)
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
                store=self._key_store if self._key_store is not None and node is chain.head else store,
                storage=storage,
                metrics=metrics.add_group(node.uid),
                epoch=epoch,
                staging="",
                processing_time=0,
                watermark_interval=watermark_interval,
                batch=batch,
                job_parameters=resources.parameters,
                cached_files=resources.cached_files,
                restored_epoch=restored_epoch,
                union_lists=union_lists or {},
            )
            self.contexts[node.id] = context
        names = {node.id: f"'{node.name}' ({node.call_site})" for node in chain.nodes}
        for link in chain.links:
            self.contexts[link.target].records_from = names[link.source]
        for node_id, operator in self._operators.items():
            operator.open(self.contexts[node_id])
        for edge in chain.outputs:
            self._open_exchange(edge)
        self._combining = {edge.number: combining_of(edge) for edge in chain.outputs}

    def _open_exchange(self, edge: CompiledEdge) -> None:
        context = self.contexts[edge.source]
        for function in (edge.exchange.key_selector, edge.exchange.partitioner):
            try:
                open_function(function, OperatorRuntimeContext(context))
            except Exception as error:
                raise user_function_error(error, context) from error

    def begin_epoch(self, epoch: EpochId, processing_time: int, staging: str) -> None:
        """A new epoch starts."""
        for context in self.contexts.values():
            context.epoch = epoch
            context.processing_time = processing_time
            context.staging = f"{staging}-{quote(context.uid, safe='')}"
        for output in self._outputs.values():
            output.counts.begin_epoch()
        for operator in self._operators.values():
            operator.begin_epoch()

    def set_writers(self, sender: int, emit: list[Envelope]) -> None:
        """Edge writers for one sender; rows are appended to `emit`."""
        self.writers = {
            edge.number: EdgeWriter(
                edge,
                codec_for(edge.sent_type),
                sender,
                emit.append,
                self._combining[edge.number],
                partial(failure_of_record, self.contexts[edge.source]),
            )
            for edge in self.chain.outputs
        }

    def emit_from_source(self, batch: Batch) -> None:
        """Records that a reader delivers, into a chain whose head is a source."""
        self.times.enter(self.chain.head.uid)
        self._outputs[self.chain.head.id].emit(batch)
        self.times.leave()

    def reading(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """What a reader delivers; the time that it takes is the source's."""
        iterator = iter(batches)
        while True:
            self.times.enter(self.chain.head.uid)
            batch = next(iterator, None)
            self.times.leave()
            if batch is None:
                return
            yield batch

    def emit_side_from_source(self, tag: str, batch: Batch) -> None:
        """Records for a side output of the source at the head of the chain."""
        self._outputs[self.chain.head.id].emit_side(tag, batch)

    def process(self, batch: Batch, edge: CompiledEdge) -> None:
        """Records that arrive at the head."""
        self._outputs[self.chain.head.id].counts.records_in += batch.records
        self.times.enter(self.chain.head.uid)
        self._operators[self.chain.head.id].process(batch, edge.input_index)
        self.times.leave()

    def process_partials(self, content: bytes) -> int:
        """Records that were aggregated before they arrive at the head; returns how many there were."""
        operator = self._operators[self.chain.head.id]
        assert isinstance(operator, ColumnarWindowOperator)
        self.times.enter(self.chain.head.uid)
        records = operator.process_partials(payload.decode(operator.partials_codec, content))
        self.times.leave()
        self._outputs[self.chain.head.id].counts.records_in += records
        return records

    def count_combined(self, records: int) -> None:
        """So many more records came to the head than were counted: they were combined on their way."""
        self._outputs[self.chain.head.id].counts.records_in += records

    def end_key(self) -> None:
        """The head's current key has no more records."""
        self.times.enter(self.chain.head.uid)
        self._operators[self.chain.head.id].end_key()
        self.times.leave()
        assert self._key_store is not None
        self._key_store.discard_changes()

    def flush_head(self) -> None:
        """Sends on what is kept of the head's results."""
        self._outputs[self.chain.head.id].flush()

    def advance_watermark(self, watermark: int) -> None:
        """Event time rises at the head: its timers fire, then its consumers hear of it, through the whole chain."""
        head = self.chain.head.id
        self.times.enter(self.chain.head.uid)
        passed = self._operators[head].advance_watermark(watermark)
        self.times.leave()
        if passed > self.watermarks[head]:
            self.tell_watermark(head, passed)

    def end_inputs(self, input_indexes: Iterable[int]) -> None:
        """Inputs of the head have ended."""
        for index in input_indexes:
            self._operators[self.chain.head.id].end_input(index)

    def set_idle(self, idle: bool) -> None:
        """The inputs of the head fall silent, or speak again."""
        head = self._operators[self.chain.head.id]
        if idle:
            head.inputs_fall_idle()
        if head.passes_idleness:
            self.tell_idleness(self.chain.head.id, idle=idle)

    def tell_watermark(self, node_id: int, watermark: int) -> None:
        """Tells the consumers of an operator how far event time has come there, and that it is not idle."""
        if watermark <= self.watermarks[node_id]:
            self.tell_idleness(node_id, idle=False)
            return
        self.watermarks[node_id] = watermark
        self._outputs[node_id].flush()
        for child in self._children[node_id]:
            self.times.enter(self._outputs[child].counts.uid)
            passed = self._operators[child].advance_watermark(watermark)
            self.times.leave()
            if passed > self.watermarks[child]:
                self.tell_watermark(child, passed)
        for edge in self._edges[node_id]:
            self.writers[edge].watermark(watermark)

    def tell_idleness(self, node_id: int, *, idle: bool) -> None:
        """Tells the consumers of an operator whether something is to be expected from it."""
        for child in self._children[node_id]:
            if idle:
                self._operators[child].inputs_fall_idle()
            if self._operators[child].passes_idleness:
                self.tell_idleness(child, idle=idle)
        for edge in self._edges[node_id]:
            self.writers[edge].idle() if idle else self.writers[edge].watermark(self.watermarks[node_id])

    def restore_watermark(self, watermark: int) -> None:
        """Sets the watermark of a subtask that other processes have worked on, without firing anything."""
        for node in self.chain.nodes:
            seen = watermark if node is self.chain.head else self.watermarks[self._parent[node.id]]
            operator = self._operators.get(node.id)
            if operator is not None:
                operator.restore_watermark(seen)
                seen = operator.current_watermark
            self.watermarks[node.id] = seen

    def advance_processing_time(self, now: int) -> None:
        """Fires what is due."""
        for node_id, operator in self._operators.items():
            self.times.enter(self._outputs[node_id].counts.uid)
            operator.advance_processing_time(now)
            self.times.leave()

    def set_processing_time(self, now: int) -> None:
        """Pipelined mode: processing time moves on within the epoch; nothing fires."""
        for context in self.contexts.values():
            context.processing_time = now

    def time_goes_on(self, *, anew: bool) -> None:
        """Pipelined mode: an epoch begins; operators wait for records again, or for the first time since a start."""
        for operator in self._operators.values():
            operator.time_goes_on(anew=anew)

    def records_waited(self, ms: int) -> None:
        """Pipelined mode: for so long there may have been records that had to wait behind others."""
        for operator in self._operators.values():
            operator.records_waited(ms)

    def time_passes(self) -> None:
        """Pipelined mode: operators do what waits for no record."""
        for operator in self._operators.values():
            operator.time_passes()

    def finish(self) -> None:
        """The end of all inputs, told to the operators and then to the edges."""
        self.finish_operators()
        for edge in self.chain.outputs:
            self.writers[edge.number].end()

    def finish_operators(self) -> None:
        """The end of all inputs."""
        for node_id, operator in self._operators.items():
            self.times.enter(self._outputs[node_id].counts.uid)
            operator.finish()
            self._outputs[node_id].flush()
            self.times.leave()

    def snapshot_functions(self) -> None:
        """Functions that save state of their own do so."""
        for operator in self._operators.values():
            operator.snapshot_function()

    @property
    def has_checkpointed_functions(self) -> bool:
        """Whether functions have taken up state of their own."""
        return any(operator.has_checkpointed_function for operator in self._operators.values())

    def union_lists(self) -> dict[str, str]:
        """What functions have in union lists; valid after `snapshot_functions`."""
        return {key: text for operator in self._operators.values() for key, text in operator.union_lists().items()}

    def end_epoch(self) -> None:
        """Operators write their state, edges pack what is pending."""
        for node_id, operator in self._operators.items():
            self.times.enter(self._outputs[node_id].counts.uid)
            operator.end_epoch()
            self.times.leave()
        self.flush_writers()

    def clean_up_before_snapshot(self) -> None:
        """Operators remove what has expired from the store."""
        for operator in self._operators.values():
            operator.clean_up_before_snapshot()

    def flush_writers(self) -> None:
        """Packs what is pending on the edges."""
        for writer in self.writers.values():
            writer.flush()

    def drop_caches(self) -> None:
        """Forgets what was read from the store."""
        self._outputs[self.chain.head.id].forget()
        if self._key_store is not None:
            self._key_store.discard_changes()
        for operator in self._operators.values():
            operator.drop_caches()

    def close(self) -> None:
        """The end of the job."""
        for operator in self._operators.values():
            operator.close()
        for edge in self.chain.outputs:
            close_function(edge.exchange.key_selector)
            close_function(edge.exchange.partitioner)

    def next_processing_timer(self) -> int | None:
        """When the earliest timer of the chain is due."""
        times = [operator.next_processing_timer() for operator in self._operators.values()]
        return min((time for time in times if time is not None), default=None)

    def idle_generators(self) -> Iterator[str]:
        """The uids of operators that make watermarks and are idle."""
        for node_id, operator in self._operators.items():
            if isinstance(operator, TimestampsAndWatermarksOperator) and operator.is_idle:
                yield self.contexts[node_id].uid

    def tokens(self) -> Iterator[tuple[str, list[object]]]:
        """What the chain's sinks staged in this epoch, by uid."""
        for node_id, operator in self._operators.items():
            if isinstance(operator, SinkWriterOperator):
                tokens = operator.tokens()
                if tokens:
                    yield self.contexts[node_id].uid, list(tokens)

    def counts(self) -> Iterator[tuple[str, OperatorCounts]]:
        """What each operator counted, by uid."""
        for node in self.chain.nodes:
            yield node.uid, self._outputs[node.id].counts
