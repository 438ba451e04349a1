"""Finds the plain function in what a program gives for one."""

from __future__ import annotations

import inspect
import types
from functools import reduce
from operator import attrgetter, itemgetter
from typing import Any

from penstock.common.timestamp_assigner import FunctionTimestampAssigner, TimestampAssigner
from penstock.functions.checkpointed import checkpointed_part
from penstock.functions.function import Function
from penstock.tracing import calls
from penstock.tracing.operations import Operations
from penstock.tracing.refusal import NotTraceable
from penstock.tracing.stack import Known
from penstock.tracing.terms import Term


def plain_function(given: Any, method: str) -> tuple[types.FunctionType, list[Known]]:
    """The function that is called, and what it is called with before the record: the object that it is a method of."""
    if isinstance(given, FunctionTimestampAssigner):
        given = given.extract
    if isinstance(given, types.FunctionType):
        return given, []
    if isinstance(given, types.MethodType) and isinstance(given.__func__, types.FunctionType):
        return given.__func__, [Known(given.__self__)]
    if isinstance(given, Function | TimestampAssigner):
        return _method_of(given, method), [Known(given)]
    raise NotTraceable(f"an object of the class {type(given).__qualname__} is no plain function")


def result_of_builtin(operations: Operations, given: Any, record: Term) -> Term | None:
    """What a builtin, a method of `str` or a getter makes of the record; None where it is something else."""
    if calls.is_listed(given):
        return calls.call(operations, given, (record,), {})
    if calls.is_text_method(given):
        return calls.call_method(operations, record, given.__name__, ())
    if type(given) in (itemgetter, attrgetter):
        return _gotten(operations, given, record)
    return None


def _gotten(operations: Operations, getter: Any, record: Term) -> Term:
    names = getter.__reduce__()[1]
    if isinstance(getter, itemgetter):
        parts = [operations.item(record, operations.constant(name)) for name in names]
    else:
        parts = [reduce(operations.attribute, name.split("."), record) for name in names]
    return parts[0] if len(parts) == 1 else calls.tuple_of(parts)


def _method_of(given: Function | TimestampAssigner, method: str) -> types.FunctionType:
    cls: type[Any] = type(given)
    if isinstance(given, Function) and (cls.open is not Function.open or cls.close is not Function.close):
        raise NotTraceable(f"{cls.__qualname__} wants to be opened or closed")
    if checkpointed_part(given) is not None:
        raise NotTraceable(f"{cls.__qualname__} has state of its own")
    # As it is in the class: a static method is not given the object.
    function = inspect.getattr_static(cls, method, None)
    if not isinstance(function, types.FunctionType) or method in vars(given):
        raise NotTraceable(f"{cls.__qualname__}.{method} is no plain method")
    return function


def written_at(given: Any, method: str) -> str:
    """Where what a program gives for a function is written; empty where that is not known."""
    try:
        return place_of(plain_function(given, method)[0])
    except NotTraceable:
        return ""


def place_of(function: types.FunctionType) -> str:
    """Where a function is written."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
