"""A stream and the pattern that is looked for in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from penstock.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    SelectAdapter,
    TimeoutSelectAdapter,
)
from penstock.common import options
from penstock.common.config_options import positive
from penstock.datastream.arguments import check_function, check_instance, refuse, refuse_argument
from penstock.datastream.output_types import ResultMethod, TypeHint, output_type_of
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.transformation import Upstream
from penstock.functions import NullByteKeySelector, OutputTag
from penstock.patterns import CepSettings, Comparator, PatternDefinition, PatternProcessFunction, PatternUpdate
from penstock.plan.cep_node import CepNode, ChangingPatternsNode

_PROCESS_MATCH = (ResultMethod("process_match", True),)
_SELECT = (ResultMethod("select", False),)
_FLAT_SELECT = (ResultMethod("flat_select", True),)


class PatternStream:
    """What `CEP.pattern` returns: says how matches are looked for, and what is made of them."""

    _name: ClassVar[str] = "CepOperator"

    def __init__(
        self,
        stream: DataStream,
        patterns: PatternDefinition | Callable[[Any], PatternUpdate],
        comparator: Comparator | None = None,
        updates: tuple[Upstream, ...] = (),
    ) -> None:
        self._stream = stream
        self._patterns = patterns
        """The pattern, or what reads patterns from records of `updates`."""
        self._updates = updates
        limit = stream.get_execution_environment().configuration.get(options.CEP_MAX_PARTIAL_MATCHES)
        self._settings = CepSettings(stream.get_type(), comparator=comparator, limit=limit)

    def in_event_time(self) -> PatternStream:
        """Events are looked at in the order of their timestamps, when the watermark has passed them; the default."""
        return self._with(is_event_time=True)

    def in_processing_time(self) -> PatternStream:
        """Events are looked at as they come, and time limits go by the clock."""
        return self._with(is_event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Sends events that come behind the watermark to a side output: `get_side_output(tag)` reads it.

        Without it, or where nobody reads it, such events are dropped, and counted as `num_late_records_dropped`.
        """
        check_instance(
            "side_output_late_data", "late_data_output_tag", late_data_output_tag, (OutputTag,), "an OutputTag"
        )
        return self._with(late_data_tag=late_data_output_tag)

    def side_output_near_misses(self, output_tag: OutputTag) -> PatternStream:
        """Sends a `NearMiss` to a side output for each partial match that comes to nothing: how far it came, and why.

        It is meant for finding out why a pattern does not match; it makes the search slower. The tag has no type.
        """
        check_instance("side_output_near_misses", "output_tag", output_tag, (OutputTag,), "an OutputTag")
        if not output_tag.type_info.is_pickled:
            raise refuse(
                f"side_output_near_misses: the tag '{output_tag.tag_id}' has the type {output_tag.type_info!r}, and "
                "near misses are Python objects; leave the type out"
            )
        return self._with(near_misses_tag=output_tag)

    def max_partial_matches(self, count: int) -> PatternStream:
        """How many partial matches a key may have before the job fails; else the option `cep.max-partial-matches`."""
        try:
            limit = positive(int)(count)
        except (TypeError, ValueError):
            raise refuse_argument("max_partial_matches", "count", count, "a number from 1") from None
        return self._with(limit=limit)

    def process(
        self, pattern_process_function: PatternProcessFunction[Any, Any], output_type: TypeHint = None
    ) -> DataStream:
        """Hands each match to a `PatternProcessFunction`, which may emit any number of records and side outputs."""
        check_instance(
            "process",
            "pattern_process_function",
            pattern_process_function,
            (PatternProcessFunction,),
            "a PatternProcessFunction",
        )
        resolved = output_type_of("process", pattern_process_function, output_type, _PROCESS_MATCH)
        return self._transformed(pattern_process_function, resolved)

    def select(
        self,
        select_function: PatternSelectFunction[Any, Any] | Callable[[Any], Any],
        output_type: TypeHint = None,
        *,
        timed_out_tag: OutputTag | None = None,
        timeout_function: PatternTimeoutFunction[Any, Any] | Callable[[Any, int], Any] | None = None,
    ) -> DataStream:
        """One result of each match; those of partial matches whose time ran out go to `timed_out_tag`."""
        expected = "a function of a match, or a PatternSelectFunction"
        check_function("select", select_function, PatternSelectFunction, expected)
        call = select_function.select if isinstance(select_function, PatternSelectFunction) else select_function
        resolved = output_type_of("select", select_function, output_type, _SELECT)
        classes = PatternTimeoutFunction, False
        return self._selected("select", select_function, call, timed_out_tag, timeout_function, classes, resolved)

    def flat_select(
        self,
        flat_select_function: PatternFlatSelectFunction[Any, Any] | Callable[[Any], Any],
        output_type: TypeHint = None,
        *,
        timed_out_tag: OutputTag | None = None,
        timeout_function: PatternFlatTimeoutFunction[Any, Any] | Callable[[Any, int], Any] | None = None,
    ) -> DataStream:
        """Any number of results of each match; those of partial matches whose time ran out go to `timed_out_tag`."""
        expected = "a function of a match, or a PatternFlatSelectFunction"
        check_function("flat_select", flat_select_function, PatternFlatSelectFunction, expected)
        call = (
            flat_select_function.flat_select
            if isinstance(flat_select_function, PatternFlatSelectFunction)
            else flat_select_function
        )
        resolved = output_type_of("flat_select", flat_select_function, output_type, _FLAT_SELECT)
        classes = PatternFlatTimeoutFunction, True
        return self._selected(
            "flat_select", flat_select_function, call, timed_out_tag, timeout_function, classes, resolved
        )

    def _selected(
        self,
        method: str,
        given: Any,
        call: Callable[[Any], Any],
        tag: OutputTag | None,
        timeout_given: Any,
        timeout_class: tuple[type[Any], bool],
        resolved: Any,
    ) -> DataStream:
        function_class, is_flat = timeout_class
        if (tag is None) != (timeout_given is None):
            raise refuse(f"{method}: `timed_out_tag` and `timeout_function` belong together; give both or none")
        if tag is None:
            return self._transformed(SelectAdapter(given, call, is_flat=is_flat), resolved)
        check_instance(method, "timed_out_tag", tag, (OutputTag,), "an OutputTag")
        check_function(
            method, timeout_given, function_class, f"a function of a match and a time, or a {function_class.__name__}"
        )
        timeout_call = timeout_given.timeout if isinstance(timeout_given, function_class) else timeout_given
        adapter = TimeoutSelectAdapter(given, call, timeout_given, timeout_call, tag, is_flat=is_flat)
        return self._transformed(adapter, resolved)

    def _transformed(self, function: PatternProcessFunction[Any, Any], resolved: Any) -> DataStream:
        is_keyed = self._stream.is_keyed
        stream = self._stream if is_keyed else self._stream.key_by(NullByteKeySelector())
        is_fixed = isinstance(self._patterns, PatternDefinition)
        patterns = {"pattern" if is_fixed else "parse_update": self._patterns}
        return stream.program.transform(
            CepNode if is_fixed else ChangingPatternsNode,
            self._name if is_keyed else f"Global{self._name}",
            (stream.upstreams,) if is_fixed else (stream.upstreams, self._updates),
            resolved.type_info,
            type_is_declared=resolved.is_declared,
            emits_side_outputs=True,
            parallelism_is_fixed=not is_keyed,
            function=function,
            settings=self._settings,
            **patterns,
        )

    def _with(self, **changes: Any) -> PatternStream:
        other = PatternStream.__new__(PatternStream)
        other.__dict__.update(self.__dict__)
        other._settings = dataclasses.replace(self._settings, **changes)
        return other
