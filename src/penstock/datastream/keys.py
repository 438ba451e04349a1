"""Keys: by a function of the record, or by fields where the records have some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import Any

from penstock.common.call_site import capture_call_site
from penstock.common.errors import PlanError
from penstock.common.row import Row
from penstock.common.typeinfo import (
    BasicTypeInfo,
    CompositeTypeInfo,
    DataclassTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.datastream.arguments import refuse, refuse_argument
from penstock.datastream.expression_arguments import (
    expression_key,
    is_expression,
    is_key_expression,
    without_plain_fields,
)
from penstock.datastream.output_types import TypeHint, type_from_hint
from penstock.expressions import Expression
from penstock.functions import Function, KeySelector, Partitioner, RuntimeContext
from penstock.plan.nodes import Exchange, ExchangeKind

FieldHint = int | str | Expression
"""A field: by number from 0, by name, or as `col(name)`."""
_EXPECTED_KEY = "a function of one record, a KeySelector, a field name, a list of field names, or an expression"


def hash_exchange(method: str, key: Any, key_type: TypeHint, record_type: TypeInformation) -> Exchange:
    """The exchange that brings records of one key together."""
    return replace(_hash_exchange(method, key, key_type, record_type), call_site=capture_call_site())


def _hash_exchange(method: str, key: Any, key_type: TypeHint, record_type: TypeInformation) -> Exchange:
    if isinstance(key_type, str):
        raise refuse_argument(
            method, "key_type", key_type, f"a type; for several fields pass a list: {method}([{key!r}, {key_type!r}])"
        )
    declared = None if key_type is None else type_from_hint(method, "key_type", key_type)
    key = without_plain_fields(key)
    if is_key_expression(key):
        computed = expression_key(method, key, declared, record_type)
        return Exchange(ExchangeKind.HASH, key_selector=computed, key_type=computed.type)
    fields = _fields(key)
    if fields is None:
        return Exchange(ExchangeKind.HASH, key_selector=key_selector_of(method, key, record_type), key_type=declared)
    selector, columns = _by_fields(method, fields, record_type)
    if declared is None and columns:
        declared = _type_of_fields(fields, record_type)
    return Exchange(ExchangeKind.HASH, key_selector=selector, key_fields=columns, key_type=declared)


def key_selector_of(method: str, key: Any, record_type: TypeInformation) -> Callable[[Any], Any]:
    """What takes the key out of a record."""
    key = without_plain_fields(key)
    if is_key_expression(key):
        return expression_key(method, key, None, record_type)
    fields = _fields(key)
    if fields is not None:
        return _by_fields(method, fields, record_type)[0]
    return _as_callable(method, "key_selector", key, KeySelector, "get_key", _EXPECTED_KEY)


def partitioner_of(method: str, partitioner: Any) -> Callable[[Any, int], int]:
    """What names the subtask for a key."""
    expected = "a function of a key and the number of subtasks, or a Partitioner"
    return _as_callable(method, "partitioner", partitioner, Partitioner, "partition", expected)


def field_of(method: str, field: FieldHint, record_type: TypeInformation) -> int | str | None:
    """The field that an aggregation works on, checked where the type is known; None stands for the record itself."""
    field = without_plain_fields(field)
    if is_expression(field):
        expected = "a field; one that is computed is made before, by `select` or `map`"
        raise refuse_argument(method, f"position_to_{method}", field, expected)
    if isinstance(field, bool) or not isinstance(field, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refuse_argument(method, f"position_to_{method}", field, "a field, by number from 0 or by name")
    if isinstance(record_type, CompositeTypeInfo):
        count = len(record_type.get_field_names())
        # As in PyFlink, where it is an index of Python, -1 is the last field.
        place = field + count if isinstance(field, int) and -count <= field < 0 else field
        index = _index(method, place, record_type)
        return record_type.get_field_names()[index] if isinstance(record_type, DataclassTypeInfo) else index
    if isinstance(record_type, BasicTypeInfo):
        if field != 0:
            raise refuse(f"{method}: {record_type!r} has no field {field!r}; a value of a basic type is field 0 itself")
        return None
    return field


class RowFields:
    """Takes fields out of what a stream of rows may hold: rows with or without names, dicts, tuples."""

    def __init__(self, names: Sequence[str], positions: Sequence[int]) -> None:
        self._names = tuple(names)
        self._positions = tuple(positions)

    def __call__(self, record: Any) -> Any:
        """The field, or the tuple of the fields."""
        named = isinstance(record, dict) or (isinstance(record, Row) and record.get_field_names() is not None)
        where: Sequence[str | int] = self._names if named else self._positions
        return record[where[0]] if len(where) == 1 else tuple(record[place] for place in where)


class OpenedFunction:
    """Calls a method of a function that wants to be opened in the task."""

    def __init__(self, function: Function, method: str) -> None:
        self._function = function
        self._method = method

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the function."""
        self._function.open(runtime_context)

    def close(self) -> None:
        """Closes the function."""
        self._function.close()

    def __call__(self, *arguments: Any) -> Any:
        """What the method gives."""
        return getattr(self._function, self._method)(*arguments)


