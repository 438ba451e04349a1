"""A stream cut into windows, and what can be made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from penstock.common.time import DurationLike
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_instance, refuse, refuse_argument
from penstock.datastream.keys import FieldHint, field_of
from penstock.datastream.output_types import (
    ResolvedType,
    ResultMethod,
    TypeHint,
    output_type_of,
    reduced_type,
    type_from_hint,
    united_type,
)
from penstock.datastream.window_aggregates import declared_aggregation
from penstock.expressions.aggregates import Aggregate
from penstock.functions import (
    AggregateFunction,
    AllWindowFunction,
    Function,
    NullByteKeySelector,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction
from penstock.plan.window_node import WindowNode
from penstock.windows import Evictor, MergingWindowAssigner, Trigger, WindowAssigner, WindowDefinition
from penstock.windows.checks import lateness_millis
from penstock.windows.declared_aggregation import AllResultRows, RecordAggregation, ResultRows

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.streams.data_stream import DataStream
    from penstock.datastream.streams.keyed_stream import KeyedStream

_APPLY = (ResultMethod("apply", True),)
_PROCESS = (ResultMethod("process", True),)
_GET_RESULT = (ResultMethod("get_result", False),)


class _Windows:
    """What windows with and without keys have in common."""

    apply_class: ClassVar[type[Function]]
    process_class: ClassVar[type[Function]]
    _is_one_subtask: ClassVar[bool] = False

    def __init__(self, method: str, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        check_instance(method, "window_assigner", window_assigner, (WindowAssigner,), "a WindowAssigner")
        self._keyed_stream = keyed_stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] = window_assigner.get_default_trigger(self.get_execution_environment())
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness = 0
        self._late_data_tag: OutputTag | None = None

    def __repr__(self) -> str:
        stream = self._keyed_stream.origin if self._is_one_subtask else self._keyed_stream
        return f"<{type(self).__name__} of {stream!r} in {self._assigner!r}>"

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the records in the windows."""
        return self._keyed_stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Says when windows fire, instead of the assigner's own trigger."""
        check_instance("trigger", "trigger", trigger, (Trigger,), "a Trigger")
        self._check_merging(trigger)
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Takes records out of windows that fire. All records are kept until then, whatever is made of them."""
        check_instance("evictor", "evictor", evictor, (Evictor,), "an Evictor")
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: DurationLike) -> Self:
        """Keeps event-time windows for so long after the watermark has passed their end.

        A late record that comes within this time makes its window fire again. Windows of processing time know no
        late records.
        """
        self._allowed_lateness = lateness_millis("allowed_lateness", "time_ms", time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Sends records whose windows are gone to a side output: `get_side_output(tag)` of the result reads it.

        Without it, or where nobody reads it, such records are dropped, and counted as `num_late_records_dropped`.
        """
        check_instance("side_output_late_data", "output_tag", output_tag, (OutputTag,), "an OutputTag")
        self._late_data_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None,
        output_type: TypeHint = None,
    ) -> DataStream:
        """Combines the records of a window as they come; a window function gets the one value that is left.

        A function that adds up fields, or takes the least, greatest, first or last of them, is recognised, and computed
        for many records at once.
        """
        check_function("reduce", reduce_function, ReduceFunction, "a function of two records or a ReduceFunction")
        self._check_plain("reduce", reduce_function)
        is_ours = isinstance(reduce_function, FieldReduceFunction)
        reduced = (united_type if is_ours else reduced_type)("reduce", self._keyed_stream.upstreams)
        if window_function is not None:
            resolved = self._window_function_type("reduce", window_function, output_type)
        elif output_type is not None:
            resolved = ResolvedType(type_from_hint("reduce", "output_type", output_type), True)
        else:
            resolved = reduced
        return self._windowed(
            resolved,
            reduce_function=reduce_function,
            window_function=window_function,
            element_type=reduced.type_info,
        )

    def aggregate(
        self,
        aggregate_function: AggregateFunction | None = None,
        window_function: Any = None,
        accumulator_type: TypeHint = None,
        output_type: TypeHint = None,
        **aggregates: Aggregate,
    ) -> DataStream:
        """Adds the records of a window to an accumulator as they come; a window function gets its one result.

        Instead of a function, name the aggregates: `aggregate(total=sum_("price"), n=count(), end=window_end())`. The
        results are rows of the key and these fields. Windows of event time are then computed for many records at once,
        without a call of Python for any, unless they have an evictor, lateness, a trigger of yours, or a gap that
        depends on the record. So is an `AggregateFunction` that does nothing but add up integers.
        """
        if aggregates:
            return self._aggregate_by_name(aggregate_function or window_function, aggregates)
        check_instance(
            "aggregate", "aggregate_function", aggregate_function, (AggregateFunction,), "an AggregateFunction"
        )
        self._check_plain("aggregate", aggregate_function)
        if window_function is not None:
            resolved = self._window_function_type("aggregate", window_function, output_type)
        else:
            resolved = output_type_of("aggregate", aggregate_function, output_type, _GET_RESULT)
        return self._windowed(
            resolved,
            aggregate_function=aggregate_function,
            window_function=window_function,
            accumulator_type=None
            if accumulator_type is None
            else type_from_hint("aggregate", "accumulator_type", accumulator_type),
        )

    def _aggregate_by_name(self, function: Any, aggregates: Mapping[str, Aggregate]) -> DataStream:
        if function is not None:
            raise refuse("aggregate: takes a function, or aggregates by name, not both")
        aggregation = declared_aggregation(
            self._keyed_stream, self._assigner, aggregates, has_key=not self._is_one_subtask
        )
        rows = ResultRows(aggregation)
        return self._windowed(
            ResolvedType(aggregation.result_type, True),
            aggregate_function=RecordAggregation(aggregation),
            window_function=rows if self.apply_class is WindowFunction else AllResultRows(rows),
            aggregation=aggregation,
        )

    def _apply(self, window_function: Any, output_type: TypeHint) -> DataStream:
        expected = f"a {self.apply_class.__name__}"
        check_instance("apply", "window_function", window_function, (self.apply_class,), expected)
        resolved = output_type_of("apply", window_function, output_type, _APPLY)
        return self._windowed(resolved, window_function=window_function)

    def _process(self, process_window_function: Any, output_type: TypeHint) -> DataStream:
        expected = f"a {self.process_class.__name__}"
        check_instance("process", "process_window_function", process_window_function, (self.process_class,), expected)
        resolved = output_type_of("process", process_window_function, output_type, _PROCESS)
        return self._windowed(resolved, window_function=process_window_function)

    def sum(self, position_to_sum: FieldHint = 0) -> DataStream:
        """The sum of a field; other fields are those of the window's first record."""
        return self._aggregate_field("sum", FieldAggregation.SUM, position_to_sum)

    def min(self, position_to_min: FieldHint = 0) -> DataStream:
        """The least value of a field; other fields are those of the window's first record."""
        return self._aggregate_field("min", FieldAggregation.MIN, position_to_min)

    def max(self, position_to_max: FieldHint = 0) -> DataStream:
        """The greatest value of a field; other fields are those of the window's first record."""
        return self._aggregate_field("max", FieldAggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: FieldHint = 0) -> DataStream:
        """The record with the least value of a field; the first of equals."""
        return self._aggregate_field("min_by", FieldAggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: FieldHint = 0) -> DataStream:
        """The record with the greatest value of a field; the first of equals."""
        return self._aggregate_field("max_by", FieldAggregation.MAX_BY, position_to_max_by)

    def _aggregate_field(self, method: str, aggregation: FieldAggregation, position: FieldHint) -> DataStream:
        return self.reduce(FieldReduceFunction(aggregation, field_of(method, position, self.get_input_type())))

    def _window_function_type(self, method: str, function: Any, output_type: TypeHint) -> ResolvedType:
        classes = (self.apply_class, self.process_class)
        expected = f"a {self.apply_class.__name__} or a {self.process_class.__name__}"
        check_instance(method, "window_function", function, classes, expected)
        results = _APPLY if isinstance(function, self.apply_class) else _PROCESS
        return output_type_of(method, function, output_type, results)

    def _check_merging(self, trigger: Trigger[Any, Any]) -> None:
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise refuse(
                f"trigger: {trigger!r} does not support windows that merge, and those of {self._assigner!r} do; "
                "expected a trigger whose `can_merge()` is True"
            )

    @staticmethod
    def _check_plain(method: str, function: Any) -> None:
        """Flink's rule: what combines records as they come has no life of its own."""
        if isinstance(function, Function) and (
            type(function).open is not Function.open or type(function).close is not Function.close
        ):
            raise refuse_argument(
                method,
                f"{method}_function",
                function,
                "a function without `open` and `close`: it is not opened in windows. Do what needs them in a window "
                f"function: `{method}(..., window_function=...)`",
            )

    def _windowed(self, resolved: ResolvedType, **functions: Any) -> DataStream:
        self._check_merging(self._trigger)
        contents: dict[str, Any] = {"element_type": self.get_input_type(), **functions}
        definition = WindowDefinition(
            assigner=self._assigner,
            trigger=self._trigger,
            evictor=self._evictor,
            allowed_lateness=self._allowed_lateness,
            late_data_tag=self._late_data_tag,
            **contents,
        )
        has_side_outputs = self._late_data_tag is not None or functions.get("window_function") is not None
        stream = self._keyed_stream.program.transform(
            WindowNode,
            type(self._assigner).__name__,
            (self._keyed_stream.upstreams,),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=has_side_outputs,
            parallelism_is_fixed=self._is_one_subtask,
            window=definition,
        )
        return stream.set_description(str(definition))


