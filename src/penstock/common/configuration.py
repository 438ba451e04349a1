"""`Configuration`: keys and values, read with the type that the reader asks for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeVar

from penstock.common.config_options import (
    ConfigOption,
    parse_boolean,
    parse_integer,
    parse_number,
)
from penstock.common.errors import ConfigurationError

T = TypeVar("T")


class Configuration:
    """Settings of a job or of an environment.

    >>> Configuration().set_string("parallelism.default", "4").get_integer("parallelism.default", 1)
    4
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:  # noqa: A002 (PyFlink's parameter)
        """A configuration with the entries of a dict."""
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    def get(self, option: ConfigOption[T]) -> T:
        """The value of an option: what is set, else what its environment variable says, else its default."""
        for key in option.keys:
            if key in self._values:
                return option.parsed(self._values[key], key)
        if option.environment_variable is not None and os.environ.get(option.environment_variable):
            return option.parsed(os.environ[option.environment_variable])
        return option.default

    def set(self, option: ConfigOption[T] | str, value: Any) -> Configuration:
        """Sets an option; a value that it cannot have is a `ConfigurationError`."""
        if isinstance(option, ConfigOption):
            option.parsed(value)
            return self._put(option.key, value)
        return self._put(option, value)

    def get_string(self, key: str, default_value: str) -> str:
        """The value as text."""
        return _as_text(self._values[key]) if key in self._values else default_value

    def set_string(self, key: str, value: str) -> Configuration:
        """Sets a text."""
        return self._put(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """The value as a whole number."""
        return self._parsed(key, parse_integer, default_value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Sets a whole number."""
        return self._put(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The value as true or false."""
        return self._parsed(key, parse_boolean, default_value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Sets true or false."""
        return self._put(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """The value as a number."""
        return self._parsed(key, parse_number, float(default_value))

    def set_float(self, key: str, value: float) -> Configuration:
        """Sets a number."""
        return self._put(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The value as bytes."""
        if key not in self._values:
            return default_value
        value = self._values[key]
        if not isinstance(value, bytes):
            raise ConfigurationError(f"{key} = {value!r} cannot be used: bytes are expected")
        return bytearray(value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Sets bytes."""
        return self._put(key, bytes(value))

    def key_set(self) -> set[str]:
        """The keys that are set."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Whether a key is set."""
        return key in self._values

    def contains(self, option: ConfigOption[Any]) -> bool:
        """Whether an option is set, by whichever of its keys."""
        return not self._values.keys().isdisjoint(option.keys)

    def remove_config(self, key: str) -> bool:
        """Removes a key; tells whether it was there."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Takes over all entries of another configuration, with a prefix before their keys if given."""
        self._values.update({f"{prefix or ''}{key}": value for key, value in other._values.items()})
        return self

    def add_all_to_dict(self, target_dict: MutableMapping[str, Any]) -> None:
        """Copies all entries into a dict, as text."""
        target_dict.update(self.to_dict())

    def to_dict(self) -> dict[str, str]:
        """All entries, as text."""
        return {key: _as_text(value) for key, value in self._values.items()}

    def _put(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str) or not key:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"a configuration key is a non-empty text, got {key!r}")
        if value is None:
            raise ConfigurationError(f"{key} cannot be set to None; remove_config({key!r}) unsets it")
        self._values[key] = value
        return self

    def _parsed(self, key: str, parse: Callable[[Any], T], default: T) -> T:
        return self.get(ConfigOption(key, parse, default))

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __str__(self) -> str:
        return str(self.to_dict())

    def __repr__(self) -> str:
        return f"Configuration({self.to_dict()})"


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
