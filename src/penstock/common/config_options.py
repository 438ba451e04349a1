"""Options: a key, the type of its value, a default and what it is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.common.errors import ConfigurationError
from penstock.common.time import parse_duration

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """One setting; `Configuration.get(option)` reads it."""

    key: str
    parse: Callable[[Any], T]
    """Makes the value of what is configured (text, most often); raises ValueError if it cannot."""
    default: T
    description: str = ""
    environment_variable: str | None = None
    """Read where the configuration has none of the keys."""
    other_keys: tuple[str, ...] = ()
    """Other names of the option in Flink, read where the configuration does not have the key."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the option; the first one that is set counts."""
        return (self.key, *self.other_keys)

    def parsed(self, value: Any, key: str | None = None) -> T:
        """The option's value for what is configured under one of its keys."""
        try:
            return self.parse(value)
        except ValueError as error:
            raise ConfigurationError(f"{key or self.key} = {value!r} cannot be used: {error}") from None


def parse_text(value: Any) -> str:
    """Text as it is."""
    if not isinstance(value, str):
        raise ValueError("text is expected")
    return value


def parse_integer(value: Any) -> int:
    """A whole number, as one or as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9][0-9_]*\s*", value):
        return int(value)
    raise ValueError("a whole number is expected")


def parse_number(value: Any) -> float:
    """A number, as one or as text."""
    if isinstance(value, bool):
        raise ValueError("a number is expected")
    try:
        return float(value)
    except (ValueError, TypeError):
        raise ValueError("a number is expected") from None


def parse_boolean(value: Any) -> bool:
    """True or False, as such or as the words."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueError("true or false is expected")


_BYTES_OF_UNIT = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_memory_size(value: Any) -> int:
    """A number of bytes, as one or as text such as "256 mb"; units are powers of 1024, as in Flink.

    >>> parse_memory_size("256 mb"), parse_memory_size("1g"), parse_memory_size(1000)
    (268435456, 1073741824, 1000)
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b|bytes)?\s*", value, re.IGNORECASE)
        if found:
            return int(float(found[1]) * _BYTES_OF_UNIT[found[2].lower()])
    raise ValueError('a number of bytes or text such as "256 mb" or "1 gb" is expected')


def positive(parse: Callable[[Any], int]) -> Callable[[Any], int]:
    """The same parser for values above zero."""

    def parse_positive(value: Any) -> int:
        number = parse(value)
        if number < 1:
            raise ValueError("it must be at least 1")
        return number

    return parse_positive


def parse_map(value: Any) -> dict[str, str]:
    """Names and texts: a mapping, or as Flink writes it.

    >>> parse_map("region:eu,limit:10")
    {'region': 'eu', 'limit': '10'}
    """
    if isinstance(value, Mapping):
        return {str(key): str(each) for key, each in value.items()}
    if not isinstance(value, str):
        raise ValueError("a dict or text such as name:value,name:value is expected")
    entries = [entry.partition(":") for entry in value.split(",") if entry.strip()]
    if not all(separator and key.strip() for key, separator, _ in entries):
        raise ValueError("a dict or text such as name:value,name:value is expected")
    return {key.strip(): each.strip() for key, _, each in entries}


def parse_list(value: Any) -> list[str]:
    """Words: a list of them, or text with commas between them.

    >>> parse_list("a, b")
    ['a', 'b']
    """
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return list(value)
    raise ValueError("a list of words, or words with commas between them, is expected")


def one_of(*choices: str, same: Mapping[str, str] | None = None) -> Callable[[Any], str]:
    """A parser for one of several words; `same` has other words for them."""
    words = {**{choice: choice for choice in choices}, **(same or {})}

    def parse_choice(value: Any) -> str:
        if isinstance(value, str) and value.strip().lower() in words:
            return words[value.strip().lower()]
        raise ValueError(f"one of {', '.join(choices)} is expected")

    return parse_choice


def member_of(enum: type[E]) -> Callable[[Any], E]:
    """A parser for a member of an enumeration, as such or by name."""

    def parse_member(value: Any) -> E:
        if isinstance(value, enum):
            return value
        if isinstance(value, str) and value.strip().upper() in enum.__members__:
            return enum[value.strip().upper()]
        raise ValueError(f"one of {', '.join(enum.__members__)} is expected")

    return parse_member


class OptionBuilder:
    """An option whose type is not yet said."""

    def __init__(self, key: str) -> None:
        self._key = key

    def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
        """The value is true or false."""
        return TypedConfigOptionBuilder(self._key, parse_boolean)

    def int_type(self) -> TypedConfigOptionBuilder[int]:
        """The value is a whole number."""
        return TypedConfigOptionBuilder(self._key, parse_integer)

    def long_type(self) -> TypedConfigOptionBuilder[int]:
        """The value is a whole number."""
        return TypedConfigOptionBuilder(self._key, parse_integer)

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """The value is a number."""
        return TypedConfigOptionBuilder(self._key, parse_number)

    def double_type(self) -> TypedConfigOptionBuilder[float]:
        """The value is a number."""
        return TypedConfigOptionBuilder(self._key, parse_number)

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """The value is text."""
        return TypedConfigOptionBuilder(self._key, parse_text)

    def duration_type(self) -> TypedConfigOptionBuilder[int]:
        """The value is a duration; it is read in ms."""
        return TypedConfigOptionBuilder(self._key, parse_duration)

    def memory_type(self) -> TypedConfigOptionBuilder[int]:
        """The value is an amount of memory; it is read in bytes."""
        return TypedConfigOptionBuilder(self._key, parse_memory_size)


class TypedConfigOptionBuilder(Generic[T]):
    """An option whose default is not yet said."""

    def __init__(self, key: str, parse: Callable[[Any], T]) -> None:
        self._key = key
        self._parse = parse

    def default_value(self, value: T) -> ConfigOption[T]:
        """The option with a default."""
        return ConfigOption(self._key, self._parse, value)

    def no_default_value(self) -> ConfigOption[T | None]:
        """The option without a default: None where it is not set."""
        return ConfigOption[T | None](self._key, self._parse, None)


class ConfigOptions:
    """Builds options step by step.

    >>> ConfigOptions.key("job.greeting").string_type().default_value("hello").default
    'hello'
    """

    OptionBuilder = OptionBuilder
    TypedConfigOptionBuilder = TypedConfigOptionBuilder

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begins an option."""
        return OptionBuilder(key)