class WindowedStream(_Windows):
    """The windows of each key of a stream. Made by `KeyedStream.window` and `.count_window`."""

    apply_class = WindowFunction
    process_class = ProcessWindowFunction

    def apply(self, window_function: WindowFunction[Any, Any, Any, Any], output_type: TypeHint = None) -> DataStream:
        """Calls a `WindowFunction` with all records of a window that fires."""
        return self._apply(window_function, output_type)

    def process(
        self, process_window_function: ProcessWindowFunction[Any, Any, Any, Any], output_type: TypeHint = None
    ) -> DataStream:
        """Calls a `ProcessWindowFunction` with all records of a window that fires, and a context."""
        return self._process(process_window_function, output_type)


class AllWindowedStream(_Windows):
    """The windows of a whole stream, in one subtask. Made by `DataStream.window_all` and `.count_window_all`."""

    apply_class = AllWindowFunction
    process_class = ProcessAllWindowFunction
    _is_one_subtask = True

    def __init__(self, method: str, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(method, data_stream.key_by(NullByteKeySelector()), window_assigner)

    def apply(self, window_function: AllWindowFunction[Any, Any, Any], output_type: TypeHint = None) -> DataStream:
        """Calls an `AllWindowFunction` with all records of a window that fires."""
        return self._apply(window_function, output_type)

    def process(
        self, process_window_function: ProcessAllWindowFunction[Any, Any, Any], output_type: TypeHint = None
    ) -> DataStream:
        """Calls a `ProcessAllWindowFunction` with all records of a window that fires, and a context."""
        return self._process(process_window_function, output_type)
