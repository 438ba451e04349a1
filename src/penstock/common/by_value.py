"""Pickles that hold functions and classes by value, where nobody could import them.

So go those of `__main__`, of notebooks and of function bodies: functions with the globals that they use. A class that
is read where it lives is that very class, and cloudpickle would put the copies of its functions into it: from then on
it would do what it did when it was sent, whatever the program has changed since. Here it stays as it is.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any
from weakref import WeakSet

import cloudpickle

_residents: WeakSet[type[Any]] = WeakSet()
"""Classes that this process has defined, and sent."""
_guests: WeakSet[type[Any]] = WeakSet()
"""Classes that have come by a pickle, and change with the next one."""


def pickled_by_value(value: Any, protocol: int = 5) -> bytes:
    """The bytes of anything, functions and classes included, for `pickle.loads`."""
    with io.BytesIO() as file:
        _Pickler(file, protocol=protocol).dump(value)
        return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if not isinstance(obj, type) or not isinstance(reduced, tuple) or len(reduced) < 6:
            return reduced
        if obj not in _guests:
            _residents.add(obj)
        *how, fill = reduced
        return (*how, partial(_filled, fill))


# Pickles that are kept, in state, name it.
def _filled(fill: Any, kind: type[Any], state: Any) -> Any:
    if kind in _residents:
        return kind
    _guests.add(kind)
    return fill(kind, state)
