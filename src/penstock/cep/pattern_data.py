"""Patterns as plain data: dicts, JSON, YAML. What a pattern can be told, its data can say; see docs/concepts/cep.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from penstock.cep.condition_data import condition_from_data
from penstock.cep.pattern import Pattern
from penstock.cep.refusals import malformed
from penstock.common.errors import EnvironmentNotReadyError
from penstock.common.typeinfo import TypeInformation
from penstock.patterns import AfterMatchSkipStrategy, PatternUpdate, WithinType
from penstock.runtime.cep.condition_tests import check_conditions

_FOLLOWING = ("begin", "next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
_FLAGS = ("one_or_more", "consecutive", "allow_combinations", "greedy", "optional")


def pattern_from_dict(data: Mapping[str, Any]) -> Pattern:
    """The pattern that plain data stands for.

    >>> pattern_from_dict(
    ...     {
    ...         "steps": [
    ...             {"begin": "small", "where": {"field": "amount", "op": "<", "value": 1.0}},
    ...             {"next": "large", "where": {"field": "amount", "op": ">", "value": 500.0}},
    ...         ],
    ...         "within": "1 min",
    ...     }
    ... )
    <Pattern small large>
    """
    pattern = _sequence(data, _skip(data), "pattern")
    pattern.definition()
    return pattern


def pattern_from_json(text: str) -> Pattern:
    """The pattern that JSON text stands for."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise malformed(f"pattern_from_json: the text is no JSON: {error}") from None
    return pattern_from_dict(data)


def pattern_from_yaml(text: str) -> Pattern:
    """The pattern that YAML text stands for. Needs PyYAML."""
    try:
        import yaml
    except ImportError:
        raise EnvironmentNotReadyError(
            "pattern_from_yaml: PyYAML is not installed; `pip install 'penstock[yaml]'`"
        ) from None
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise malformed(f"pattern_from_yaml: the text is no YAML: {error}") from None
    return pattern_from_dict(data)


class PatternUpdates:
    """Reads what comes by the stream of patterns: `{id, pattern}`, as a dict, a pair or JSON text."""

    def __init__(self, event_type: TypeInformation) -> None:
        self._event_type = event_type

    def __call__(self, record: Any) -> PatternUpdate:
        """The change that a record stands for."""
        if isinstance(record, str):
            try:
                record = json.loads(record)
            except json.JSONDecodeError as error:
                raise malformed(f"a change of patterns is no JSON: {error}: {record!r}") from None
        if isinstance(record, tuple) and len(record) == 2:
            record = {"id": record[0], "pattern": record[1]}
        if not isinstance(record, Mapping) or not record.keys() <= {"id", "pattern"} or not record.get("id"):
            raise malformed(f"{record!r} is no change of patterns; expected {{id, pattern}}, the id being a text")
        data = record.get("pattern")
        if isinstance(data, str):
            data = json.loads(data)
        if data is None:
            return PatternUpdate(str(record["id"]), None)
        definition = pattern_from_dict(data).definition()
        check_conditions(definition.conditions(), self._event_type)
        return PatternUpdate(str(record["id"]), definition)


def _sequence(data: Any, skip: AfterMatchSkipStrategy, place: str) -> Pattern:
    steps = data.get("steps") if isinstance(data, Mapping) else None
    if not isinstance(steps, list) or not steps:
        raise malformed(f"{place}: {data!r}; expected a mapping with a list of `steps`")
    _check_keys(data, ("steps", "within", "skip"), place)
    pattern: Pattern | None = None
    for number, step in enumerate(steps):
        pattern = _step(pattern, step, skip, f"{place}.steps[{number}]")
    assert pattern is not None
    if data.get("within") is not None:
        pattern.within(data["within"])
    return pattern


def _step(before: Pattern | None, step: Any, skip: AfterMatchSkipStrategy, place: str) -> Pattern:
    found = [word for word in _FOLLOWING if isinstance(step, Mapping) and word in step]
    expected = "begin" if before is None else " or ".join(_FOLLOWING[1:])
    if len(found) != 1 or (found[0] == "begin") != (before is None):
        raise malformed(f"{place}: {step!r}; expected a mapping with {expected}, and the pattern's name or group")
    (word,) = found
    _check_keys(
        step,
        (word, "where", "or", "until", "times", "times_or_more", "within", "within_previous", "window_time", *_FLAGS),
        place,
    )
    named: Any = step[word]
    if isinstance(named, Mapping):
        named = _sequence(named, AfterMatchSkipStrategy.no_skip(), f"{place}.{word}")
    pattern = Pattern.begin(named, skip) if before is None else getattr(before, word)(named)
    return _told(pattern, step, place)


def _told(pattern: Pattern, step: Mapping[str, Any], place: str) -> Pattern:
    if "where" in step:
        pattern.where(_condition(step, "where", place))
    if "or" in step:
        pattern.or_(_condition(step, "or", place))
    window_time = step.get("window_time")
    match step.get("times"):
        case None:
            pass
        case [least, most]:
            pattern.times(least, most, window_time)
        case count:
            pattern.times(count, None, window_time)
    if "times_or_more" in step:
        pattern.times_or_more(step["times_or_more"], window_time)
    for flag in _FLAGS:
        if step.get(flag, False) is True:
            method: Callable[..., Any] = getattr(pattern, flag)
            method(window_time) if flag == "one_or_more" else method()
        elif step.get(flag, False) is not False:
            raise malformed(f"{place}.{flag} is {step[flag]!r}; expected true or false")
    if "until" in step:
        pattern.until(_condition(step, "until", place))
    if "within" in step:
        pattern.within(step["within"])
    if "within_previous" in step:
        pattern.within(step["within_previous"], WithinType.PREVIOUS_AND_CURRENT)
    return pattern


def _condition(step: Mapping[str, Any], word: str, place: str) -> Any:
    return condition_from_data(step[word], f"{place}.{word}")


def _skip(data: Any) -> AfterMatchSkipStrategy:
    given = data.get("skip") if isinstance(data, Mapping) else None
    match given:
        case None | "no_skip":
            return AfterMatchSkipStrategy.no_skip()
        case "skip_to_next":
            return AfterMatchSkipStrategy.skip_to_next()
        case "skip_past_last_event":
            return AfterMatchSkipStrategy.skip_past_last_event()
        case {"skip_to_first": str() as name}:
            return AfterMatchSkipStrategy.skip_to_first(name)
        case {"skip_to_last": str() as name}:
            return AfterMatchSkipStrategy.skip_to_last(name)
        case _:
            raise malformed(
                f"pattern.skip is {given!r}; expected no_skip, skip_to_next, skip_past_last_event, "
                "{skip_to_first: name} or {skip_to_last: name}"
            )


def _check_keys(data: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    unknown = [key for key in data if key not in known]
    if unknown:
        raise malformed(f"{place} has {', '.join(map(repr, unknown))}; known are {', '.join(known)}")
