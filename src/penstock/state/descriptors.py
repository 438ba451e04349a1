"""What a piece of state is called and what it holds.

Types are optional: without one, any Python object is kept (pickled). With a type of numbers, text, booleans or bytes,
values are checked when they are set, and kept in a compact form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from penstock.common.errors import StateError
from penstock.common.type_inference import infer_type
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.migrations import Migration, checked_migrations
from penstock.state.ttl_config import StateTtlConfig

TypeLike = TypeInformation | type[Any] | None
"""`Types.LONG()`, `int`, a dataclass, or None where nothing is declared."""


class StateDescriptor:
    """Names a piece of state; the name is unique within an operator."""

    def __init__(self, name: str, type_info: TypeInformation | None) -> None:
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StateError(f"state needs a name, got {name!r}")
        self.name = name
        self.type_info = type_info
        self._ttl_config: StateTtlConfig | None = None
        self.version = 1
        """The version of what the values mean; see `with_version`."""
        self.migrations: tuple[Migration, ...] = ()
        """From older versions to newer ones."""

    def get_name(self) -> str:
        """The name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Values of the state expire, each on its own, a time after their last use."""
        if not isinstance(ttl_config, StateTtlConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"state '{self.name}' takes a StateTtlConfig, got {ttl_config!r}")
        self._ttl_config = ttl_config

    def with_version(self, version: int, *migrations: Migration) -> Self:
        """Says which version of the program's own form the values have, and how values of older versions become such.

        What is not said starts at version 1. Added and removed fields and wider types need no new version.

        >>> from penstock.state import migrate
        >>> @migrate(1, 2)
        ... def in_cents(old):
        ...     return round(old * 100)
        >>> ValueStateDescriptor("balance", int).with_version(2, in_cents).version
        2
        """
        self.version, self.migrations = checked_migrations(self.name, version, migrations)
        return self

    @property
    def time_to_live(self) -> StateTtlConfig | None:
        """How long values live; None where they do not expire."""
        config = self._ttl_config
        return config if config is not None and config.is_enabled() else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


class ValueStateDescriptor(StateDescriptor):
    """One value per key.

    >>> ValueStateDescriptor("balance", Types.LONG()), ValueStateDescriptor("balance", int)
    (ValueStateDescriptor('balance', Long), ValueStateDescriptor('balance', Long))
    """

    def __init__(self, name: str, value_type_info: TypeLike = None) -> None:
        super().__init__(name, _type_of(value_type_info))


class ListStateDescriptor(StateDescriptor):
    """A list per key.

    >>> ListStateDescriptor("last payments", Types.DOUBLE()).get_name()
    'last payments'
    """

    def __init__(self, name: str, elem_type_info: TypeLike = None) -> None:
        self.element_type = _type_of(elem_type_info)
        super().__init__(name, None if self.element_type is None else Types.LIST(self.element_type))


class MapStateDescriptor(StateDescriptor):
    """A map per key, or the map of a broadcast state.

    >>> MapStateDescriptor("visits", Types.STRING(), Types.LONG()).get_name()
    'visits'
    """

    def __init__(self, name: str, key_type_info: TypeLike = None, value_type_info: TypeLike = None) -> None:
        self.key_type = _type_of(key_type_info)
        self.value_type = _type_of(value_type_info)
        untyped = self.key_type is None or self.value_type is None
        super().__init__(name, None if untyped else Types.MAP(self.key_type, self.value_type))  # type: ignore[arg-type]


class ReducingStateDescriptor(StateDescriptor):
    """One value per key: all added values, combined by a `ReduceFunction` or a function of two values.

    >>> ReducingStateDescriptor("spent", lambda a, b: a + b, Types.LONG()).get_reduce_function()(2, 3)
    5
    """

    def __init__(self, name: str, reduce_function: Any, type_info: TypeLike = None) -> None:
        super().__init__(name, _type_of(type_info))
        if not hasattr(reduce_function, "reduce") and not callable(reduce_function):
            raise TypeError(
                f"state '{name}' takes a ReduceFunction or a function of two values, got {reduce_function!r}"
            )
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """The function as it was given."""
        return self._reduce_function

    def reducer(self) -> Callable[[Any, Any], Any]:
        """What to call with two values."""
        return getattr(self._reduce_function, "reduce", self._reduce_function)


class AggregatingStateDescriptor(StateDescriptor):
    """One accumulator per key, kept by an `AggregateFunction`."""

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeLike = None) -> None:
        super().__init__(name, _type_of(state_type_info))
        missing = [m for m in ("create_accumulator", "add", "get_result") if not hasattr(agg_function, m)]
        if missing:
            raise TypeError(
                f"state '{name}' takes an AggregateFunction, got {agg_function!r} without {', '.join(missing)}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The function as it was given."""
        return self._agg_function


def _type_of(given: TypeLike) -> TypeInformation | None:
    if isinstance(given, str):
        raise TypeError(f"state takes a type such as Types.LONG(), or a class, got {given!r}")
    return given if given is None or isinstance(given, TypeInformation) else infer_type(given)
