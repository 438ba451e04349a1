"""Terms: the values that a traced function computes, each a Python value per record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

import pyarrow as pa

from penstock.common.row import Row
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CompositeTypeInfo,
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.tracing.refusal import NotTraceable


class Kind(Enum):
    """The Python class of a value. None may stand in the place of any of them."""

    INT = "int"
    FLOAT = "float"
    STR = "str"
    BOOL = "bool"
    DECIMAL = "Decimal"
    """Travels as text; fields that are such are handed on as they are."""
    NONE = "None"
    """A constant None."""
    OTHER = "object"
    """Values that are handed on as they are."""


ARROW_TYPES: dict[Kind, pa.DataType] = {
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STR: pa.string(),
    Kind.BOOL: pa.bool_(),
}
"""What is computed with: narrower columns are widened, which changes no value."""

NUMBERS = (Kind.INT, Kind.FLOAT, Kind.BOOL)
_KIND_OF_CLASS = {
    int: Kind.INT,
    float: Kind.FLOAT,
    str: Kind.STR,
    bool: Kind.BOOL,
    Decimal: Kind.DECIMAL,
    type(None): Kind.NONE,
}

_KIND_OF_BASIC = {
    BasicType.BYTE: Kind.INT,
    BasicType.SHORT: Kind.INT,
    BasicType.INT: Kind.INT,
    BasicType.LONG: Kind.INT,
    BasicType.FLOAT: Kind.FLOAT,
    BasicType.DOUBLE: Kind.FLOAT,
    BasicType.STRING: Kind.STR,
    BasicType.CHAR: Kind.STR,
    BasicType.BOOLEAN: Kind.BOOL,
}


def kind_of_type(type_info: TypeInformation) -> Kind:
    """The kind of the values of a type that has no fields."""
    if isinstance(type_info, BasicTypeInfo):
        return _KIND_OF_BASIC.get(type_info.basic_type, Kind.OTHER)
    return Kind.OTHER


_LONGEST_TEXT = 1_000


def _shortened(text: str) -> str:
    """What `x = x ^ (x >> 7)` makes of `x` has twice its text: a few dozen lines of it would have no end."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


class Term:
    """A value per record. Equal terms of one trace are one object."""

    kind: Kind
    text: str
    """As Python would write it."""
    is_infix: bool = False

    @property
    def enclosed(self) -> str:
        """The text as a part of other text."""
        return f"({self.text})" if self.is_infix else self.text


@dataclasses.dataclass(eq=False)
class Constant(Term):
    """The same value for all records: a number, a text, True, False, None, or a tuple or frozenset of such."""

    value: Any
    name: str = ""
    """What the function calls it. What is captured is shown by its name: it may be a password."""
    is_infix: bool = False
    is_captured: bool = False
    """Whether it is made of something from outside the function, which may have another value when the job runs."""
    kind: Kind = dataclasses.field(init=False)
    text: str = dataclasses.field(init=False)
    scalar: pa.Scalar | None = dataclasses.field(init=False, default=None)

    def __post_init__(self) -> None:
        self.kind = _KIND_OF_CLASS.get(type(self.value), Kind.OTHER)
        self.text = _shortened(self.name or repr(self.value))
        arrow_type = ARROW_TYPES.get(self.kind)
        if arrow_type is not None:
            try:
                self.scalar = pa.scalar(self.value, arrow_type)
            except (pa.ArrowException, OverflowError, UnicodeError):
                self.scalar = None  # an integer of more than 64 bits, or half a character


@dataclasses.dataclass(eq=False)
class Column(Term):
    """A field of the record, by the places that lead to it."""

    path: tuple[int, ...]
    type_info: TypeInformation
    text: str

    def __post_init__(self) -> None:
        self.kind = kind_of_type(self.type_info)


Kernel = Callable[..., Any]


@dataclasses.dataclass(eq=False)
class Computed(Term):
    """What a kernel makes of other values."""

    kind: Kind
    kernel: Kernel
    operands: tuple[Term, ...]
    text: str
    is_infix: bool = False
    takes_none: bool = False
    """Whether the kernel knows what Python says of None; otherwise a None among the operands is left to Python."""

    def __post_init__(self) -> None:
        self.text = _shortened(self.text)


