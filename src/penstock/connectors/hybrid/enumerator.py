"""Asks one source after the other what to read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from penstock.common.typeinfo import TypeInformation
from penstock.connectors.hybrid.members import MadeSource, Member, PrefixedState, SourceSwitchContext
from penstock.connectors.source import EnumeratorContext, EpochBudget, Json, Source, SplitEnumerator, SplitRead
from penstock.functions.output_tag import OutputTag

_CURRENT = "current"


class HybridEnumerator(SplitEnumerator):
    """State: the number of the source that is read, and under `<number>/` what its enumerator remembers.

    What the earlier ones remembered stays: with it a source that was made at a switch can be made again.
    """

    def __init__(
        self,
        members: Sequence[Member],
        directory: str,
        record_type: TypeInformation,
        tag: OutputTag | None,
        context: EnumeratorContext,
    ) -> None:
        self._members = members
        self._directory = directory
        self._type = record_type
        self._tag = tag
        self._context = context
        self._unread: set[str] = set()
        """Splits whose reads are under way."""
        self._held_back: frozenset[str] = frozenset()
        self._number: int = context.state.get(_CURRENT, 0)
        self._enumerator = self._enumerator_of(self._number, self._source(self._number))

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:  # noqa: D102
        while True:
            reads = self._enumerator.poll(now, budget)
            if reads or not self._may_switch():
                break
            self._switch()
        self._unread.update(self._name(read.split_id) for read in reads)
        return [
            replace(
                read,
                split_id=self._name(read.split_id),
                descriptor={"source": self._number, "of": dict(read.descriptor)},
            )
            for read in reads
        ]

    def is_exhausted(self) -> bool:  # noqa: D102
        return self._is_last() and self._enumerator.is_exhausted()

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:  # noqa: D102
        self._unread.discard(split_id)
        number, _, split = split_id.partition("/")
        # In batch execution all sources are read in one epoch, and the last one's enumerator is what is left.
        if int(number) == self._number:
            self._enumerator.advanced(split, position, finished)

    def live_splits(self) -> Collection[str]:  # noqa: D102
        return [self._name(split) for split in self._enumerator.live_splits()]

    def hold_back(self, split_ids: Collection[str]) -> None:  # noqa: D102
        self._held_back = frozenset(split_ids)
        self._tell_held_back()

    def lag(self) -> int | None:  # noqa: D102
        return self._enumerator.lag() if self._is_last() else None

    def next_poll(self, now: int) -> int:  # noqa: D102
        return now + 1 if self._may_switch() else self._enumerator.next_poll(now)

    def close(self) -> None:  # noqa: D102
        self._enumerator.close()

    def _name(self, split_id: str) -> str:
        return f"{self._number}/{split_id}"

    def _is_last(self) -> bool:
        return self._number == len(self._members) - 1

    def _may_switch(self) -> bool:
        """Not before all is committed that the source has handed out; batch execution reads everything at once."""
        return not self._is_last() and self._enumerator.is_exhausted() and (self._context.bounded or not self._unread)

    def _switch(self) -> None:
        previous, state = self._enumerator, dict(self._state_of(self._number))
        self._number += 1
        self._context.state[_CURRENT] = self._number
        member = self._members[self._number]
        source = member.source or self._made_by(member, SourceSwitchContext(previous, state))
        previous.close()
        self._enumerator = self._enumerator_of(self._number, source)
        self._tell_held_back()

    def _tell_held_back(self) -> None:
        own = f"{self._number}/"
        self._enumerator.hold_back([split.removeprefix(own) for split in self._held_back if split.startswith(own)])

    def _source(self, number: int) -> Source:
        """The source of a number that was reached before."""
        member = self._members[number]
        if member.source is not None:
            return member.source
        made = MadeSource(self._directory, number).load()
        if made is not None:
            return made
        # The state has come from elsewhere: a savepoint has no files of sources.
        previous = self._enumerator_of(number - 1, self._source(number - 1))
        try:
            return self._made_by(member, SourceSwitchContext(previous, dict(self._state_of(number - 1))), number)
        finally:
            previous.close()

    def _made_by(self, member: Member, context: SourceSwitchContext, number: int | None = None) -> Source:
        assert member.factory is not None
        place = MadeSource(self._directory, self._number if number is None else number)
        return place.make(member.factory, context, self._type, self._tag)

    def _enumerator_of(self, number: int, source: Source) -> SplitEnumerator:
        return source.create_enumerator(replace(self._context, state=self._state_of(number)))

    def _state_of(self, number: int) -> PrefixedState:
        return PrefixedState(self._context.state, f"{number}/")
