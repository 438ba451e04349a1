"""Patterns, as a program writes them: one step after the other."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from penstock.cep.drawing import draw_svg, draw_text
from penstock.cep.refusals import malformed
from penstock.common.errors import MalformedPatternError
from penstock.common.time import DurationLike
from penstock.datastream.arguments import check_instance, check_text, refuse_argument
from penstock.patterns import (
    AfterMatchSkipStrategy,
    Condition,
    ConditionLike,
    Contiguity,
    Either,
    OfType,
    PatternDefinition,
    Step,
    WithinType,
    both,
    condition_of,
)
from penstock.runtime.cep.compiler import compile_pattern
from penstock.windows.checks import lateness_millis

_CONDITION = "a function of the event, or of the event and a context, a condition object, or an expression"
_GROUP = "the group of patterns"
_FORMS = {"text": draw_text, "svg": draw_svg}


class Pattern:
    """A pattern of events, step by step. Begin with `Pattern.begin`; methods change the step and return it.

    >>> from penstock.expressions import col
    >>> pattern = (
    ...     Pattern.begin("small").where(col("amount") < 1.0)
    ...     .next("large").where(col("amount") > 500.0)
    ...     .within("1 min")
    ... )
    >>> pattern.get_name()
    'large'
    """

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        contiguity: Contiguity,
        skip: AfterMatchSkipStrategy,
        group: Pattern | None = None,
    ) -> None:
        self._name = name
        self._previous = previous
        self._contiguity = contiguity
        self._skip = skip
        self._group = group
        self._condition: Condition | None = None
        self._until: Condition | None = None
        self._is_repeated = False
        self._is_loop = False
        self._is_optional = False
        self._is_greedy = False
        self._least, self._most = 1, 1
        self._inner = Contiguity.RELAXED
        self._gap: int | None = None
        self._within: int | None = None
        self._within_previous: int | None = None

    @staticmethod
    def begin(name: str | Pattern, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
        """The first step: a name, or a group of patterns. `skip` says what a match means for others."""
        skip = AfterMatchSkipStrategy.no_skip() if skip is None else skip
        check_instance("begin", "skip", skip, (AfterMatchSkipStrategy,), "an AfterMatchSkipStrategy")
        return _new_step("begin", name, None, Contiguity.STRICT, skip)

    # --- the next step

    def next(self, name: str | Pattern) -> Pattern:
        """The very next event."""
        return _new_step("next", name, self, Contiguity.STRICT, self._skip)

    def followed_by(self, name: str | Pattern) -> Pattern:
        """A later event: the first that fits."""
        return _new_step("followed_by", name, self, Contiguity.RELAXED, self._skip)

    def followed_by_any(self, name: str | Pattern) -> Pattern:
        """A later event: each that fits makes a match of its own."""
        return _new_step("followed_by_any", name, self, Contiguity.ANY, self._skip)

    def not_next(self, name: str) -> Pattern:
        """The very next event must not be such a one."""
        return self._negation("not_next", name, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No such event may come before the next step; at the end of a pattern, before its time runs out."""
        return self._negation("not_followed_by", name, Contiguity.NOT_FOLLOWED)

    # --- conditions

    def where(self, condition: ConditionLike) -> Self:
        """Only events that meet the condition, beside the conditions that there are."""
        self._condition = both(self._condition, _condition("where", condition))
        return self

    def or_(self, condition: ConditionLike) -> Self:
        """Events that meet the condition, too."""
        other = _condition("or_", condition)
        self._condition = other if self._condition is None else Either(self._condition, other)
        return self

    def subtype(self, subtype_class: type[Any]) -> Self:
        """Only events of a class."""
        if not isinstance(subtype_class, type):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument("subtype", "subtype_class", subtype_class, "a class")
        self._condition = both(self._condition, OfType(subtype_class))
        return self

    def until(self, until_condition: ConditionLike) -> Self:
        """Ends a loop (`one_or_more`, `times_or_more`) at an event that meets the condition; the loop leaves it."""
        condition = _condition("until", until_condition)
        if self._until is not None:
            raise malformed(f"until: '{self._name}' has such a condition already; combine the two into one")
        if not self._is_loop:
            raise malformed(
                f"until: '{self._name}' is no loop, so that there is nothing to end; it needs `one_or_more()` or "
                "`times_or_more(n)` before"
            )
        self._until = condition
        return self

    def within(self, window_time: DurationLike, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Self:
        """A match takes less than this; or its event here comes less than this after the one before."""
        check_instance("within", "within_type", within_type, (WithinType,), "a WithinType")
        millis = lateness_millis("within", "window_time", window_time)
        if within_type is WithinType.FIRST_AND_LAST:
            self._within = millis
        else:
            self._within_previous = millis
        return self

    # --- how often

    def times(self, times: int, to: int | DurationLike | None = None, window_time: DurationLike | None = None) -> Self:
        """So many events, or from so many `to` so many; zero is `optional()`. See `one_or_more` for the time."""
        if to is not None and not isinstance(to, int):
            to, window_time = None, to
        least = _count("times", "times", times)
        most = least if to is None else _count("times", "to", to)
        if most == 0 or most < least:
            raise malformed(
                f"times: '{self._name}' is to come {least} to {most} times; expected a number from 1, or two of which "
                "the second is not less than the first"
            )
        self._repeat("times", max(least, 1), most, window_time)
        self._is_optional |= least == 0
        return self

    def times_or_more(self, times: int, window_time: DurationLike | None = None) -> Self:
        """At least so many events."""
        least = _count("times_or_more", "times", times)
        if least == 0:
            raise malformed(
                f"times_or_more: '{self._name}' is to come 0 times or more; expected a number from 1. For any number, "
                "none too, write `one_or_more().optional()`"
            )
        self._repeat("times_or_more", least, least, window_time)
        self._is_loop = True
        return self

    def one_or_more(self, window_time: DurationLike | None = None) -> Self:
        """At least one event. `window_time` limits the time between events as Flink does: docs/concepts/cep.md."""
        self._repeat("one_or_more", 1, 1, window_time)
        self._is_loop = True
        return self

    def optional(self) -> Self:
        """It may come, or not."""
        if self._previous is not None and self._previous._is_greedy:
            raise malformed(
                f"optional: '{self._name}' follows '{self._previous._name}', which is greedy, and greedy patterns "
                "cannot be followed by optional ones"
            )
        if self._contiguity.is_negative:
            raise malformed(f"optional: '{self._name}' says what must not come, which cannot be optional")
        if self._is_optional:
            raise malformed(f"optional: '{self._name}' is optional already")
        self._is_optional = True
        return self

    def greedy(self) -> Self:
        """As many events as there are: shorter matches of a repeated pattern are not looked for."""
        self._check_is_positive("greedy")
        if self._group is not None:
            raise malformed("greedy: a group of patterns cannot be greedy; its patterns can")
        if self._inner is Contiguity.ANY:
            raise malformed(f"greedy: '{self._name}' has allow_combinations(), which asks for more matches, not fewer")
        if not self._is_repeated:
            raise malformed(f"greedy: '{self._name}' comes once; greedy is for `one_or_more()`, `times(...)` and such")
        self._is_greedy = True
        return self

    def consecutive(self) -> Self:
        """The events of a repeated pattern come one right behind the other."""
        self._set_inner("consecutive", Contiguity.STRICT)
        return self

    def allow_combinations(self) -> Self:
        """The events of a repeated pattern may be any of those that fit, in their order."""
        self._set_inner("allow_combinations", Contiguity.ANY)
        return self

    # --- what was said

    def get_name(self) -> str:
        """The name of this step."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The step before."""
        return self._previous

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """What a match means for others."""
        return self._skip

    def definition(self) -> PatternDefinition:
        """The whole pattern, complete and checked."""
        try:
            definition = PatternDefinition(steps=self._steps(), skip=self._skip)
            compile_pattern(definition)
        except MalformedPatternError as error:
            raise malformed(str(error)) from None
        return definition

    def explain(self, form: str = "text") -> str:
        """The automaton of the pattern, as text or as a drawing (svg)."""
        draw = _FORMS.get(form)
        if draw is None:
            raise refuse_argument("explain", "form", form, f"one of {', '.join(_FORMS)}")
        return draw(self.definition())

    def _repr_svg_(self) -> str:
        return self.explain("svg")

    def __repr__(self) -> str:
        names: list[str] = []
        step: Pattern | None = self
        while step is not None:
            names.append(step._name)
            step = step._previous
        return f"<Pattern {' '.join(reversed(names))}>"

    def _steps(self) -> tuple[Step, ...]:
        before = () if self._previous is None else self._previous._steps()
        step = Step(
            name=self._name,
            contiguity=self._contiguity,
            until=self._until,
            members=() if self._group is None else self._group._steps(),
            is_repeated=self._is_repeated,
            is_loop=self._is_loop,
            least=self._least,
            most=self._most,
            is_optional=self._is_optional,
            is_greedy=self._is_greedy,
            inner_contiguity=self._inner,
            gap=self._gap,
            within=self._within,
            within_previous=self._within_previous,
            **({} if self._condition is None else {"condition": self._condition}),
        )
        return *before, step

    def _negation(self, method: str, name: str, contiguity: Contiguity) -> Pattern:
        if self._is_optional:
            raise malformed(
                f"{method}: '{self._name}' before it is optional, and what must not come has to follow something that "
                "comes; write two patterns, one with the optional part and one without"
            )
        return Pattern(check_text(method, "name", name), self, contiguity, self._skip)

    def _repeat(self, method: str, least: int, most: int, window_time: DurationLike | None) -> None:
        self._check_is_positive(method)
        if self._is_repeated:
            raise malformed(f"{method}: it was said already how often '{self._name}' comes")
        self._is_repeated = True
        self._least, self._most = least, most
        self._is_optional = False
        self._gap = None if window_time is None else lateness_millis(method, "window_time", window_time)

    def _set_inner(self, method: str, contiguity: Contiguity) -> None:
        if not self._is_repeated:
            raise malformed(
                f"{method}: '{self._name}' comes once; it is for `one_or_more()`, `times(...)` and such, to be said "
                "before"
            )
        if self._inner is contiguity:
            raise malformed(f"{method}: it was said already for '{self._name}'")
        if self._inner is not Contiguity.RELAXED:
            raise malformed(f"{method}: '{self._name}' can be consecutive or allow combinations, but not both")
        self._inner = contiguity

    def _check_is_positive(self, method: str) -> None:
        if self._contiguity.is_negative:
            raise malformed(f"{method}: '{self._name}' says what must not come, and takes no events")


class GroupPattern(Pattern):
    """A group of patterns as one step: it can be repeated and be optional, but has no condition of its own."""

    def where(self, condition: ConditionLike) -> NoReturn:
        """Refused: its patterns have conditions."""
        raise _refused_for_group("where")

    def or_(self, condition: ConditionLike) -> NoReturn:
        """Refused: its patterns have conditions."""
        raise _refused_for_group("or_")

    def subtype(self, subtype_class: type[Any]) -> NoReturn:
        """Refused: its patterns have conditions."""
        raise _refused_for_group("subtype")


def _refused_for_group(method: str) -> MalformedPatternError:
    return malformed(f"{method}: a group of patterns has no condition of its own; give its patterns conditions")


def _new_step(
    method: str, name: str | Pattern, previous: Pattern | None, contiguity: Contiguity, skip: AfterMatchSkipStrategy
) -> Pattern:
    if isinstance(name, Pattern):
        return GroupPattern(_GROUP, previous, contiguity, skip, name)
    return Pattern(check_text(method, "name", name), previous, contiguity, skip)


def _condition(method: str, given: ConditionLike) -> Condition:
    condition = condition_of(given)
    if condition is None:
        raise refuse_argument(method, "condition", given, _CONDITION)
    return condition


def _count(method: str, argument: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse_argument(method, argument, value, "a whole number")
    if value < 0:
        raise malformed(f"{method}: `{argument}` is {value}; expected a number that is not negative")
    return value
