"""Functions that make values of a newer version of values of an older one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ArgumentError


@dataclass(frozen=True)
class Migration:
    """What `migrate` makes of a function."""

    from_version: int
    to_version: int
    function: Callable[[Any], Any]

    def __call__(self, old: Any) -> Any:
        """The value of the newer version."""
        return self.function(old)


def migrate(from_version: int, to_version: int) -> Callable[[Callable[[Any], Any]], Migration]:
    """Makes a function one that takes a stored value of a version and returns that of a newer one.

    It is given to `with_version` of the state's descriptor, and called for every value, list element or map value
    that was stored by an older program. Values with fields come as a `Row`. The last function in line returns values
    of the declared type.

    >>> from penstock.state import ValueStateDescriptor
    >>> @migrate(1, 2)
    ... def in_cents(old):
    ...     return round(old * 100)
    >>> in_cents(1.5)
    150
    >>> descriptor = ValueStateDescriptor("balance", int).with_version(2, in_cents)
    """
    if not 1 <= from_version < to_version:
        raise ArgumentError(
            f"migrate({from_version!r}, {to_version!r}): versions are 1, 2, ..., and a migration leads to a newer one"
        )

    def decorate(function: Callable[[Any], Any]) -> Migration:
        if not callable(function):
            raise ArgumentError(f"migrate takes a function of one value, got {function!r}")
        return Migration(from_version, to_version, function)

    return decorate


def checked_migrations(name: str, version: int, migrations: Sequence[Any]) -> tuple[int, tuple[Migration, ...]]:
    """The version of a state and its migrations, if they can be."""
    if type(version) is not int or version < 1:
        raise ArgumentError(f"state '{name}': a version is 1, 2, ..., got {version!r}")
    for each in migrations:
        if not isinstance(each, Migration):
            raise ArgumentError(f"state '{name}': {each!r} is no migration; decorate it with @migrate(from, to)")
        if each.to_version > version:
            raise ArgumentError(
                f"state '{name}' has version {version}, but a migration leads to version {each.to_version}"
            )
    starts = [each.from_version for each in migrations]
    if len(set(starts)) < len(starts):
        raise ArgumentError(f"state '{name}' has several migrations from one version: {sorted(starts)}")
    return version, tuple(migrations)


def route(migrations: Sequence[Migration], from_version: int, to_version: int) -> list[Migration] | None:
    """The migrations to call, in order; None where they do not lead there."""
    by_start = {each.from_version: each for each in migrations}
    steps: list[Migration] = []
    while from_version < to_version:
        step = by_start.get(from_version)
        if step is None:
            return None
        steps.append(step)
        from_version = step.to_version
    return steps if from_version == to_version else None
