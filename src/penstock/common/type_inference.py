"""Types from annotations, classes, functions and example data. What is not understood is pickled."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from penstock.common.codecs import codec_for
from penstock.common.errors import TypeMismatchError
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    TypeInformation,
    Types,
    VariadicTupleTypeInfo,
)
from penstock.common.typeinfo_composite import why_not_rebuildable

_PICKLED = Types.PICKLED_BYTE_ARRAY()
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())

_OF_CLASS: dict[type, TypeInformation] = {
    int: Types.LONG(),
    float: Types.DOUBLE(),
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    bytes: _BYTES,
    Decimal: Types.BIG_DEC(),
    date: Types.SQL_DATE(),
    time: Types.SQL_TIME(),
    datetime: Types.SQL_TIMESTAMP(),
    Instant: Types.INSTANT(),
}

_ALIAS: type[Any] | None = getattr(typing, "TypeAliasType", None)  # `type Name = ...`, from Python 3.12 on

# What a function object of PyFlink's is called by; the first method that is there speaks for the object.
_FUNCTION_METHODS = ("map", "flat_map", "reduce", "process_element", "filter", "get_key", "__call__")


def infer_type(annotation: Any) -> TypeInformation:
    """The type that an annotation or a class stands for.

    >>> infer_type(int), infer_type(list[str]), infer_type(tuple[int, float])
    (Long, ListTypeInfo<String>, TupleTypeInfo(Long, Double))

    `Annotated[float, Types.FLOAT()]` names a type that Python has no word for.
    """
    return _infer(annotation, ())


def infer_type_of_values(examples: Sequence[Any]) -> TypeInformation:
    """The type of data that is at hand; give all of it: a later value of another type would not fit.

    Data of one type (None aside) that comes back from Arrow exactly as it went in has that type, all else is
    pickled.
    """
    inferred = _infer_values([value for value in examples if value is not None])
    if inferred.is_pickled:
        return _PICKLED
    try:
        codec_for(inferred).to_columns(examples)
    except TypeMismatchError:
        # A class declares its fields: a value that breaks its word is reported by the job, not hidden here.
        is_declared = isinstance(inferred, DataclassTypeInfo | NamedTupleTypeInfo)
        return inferred if is_declared and all(value is not None for value in examples) else _PICKLED
    return inferred


def return_type_of(
    function: Any, *, method: str | None = None, unwrap_iterable: bool = False
) -> TypeInformation | None:
    """The type that a function says it returns; None when it says nothing.

    `function` is a function, a lambda, a `partial`, a class (which returns its instances) or an object: then
    `method`, or the first of `map`, `flat_map`, `process_element`, ... that it has, is looked at. With
    `unwrap_iterable` an `Iterator[T]`, `Iterable[T]`, `Generator[T, ...]` or collection of T stands for T.
    """
    if inspect.isclass(function):
        inferred = _infer(function, ())
        # int("9" * 30) is no LONG, and nothing was declared here: what may not fit is pickled.
        return None if inferred.is_pickled or unwrap_iterable or function in (int, datetime, time) else inferred
    annotation = _return_annotation(function, method)
    if annotation in (inspect.Signature.empty, type(None)):
        return None
    if unwrap_iterable:
        return _infer_element(annotation)
    return infer_type(annotation)


def _return_annotation(function: Any, method: str | None) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        names = (method,) if method else _FUNCTION_METHODS
        function = next((getattr(function, name) for name in names if hasattr(function, name)), None)
    try:
        return _hints(function).get("return", inspect.Signature.empty)
    except Exception:  # an annotation that cannot be evaluated says nothing
        return inspect.Signature.empty


def _hints(annotated: Any) -> dict[str, Any]:
    return get_type_hints(annotated, include_extras=True)


def _infer_element(annotation: Any) -> TypeInformation | None:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Iterator, Iterable, Generator, Sequence, Collection, list, set, frozenset) and arguments:
        return infer_type(arguments[0])
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return infer_type(arguments[0])
    if origin in (Union, types.UnionType):
        inner = _without_none(arguments)
        return _infer_element(inner) if inner is not None else None
    return None


def _without_none(arguments: tuple[Any, ...]) -> Any:
    rest = [argument for argument in arguments if argument is not type(None)]
    return rest[0] if len(rest) == 1 else None


def _infer(annotation: Any, enclosing: tuple[type, ...]) -> TypeInformation:  # noqa: PLR0911 (a table)
    if isinstance(annotation, TypeInformation):
        return annotation
    if isinstance(annotation, NewType):
        return _infer(annotation.__supertype__, enclosing)
    if _ALIAS is not None and isinstance(annotation, _ALIAS):
        return _infer(annotation.__value__, enclosing)
    origin = get_origin(annotation)
    if origin is Annotated:
        declared = [extra for extra in annotation.__metadata__ if isinstance(extra, TypeInformation)]
        return declared[0] if declared else _infer(annotation.__origin__, enclosing)
    if origin is Literal:
        return _of_literals(get_args(annotation))
    if origin in (Union, types.UnionType):
        inner = _without_none(get_args(annotation))
        return _PICKLED if inner is None else _infer(inner, enclosing)
    if origin is not None:
        return _of_generic(origin, get_args(annotation), enclosing)
    if isinstance(annotation, type):
        return _of_class(annotation, enclosing)
    return _PICKLED


def _of_literals(literals: tuple[Any, ...]) -> TypeInformation:
    classes = {type(literal) for literal in literals}
    return _OF_CLASS.get(classes.pop(), _PICKLED) if len(classes) == 1 else _PICKLED


def _of_generic(origin: Any, arguments: tuple[Any, ...], enclosing: tuple[type, ...]) -> TypeInformation:
    if origin is list and len(arguments) == 1:
        return _unless_pickled(Types.LIST, [_infer(arguments[0], enclosing)])
    if origin is dict and len(arguments) == 2:
        return _unless_pickled(Types.MAP, [_infer(argument, enclosing) for argument in arguments])
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _unless_pickled(VariadicTupleTypeInfo, [_infer(arguments[0], enclosing)])
    if origin is tuple and arguments:
        return _of_fields(Types.TUPLE, [_infer(argument, enclosing) for argument in arguments])
    return _PICKLED


def _unless_pickled(make: Callable[..., TypeInformation], parts: list[TypeInformation]) -> TypeInformation:
    return _PICKLED if any(part.is_pickled for part in parts) else make(*parts)


def _of_fields(
    make: Callable[[list[TypeInformation]], TypeInformation], field_types: list[TypeInformation]
) -> TypeInformation:
    # Known fields as columns serve keys and expressions; where none is known, one pickle is cheaper.
    return _PICKLED if all(field_type.is_pickled for field_type in field_types) else make(field_types)


def _of_class(cls: type, enclosing: tuple[type, ...]) -> TypeInformation:
    known = _OF_CLASS.get(cls)
    if known is not None:
        return known
    # Values of subclasses would lose what the subclass adds: a class that has some stands for a family.
    if cls in enclosing or cls.__subclasses__():
        return _PICKLED
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    if not is_named_tuple and why_not_rebuildable(cls) is not None:
        return _PICKLED
    names: list[str] = (
        list(cls._fields) if is_named_tuple else [f.name for f in dataclasses.fields(cls)]  # type: ignore[attr-defined]
    )
    try:
        hints = _hints(cls)
    except Exception:  # a name that is not there (a class local to a function, say): nothing is known
        return _PICKLED
    make = NamedTupleTypeInfo if is_named_tuple else DataclassTypeInfo
    field_types = [_infer(hints.get(name, Any), (*enclosing, cls)) for name in names]
    return _of_fields(lambda inferred: make(cls, names, inferred), field_types)


def _infer_values(values: Sequence[Any]) -> TypeInformation:  # noqa: PLR0911 (a table)
    """The type of values none of which is None."""
    classes = set(map(type, values))
    if len(classes) != 1:
        return _PICKLED
    cls = classes.pop()
    if cls is int:
        return Types.LONG() if all(-(1 << 63) <= value < (1 << 63) for value in values) else _PICKLED
    if cls in (datetime, time):
        return _OF_CLASS[cls] if all(v.tzinfo is None and not v.fold for v in values) else _PICKLED
    if cls is tuple:
        return _infer_tuples(values)
    if cls is list:
        return _infer_containers(Types.LIST, [[element for value in values for element in value]])
    if cls is dict:
        keys = [key for value in values for key in value]
        return _infer_containers(Types.MAP, [keys, [v for value in values for v in value.values()]])
    return _of_class(cls, ())


def _infer_containers(make: Callable[..., TypeInformation], parts: Iterable[list[Any]]) -> TypeInformation:
    return _unless_pickled(make, [_infer_values([v for v in part if v is not None]) for part in parts])


def _infer_tuples(values: Sequence[tuple[Any, ...]]) -> TypeInformation:
    arities = set(map(len, values))
    if len(arities) != 1 or arities == {0}:
        return _PICKLED
    fields = [[field for field in column if field is not None] for column in zip(*values, strict=True)]
    return _unless_pickled(lambda *parts: Types.TUPLE(parts), [_infer_values(field) for field in fields])