def _as_callable(
    method: str, argument: str, given: Any, function_class: type[Function], attribute: str, expected: str
) -> Callable[..., Any]:
    if isinstance(given, function_class):
        if type(given).open is not Function.open or type(given).close is not Function.close:
            return OpenedFunction(given, attribute)
        return getattr(given, attribute)
    is_function_class = isinstance(given, type) and issubclass(given, Function)
    if is_function_class or isinstance(given, Function) or not callable(given):
        raise refuse_argument(method, argument, given, expected)
    return given


def _fields(key: Any) -> list[str | int] | None:
    if isinstance(key, bool):
        return None
    if isinstance(key, str | int):
        return [key]
    if isinstance(key, list | tuple) and key and all(isinstance(field, str | int) for field in key):
        return list(key)
    return None


def _by_fields(
    method: str, fields: list[str | int], record_type: TypeInformation
) -> tuple[Callable[[Any], Any], tuple[str | int, ...]]:
    """A selector of the fields and, where records have columns, the columns."""
    if isinstance(record_type, MapTypeInfo):
        return itemgetter(*fields), ()
    if not isinstance(record_type, CompositeTypeInfo):
        raise _no_fields(method, fields, record_type)
    positions = [_index(method, field, record_type) for field in fields]
    names = [record_type.get_field_names()[position] for position in positions]
    if isinstance(record_type, DataclassTypeInfo):
        return attrgetter(*names), tuple(names)
    if isinstance(record_type, RowTypeInfo):
        return RowFields(names, positions), tuple(names)
    return itemgetter(*positions), tuple(names)


def _index(method: str, field: str | int, record_type: CompositeTypeInfo) -> int:
    names = record_type.get_field_names()
    index = record_type.get_field_index(field) if isinstance(field, str) else field
    if not 0 <= index < len(names):
        raise refuse(f"{method}: the records have no field {field!r}; they have {', '.join(names)} ({record_type!r})")
    return index


def _no_fields(method: str, fields: list[str | int], record_type: TypeInformation) -> PlanError:
    wanted = ", ".join(repr(field) for field in fields)
    if record_type.is_pickled:
        reason = (
            "the records are Python objects of no declared type. Declare one (`output_type=...`, or an annotation "
            "of the function before, such as `-> Payment`)"
        )
    else:
        reason = f"the records are {record_type!r} and have no fields. Declare a row, tuple, dataclass or NamedTuple"
    return refuse(f"{method}: cannot find the field {wanted}: {reason}, or pass a function: `{method}(lambda r: ...)`")


def _type_of_fields(fields: list[str | int], record_type: TypeInformation) -> TypeInformation:
    assert isinstance(record_type, CompositeTypeInfo)
    types = [record_type.get_field_types()[_index("key_by", field, record_type)] for field in fields]
    return types[0] if len(types) == 1 else TupleTypeInfo(types)
