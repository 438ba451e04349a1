"""What happens to other partial matches when a match is found."""

from __future__ import annotations

from dataclasses import dataclass, replace


class AfterMatchSkipStrategy:
    """Says which partial matches are given up when a match is found.

    >>> AfterMatchSkipStrategy.skip_to_last("rise").throw_exception_on_miss()
    skip_to_last('rise').throw_exception_on_miss()
    """

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """None: every possible match is found."""
        return NoSkip()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Those that began with the same event."""
        return SkipToNext()

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Those that began with any event up to the last one of the match."""
        return SkipPastLastEvent()

    @staticmethod
    def skip_to_first(pattern_name: str) -> SkipToStep:
        """Those that began before the first event that the match has for the pattern."""
        return SkipToStep(pattern_name, is_first=True)

    @staticmethod
    def skip_to_last(pattern_name: str) -> SkipToStep:
        """Those that began before the last event that the match has for the pattern."""
        return SkipToStep(pattern_name, is_first=False)

    @property
    def is_skip_strategy(self) -> bool:
        """Whether anything is given up at all."""
        return True


@dataclass(frozen=True, repr=False)
class NoSkip(AfterMatchSkipStrategy):
    """Gives up nothing."""

    @property
    def is_skip_strategy(self) -> bool:  # noqa: D102
        return False

    def __repr__(self) -> str:
        return "no_skip()"


@dataclass(frozen=True, repr=False)
class SkipToNext(AfterMatchSkipStrategy):
    """Gives up what began with the same event."""

    def __repr__(self) -> str:
        return "skip_to_next()"


@dataclass(frozen=True, repr=False)
class SkipPastLastEvent(AfterMatchSkipStrategy):
    """Gives up what began before the end of the match."""

    def __repr__(self) -> str:
        return "skip_past_last_event()"


@dataclass(frozen=True, repr=False)
class SkipToStep(AfterMatchSkipStrategy):
    """Gives up what began before an event of the match."""

    name: str
    is_first: bool
    is_strict: bool = False
    """Whether a match without such an event, or where it is the first of all, is an error."""

    def throw_exception_on_miss(self) -> SkipToStep:
        """Fails the job for a match that has no such event, or begins with it: there would be nothing to skip to."""
        return replace(self, is_strict=True)

    def __repr__(self) -> str:
        text = f"skip_to_{'first' if self.is_first else 'last'}({self.name!r})"
        return f"{text}.throw_exception_on_miss()" if self.is_strict else text