@dataclasses.dataclass(eq=False)
class Record(Term):
    """A value with fields that comes as columns: the record itself, or a field of it that has fields."""

    path: tuple[int, ...]
    type_info: CompositeTypeInfo
    text: str
    kind: Kind = Kind.OTHER


def argument(type_info: TypeInformation, text: str, column: int | None = None) -> Record | Column:
    """What a function is called with: a value that lies in one column, else a record whose fields are the columns."""
    if isinstance(type_info, CompositeTypeInfo):
        return Record(() if column is None else (column,), type_info, text)
    return Column((column or 0,), type_info, text)


def are_made_of(terms: Iterable[Term], part: Term) -> bool:
    """Whether one of the values is, or was put together of, the very value of another term."""
    pending, seen = list(terms), set[int]()
    while pending:
        term = pending.pop()
        if term is part:
            return True
        if id(term) not in seen:
            seen.add(id(term))
            pending += getattr(term, "items", ())
    return False


class Form(Enum):
    """What a function makes of several values."""

    TUPLE = "tuple"
    ROW = "Row"
    INSTANCE = "instance"


@dataclasses.dataclass(eq=False)
class Composite(Term):
    """A tuple, a row, or an instance of a dataclass or named tuple class, made by the function."""

    form: Form
    items: tuple[Term, ...]
    text: str
    names: tuple[str, ...] | None = None
    cls: type[Any] | None = None
    kind: Kind = Kind.OTHER

    def __post_init__(self) -> None:
        self.text = _shortened(self.text)


def field_names(term: Record | Composite) -> Sequence[str] | None:
    """What the fields are called; None where they have places only."""
    if isinstance(term, Record):
        return None if type(term.type_info) is TupleTypeInfo else term.type_info.get_field_names()
    return term.names


def field_of(term: Record, place: int, text: str) -> Term:
    """The field at a place."""
    type_info = term.type_info.get_field_types()[place]
    path = (*term.path, place)
    if isinstance(type_info, CompositeTypeInfo):
        return Record(path, type_info, text)
    return Column(path, type_info, text)


def attribute_place(term: Record | Composite, name: str) -> int:
    """The place of the field that an attribute reads; refuses attributes that are more than a field."""
    names = field_names(term)
    if names is None or name not in names:
        raise NotTraceable(f"`{term.text}` has no field '{name}'")
    place = list(names).index(name)
    if isinstance(term, Record):
        is_row, cls = isinstance(term.type_info, RowTypeInfo), getattr(term.type_info, "cls", None)
    else:
        is_row, cls = term.form is Form.ROW, term.cls
    if is_row:
        if name.startswith("_") or hasattr(Row, name):
            raise NotTraceable(f"`{term.text}.{name}` is an attribute of every Row, not the field")
        return place
    if cls is None or not _is_plain_field(cls, name):
        raise NotTraceable(f"`{term.text}.{name}` is more than a field")
    return place


def _is_plain_field(cls: type[Any], name: str) -> bool:
    """Whether reading the attribute of an instance does nothing but give the value of the field."""
    if cls.__getattribute__ is not (tuple if issubclass(cls, tuple) else object).__getattribute__:
        return False
    found = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
    if issubclass(cls, tuple):
        return type(found).__name__ == "_tuplegetter"
    return type(found).__name__ == "member_descriptor" or not hasattr(type(found), "__get__")


def can_be_indexed(term: Record | Composite) -> bool:
    """Whether `value[place]` is the field at that place, and the fields are what it is unpacked to."""
    if isinstance(term, Composite):
        cls = term.cls
        return term.form is not Form.INSTANCE or _has_items_of_tuple(cls)
    type_info = term.type_info
    if isinstance(type_info, NamedTupleTypeInfo):
        return _has_items_of_tuple(type_info.cls)
    return not isinstance(type_info, DataclassTypeInfo)


def _has_items_of_tuple(cls: type[Any] | None) -> bool:
    if cls is None or not issubclass(cls, tuple):
        return False
    return cls.__getitem__ is tuple.__getitem__ and cls.__iter__ is tuple.__iter__
