"""Two streams whose records meet in windows, step by step: `where`, `equal_to`, `window`, then a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from penstock.common.time import DurationLike
from penstock.datastream.arguments import check_instance, refuse
from penstock.datastream.join_adapters import CoGroupWindowFunction
from penstock.datastream.join_keys import exchanged, unified_keys
from penstock.datastream.keys import hash_exchange
from penstock.datastream.output_types import ResolvedType, TypeHint
from penstock.datastream.streams.connected_streams import KeyHint
from penstock.functions import JoinKind, OutputTag
from penstock.plan.join_nodes import CoGroupNode
from penstock.plan.nodes import Exchange
from penstock.windows import Evictor, MergingWindowAssigner, Trigger, WindowAssigner, WindowDefinition
from penstock.windows.checks import lateness_millis

if TYPE_CHECKING:
    from penstock.datastream.streams.data_stream import DataStream

_LATER = frozenset(
    {
        *("where", "equal_to", "window", "trigger", "evictor", "allowed_lateness", "apply"),
        *("side_output_left_late_data", "side_output_right_late_data"),
    }
)


@dataclass(frozen=True)
class StreamPair:
    """Two streams of one environment, and the method that joins them."""

    method: str
    stream1: DataStream
    stream2: DataStream
    kind: JoinKind


class WindowedPair:
    """The windows in which records of two streams meet; what is left to say is what to do with them."""

    def __init__(
        self, pair: StreamPair, exchanges: tuple[Exchange, Exchange], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        check_instance("window", "assigner", window_assigner, (WindowAssigner,), "a WindowAssigner")
        self._pair = pair
        self._exchanges = exchanges
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] = window_assigner.get_default_trigger(pair.stream1.program.environment)
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness = 0
        self._late_data_tags: list[OutputTag | None] = [None, None]

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Says when windows fire, instead of the assigner's own trigger; its elements are `TaggedUnion`s."""
        check_instance("trigger", "trigger", trigger, (Trigger,), "a Trigger")
        self._trigger = trigger
        self._check_merging()
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Takes records out of windows that fire; its elements are `TaggedUnion`s."""
        check_instance("evictor", "evictor", evictor, (Evictor,), "an Evictor")
        self._evictor = evictor
        return self

    def allowed_lateness(self, lateness: DurationLike) -> Self:
        """Keeps event-time windows for so long after the watermark has passed their end.

        A late record that comes within this time makes its window fire again, with all records that are in it.
        """
        self._allowed_lateness = lateness_millis("allowed_lateness", "lateness", lateness)
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> Self:
        """Sends records of the first stream whose windows are gone to a side output, instead of dropping them."""
        return self._set_late_data_tag("side_output_left_late_data", 0, output_tag)

    def side_output_right_late_data(self, output_tag: OutputTag) -> Self:
        """Sends records of the second stream whose windows are gone to a side output, instead of dropping them."""
        return self._set_late_data_tag("side_output_right_late_data", 1, output_tag)

    def _set_late_data_tag(self, method: str, stream: int, output_tag: OutputTag) -> Self:
        check_instance(method, "output_tag", output_tag, (OutputTag,), "an OutputTag")
        self._late_data_tags[stream] = output_tag
        return self

    def _check_merging(self) -> None:
        if isinstance(self._assigner, MergingWindowAssigner) and not self._trigger.can_merge():
            raise refuse(
                f"trigger: {self._trigger!r} does not support windows that merge, and those of {self._assigner!r} do; "
                "expected a trigger whose `can_merge()` is True"
            )

    def _applied(
        self, name: str, function: Any, window_function: CoGroupWindowFunction, resolved: ResolvedType
    ) -> DataStream:
        self._check_merging()
        definition = WindowDefinition(
            assigner=self._assigner,
            trigger=self._trigger,
            evictor=self._evictor,
            allowed_lateness=self._allowed_lateness,
            window_function=window_function,
        )
        streams = self._pair.stream1, self._pair.stream2
        return self._pair.stream1.program.transform(
            CoGroupNode,
            name,
            tuple(exchanged(stream, exchange) for stream, exchange in zip(streams, self._exchanges, strict=True)),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=True,
            function=function,
            window=definition,
            late_data_tags=tuple(self._late_data_tags),
        ).set_description(f"{name} in {definition}")


W = TypeVar("W", bound=WindowedPair)


class JoinStep(Generic[W]):
    """What is called too early says what is missing."""

    _missing: str

    def __init__(self, pair: StreamPair, windowed: type[W]) -> None:
        self._pair = pair
        self._windowed = windowed

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in _LATER:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            method = self._pair.method
            raise refuse(
                f"{name}: the {method} has no `{self._missing}(...)` yet; write "
                f"`stream1.{method}(stream2).where(key1).equal_to(key2).window(assigner).apply(function)`"
            )


class EqualTo(JoinStep[W]):
    """The keys of both streams are known."""

    _missing = "window"

    def __init__(self, pair: StreamPair, windowed: type[W], exchanges: tuple[Exchange, Exchange]) -> None:
        super().__init__(pair, windowed)
        self._exchanges = exchanges

    def window(self, assigner: WindowAssigner[Any, Any]) -> W:
        """Says in which windows records meet."""
        return self._windowed(self._pair, self._exchanges, assigner)


class Where(JoinStep[W]):
    """The key of the first stream is known."""

    _missing = "equal_to"

    def __init__(self, pair: StreamPair, windowed: type[W], exchange: Exchange) -> None:
        super().__init__(pair, windowed)
        self._exchange = exchange

    def equal_to(self, key_selector: KeyHint, key_type: TypeHint = None) -> EqualTo[W]:
        """Says what the key of the second stream's records is; it must be of the same type."""
        second = hash_exchange("equal_to", key_selector, key_type, self._pair.stream2.get_type())
        return EqualTo(self._pair, self._windowed, unified_keys("equal_to", self._exchange, second))


class PairedStreams(JoinStep[W]):
    """Two streams without keys yet."""

    _missing = "where"

    def where(self, key_selector: KeyHint, key_type: TypeHint = None) -> Where[W]:
        """Says what the key of the first stream's records is: whatever `key_by` takes."""
        exchange = hash_exchange("where", key_selector, key_type, self._pair.stream1.get_type())
        return Where(self._pair, self._windowed, exchange)
