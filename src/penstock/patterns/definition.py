"""What a pattern is, when it is complete: frozen steps in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from penstock.common.errors import MalformedPatternError
from penstock.patterns.after_match import AfterMatchSkipStrategy, SkipToStep
from penstock.patterns.conditions import ALWAYS, Condition


class Contiguity(Enum):
    """How a step follows the one before it."""

    STRICT = "next"
    """The very next event."""
    RELAXED = "followed_by"
    """The next event that fits; others in between are passed over."""
    ANY = "followed_by_any"
    """Any later event that fits, also where an earlier one did."""
    NOT_NEXT = "not_next"
    NOT_FOLLOWED = "not_followed_by"

    @property
    def is_negative(self) -> bool:
        """Whether the step says what must not come."""
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED)


class WithinType(Enum):
    """Between which events a time limit is."""

    FIRST_AND_LAST = "first and last"
    """From the first event of a match to its last."""
    PREVIOUS_AND_CURRENT = "previous and current"
    """From the event before to the one of this step."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One part of a pattern: an event, events of one kind, or a group of steps."""

    name: str
    contiguity: Contiguity
    condition: Condition = field(default=ALWAYS, compare=False)
    until: Condition | None = field(default=None, compare=False)
    """What ends a loop."""
    members: tuple[Step, ...] = ()
    """The steps of a group; empty for a step of its own."""
    is_repeated: bool = False
    """Whether it was said how often events come: `times`, `one_or_more`, ..."""
    is_loop: bool = False
    """No upper limit."""
    least: int = 1
    most: int = 1
    """Of a loop, the same as `least`."""
    is_optional: bool = False
    is_greedy: bool = False
    inner_contiguity: Contiguity = Contiguity.RELAXED
    """How the events of a repeated step follow each other."""
    gap: int | None = None
    """Repeated events are less than so many ms apart."""
    within: int | None = None
    """The whole match takes less than so many ms."""
    within_previous: int | None = None
    """The event comes less than so many ms after the one before."""

    @property
    def is_group(self) -> bool:
        """Whether it is a group of steps."""
        return bool(self.members)

    def walk(self) -> Iterator[Step]:
        """The step, and those inside it."""
        yield self
        for member in self.members:
            yield from member.walk()


@dataclass(frozen=True, kw_only=True)
class PatternDefinition:
    """A whole pattern. Raises `MalformedPatternError` where the steps do not make one."""

    steps: tuple[Step, ...]
    skip: AfterMatchSkipStrategy

    def __post_init__(self) -> None:
        self._check_names()
        self._check_times()
        self._check_loops()

    @property
    def within(self) -> int:
        """The least of the time limits of the whole match, in ms; 0: none."""
        limits = [step.within for step in self.walk() if step.within is not None]
        return min(limits, default=0)

    @property
    def names(self) -> list[str]:
        """The names of the steps that events are found for, in their order."""
        return [step.name for step in self.walk() if not step.is_group and not step.contiguity.is_negative]

    def walk(self) -> Iterator[Step]:
        """All steps, those in groups too."""
        for step in self.steps:
            yield from step.walk()

    def conditions(self) -> Iterator[Condition]:
        """All conditions that were given."""
        for step in self.walk():
            yield step.condition
            if step.until is not None:
                yield step.until

    def _check_names(self) -> None:
        seen: set[str] = set()
        for step in self.walk():
            if step.is_group:
                continue
            if step.name in seen:
                raise MalformedPatternError(
                    f"two patterns have the name '{step.name}'; names say which events of a match are whose, so each "
                    "must be another"
                )
            seen.add(step.name)
        if isinstance(self.skip, SkipToStep) and self.skip.name not in self.names:
            raise MalformedPatternError(
                f"{self.skip} names a pattern that is not there; there are {', '.join(map(repr, self.names))}"
            )

    def _check_times(self) -> None:
        last, within = self.steps[-1], self.within
        if last.contiguity is Contiguity.NOT_FOLLOWED and not within and not last.within_previous:
            raise MalformedPatternError(
                f"the pattern ends with not_followed_by('{last.name}') and has no time limit, so that it could never "
                "be said that the event did not come; add `.within(...)`"
            )
        for step in self.walk():
            for limit in (step.within_previous, step.gap):
                if limit is not None and within and limit > within:
                    raise MalformedPatternError(
                        f"'{step.name}' may come {limit} ms after the event before it, which is more than the {within} "
                        "ms that the whole match may take"
                    )

    def _check_loops(self) -> None:
        for step in self.walk():
            if step.is_loop and step.is_group and all(map(_may_be_empty, step.members)):
                raise MalformedPatternError(
                    f"the group with '{step.members[0].name}' is repeated any number of times, and all its patterns "
                    "are optional, so that it could be repeated without an event; make one of them not optional"
                )


def _may_be_empty(step: Step) -> bool:
    return step.is_optional or step.contiguity.is_negative or (step.is_group and all(map(_may_be_empty, step.members)))
