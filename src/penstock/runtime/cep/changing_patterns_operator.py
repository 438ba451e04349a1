"""The operator behind `CEP.changing_patterns`: patterns come and go while the job runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.common.batch import Batch, RecordCodec
from penstock.functions.adapt import close_function
from penstock.patterns import CepSettings, PatternDefinition, PatternProcessFunction, PatternUpdate
from penstock.runtime.cep.cep_operator import CepOperator, condition_functions
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import OperatorContext
from penstock.state.broadcast import BroadcastStateBackend
from penstock.state.descriptors import MapStateDescriptor

_BROADCAST_INPUT = 1
_PATTERNS = MapStateDescriptor("cep: patterns")
_NEXT_VERSION = ""
"""No pattern has this id: the number that the next change gets."""


class ChangingPatternsOperator(CepOperator):
    """Looks for all patterns that the broadcast stream (input 1) has named last, each on its own.

    A pattern that is changed begins anew: its partial matches are given up. Events that wait for event time are
    looked at with the patterns that are there when it reaches them.
    """

    def __init__(
        self,
        function: PatternProcessFunction[Any, Any],
        parse_update: Callable[[Any], PatternUpdate],
        settings: CepSettings,
        output_codec: RecordCodec,
        side_output_codecs: Mapping[str, RecordCodec] | None = None,
    ) -> None:
        super().__init__(function, None, settings, output_codec, side_output_codecs)
        self._parse_update = parse_update
        self._definitions: dict[str, PatternDefinition] = {}

    def open(self, context: OperatorContext) -> None:
        """Opens the user function, and takes up the patterns that there are."""
        self._broadcast_state = BroadcastStateBackend(context.store, context.uid)
        super().open(context)
        self._updates = self._broadcast_state.get_broadcast_state(_PATTERNS)
        self._read_patterns()

    def process(self, batch: Batch, input_index: int) -> None:
        """Takes events in, or changes of patterns."""
        if input_index != _BROADCAST_INPUT:
            super().process(batch, input_index)
            return
        self._state.current_key = None
        for record in batch.values:
            try:
                self._change(record)
            except Exception as error:
                raise user_function_error(error, self._context, record=record) from error

    def end_epoch(self) -> None:
        """Writes state, patterns and timers to the store."""
        super().end_epoch()
        self._flush(self._broadcast_state)

    def drop_caches(self) -> None:
        """Forgets everything that was read from the store."""
        super().drop_caches()
        self._broadcast_state.drop_caches()
        self._read_patterns()

    def forget_key(self) -> None:
        """Forgets the state of the current key; patterns are no key's."""
        super().drop_caches()

    def _change(self, record: Any) -> None:
        update = self._parse_update(record)
        known = self._updates.get(update.id)
        if update.definition is not None and known is not None and known[1] == record:
            return
        self._put_by()  # what waits was tested for the patterns as they were
        for pattern in self._patterns:
            if pattern.id == update.id:
                pattern.store.forget_all()
                self._close_conditions(update.id)
        self._patterns = [pattern for pattern in self._patterns if pattern.id != update.id]
        if update.definition is None:
            self._updates.remove(update.id)
        else:
            version = self._updates.get(_NEXT_VERSION) or 0
            self._updates.put(_NEXT_VERSION, version + 1)
            self._updates.put(update.id, (version, record))
            self._add(update, version)
        self._generation += 1

    def _add(self, update: PatternUpdate, version: int) -> None:
        assert update.definition is not None
        self._definitions[update.id] = update.definition
        # A name of its own for each version: what an earlier one left behind is not taken for this one's.
        self._patterns.append(self._running(update.id, update.definition, f"cep: matches of {update.id} {version}"))

    def _read_patterns(self) -> None:
        for known in list(self._definitions):
            self._close_conditions(known)
        self._patterns = []
        for version, record in sorted(self._stored(), key=lambda each: each[0]):
            self._add(self._parse_update(record), version)
        self._generation += 1

    def _stored(self) -> Iterator[tuple[int, Any]]:
        return (stored for key, stored in self._updates.items() if key != _NEXT_VERSION)

    def _close_conditions(self, pattern_id: str) -> None:
        for function in condition_functions(self._definitions.pop(pattern_id)):
            close_function(function)

    def _condition_functions(self) -> Iterator[Any]:
        for definition in self._definitions.values():
            yield from condition_functions(definition)

    def _broadcast_state_of_function(self) -> BroadcastStateBackend:
        return self._broadcast_state
