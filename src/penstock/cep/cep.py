"""`CEP`: where patterns and streams meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.cep.pattern import Pattern
from penstock.cep.pattern_data import PatternUpdates
from penstock.cep.pattern_stream import PatternStream
from penstock.common.errors import ArgumentError, PlanError
from penstock.datastream.arguments import check_instance, refuse, refuse_argument
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.keyed_stream import KeyedStream
from penstock.patterns import PatternDefinition
from penstock.runtime.cep.condition_tests import check_conditions


class CEP:
    """Looks for patterns in streams.

    >>> pattern = Pattern.begin("one").where(lambda n: n == 1).followed_by("three").where(lambda n: n == 3)
    >>> numbers = env.from_collection([1, 2, 3, 1, 3])
    >>> found = CEP.pattern(numbers, pattern).in_processing_time().select(lambda match: match["one"] + match["three"])
    >>> list(found.execute_and_collect())
    [[1, 3], [1, 3]]
    """

    @staticmethod
    def pattern(
        stream: DataStream, pattern: Pattern, comparator: Callable[[Any, Any], int] | None = None
    ) -> PatternStream:
        """Looks for a pattern in the events of each key; in a stream without keys, in all of them, in one subtask.

        `comparator(a, b)` gives the order of events of the same time: negative, zero or positive.
        """
        check_instance("pattern", "stream", stream, (DataStream,), "a stream")
        check_instance("pattern", "pattern", pattern, (Pattern,), "a Pattern")
        if comparator is not None and not callable(comparator):
            raise refuse_argument("pattern", "comparator", comparator, "a function of two events, or None")
        definition = pattern.definition()
        _check(definition, stream)
        return PatternStream(stream, definition, comparator)

    @staticmethod
    def changing_patterns(
        stream: DataStream, updates: DataStream, comparator: Callable[[Any, Any], int] | None = None
    ) -> PatternStream:
        """Looks for patterns that come by another stream, as data, and change while the job runs.

        A record of `updates` is `{"id": ..., "pattern": ...}` (a dict, or JSON text): it adds the pattern, or puts it
        in the place of the one with that id; without a pattern it takes that one away. `ctx.pattern_id()` says which
        pattern a match is of.
        """
        check_instance("changing_patterns", "stream", stream, (DataStream,), "a stream")
        check_instance("changing_patterns", "updates", updates, (DataStream,), "a stream of patterns")
        if comparator is not None and not callable(comparator):
            raise refuse_argument("changing_patterns", "comparator", comparator, "a function of two events, or None")
        plain = updates.origin if isinstance(updates, KeyedStream) else updates
        parse_update = PatternUpdates(stream.get_type())
        return PatternStream(stream, parse_update, comparator, plain.broadcast().upstreams)


def _check(definition: PatternDefinition, stream: DataStream) -> None:
    try:
        check_conditions(definition.conditions(), stream.get_type())
    except ArgumentError:
        raise
    except PlanError as error:
        raise refuse(f"pattern: {error}") from None
