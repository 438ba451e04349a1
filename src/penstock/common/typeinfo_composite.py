"""Types that are made of other types: arrays, lists, maps, rows, tuples, dataclasses, named tuples."""
# ruff: noqa: D102 (methods that a base class or protocol documents)

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.errors import InvalidTypeError
from penstock.common.typeinfo_basic import BasicType, BasicTypeInfo, TypeInformation

_PRIMITIVES = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    }
)


def _require_types(owner: str, types: Iterable[object]) -> None:
    for given in types:
        if not isinstance(given, TypeInformation):
            hint = ", call it" if callable(given) else ""
            raise InvalidTypeError(f"{owner} takes types such as Types.INT(), got {given!r}{hint}")


def _require_basic(owner: str, element_type: TypeInformation, allowed: frozenset[BasicType]) -> None:
    if not (isinstance(element_type, BasicTypeInfo) and element_type.basic_type in allowed):
        names = ", ".join(sorted(basic.name for basic in allowed))
        raise InvalidTypeError(f"{owner} takes one of {names}, got {element_type!r}; Types.LIST takes any type")


class CollectionTypeInfo(TypeInformation):
    """Any number of elements of one type."""

    def __init__(self, element_type: TypeInformation) -> None:
        _require_types(type(self).__name__, (element_type,))
        self._element_type = element_type

    @property
    def element_type(self) -> TypeInformation:
        """The type of each element."""
        return self._element_type

    def arrow_type(self) -> pa.DataType:
        return pa.list_(self._element_type.column_type())

    def parts(self) -> tuple[object, ...]:
        return (self._element_type,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type!r}>"


class PrimitiveArrayTypeInfo(CollectionTypeInfo):
    """A list of numbers, booleans or characters; an array of BYTE is `bytes`."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        _require_basic("Types.PRIMITIVE_ARRAY", element_type, _PRIMITIVES)

    @property
    def is_bytes(self) -> bool:
        """True where the Python value is `bytes`."""
        return self._element_type == BasicTypeInfo(BasicType.BYTE)

    def arrow_type(self) -> pa.DataType:
        return pa.binary() if self.is_bytes else super().arrow_type()


class BasicArrayTypeInfo(CollectionTypeInfo):
    """A list of numbers, booleans, characters or strings."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        _require_basic("Types.BASIC_ARRAY", element_type, _PRIMITIVES | {BasicType.STRING})


class ObjectArrayTypeInfo(CollectionTypeInfo):
    """A list of values of any type."""


class ListTypeInfo(CollectionTypeInfo):
    """A list of values of any type."""

    @property
    def elem_type(self) -> TypeInformation:
        """The type of each element, by PyFlink's name."""
        return self._element_type


class VariadicTupleTypeInfo(CollectionTypeInfo):
    """A tuple of any length whose elements have one type: `tuple[T, ...]`."""


class MapTypeInfo(TypeInformation):
    """A dict whose keys have one type and whose values have one type."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        _require_types("Types.MAP", (key_type_info, value_type_info))
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    @property
    def key_type(self) -> TypeInformation:
        """The type of the keys."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation:
        """The type of the values."""
        return self._value_type_info

    def arrow_type(self) -> pa.DataType:
        return pa.map_(self._key_type_info.column_type(), self._value_type_info.column_type())

    def parts(self) -> tuple[object, ...]:
        return self._key_type_info, self._value_type_info

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info!r}, {self._value_type_info!r}>"


class CompositeTypeInfo(TypeInformation):
    """A fixed number of fields; the records of a stream of this type have one Arrow column per field."""

    def __init__(self, field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> None:
        owner = type(self).__name__
        _require_types(owner, field_types)
        if not field_types:
            raise InvalidTypeError(f"{owner} needs at least one field")
        if len(field_names) != len(field_types):
            raise InvalidTypeError(
                f"{owner} has {len(field_names)} field names {list(field_names)} "
                f"but {len(field_types)} field types {list(field_types)}"
            )
        if len(set(field_names)) != len(field_names):
            raise InvalidTypeError(f"{owner} has two fields of one name: {list(field_names)}")
        self._field_names = tuple(field_names)
        self._field_types = tuple(field_types)

    def get_field_names(self) -> list[str]:
        """The names of the fields, in their order."""
        return list(self._field_names)

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, in their order."""
        return list(self._field_types)

    def get_field_index(self, field_name: str) -> int:
        """The place of a field; -1 where there is none of this name."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def arrow_fields(self) -> list[pa.Field]:
        """One Arrow field per field."""
        return [
            pa.field(name, field_type.column_type())
            for name, field_type in zip(self._field_names, self._field_types, strict=True)
        ]

    def arrow_type(self) -> pa.DataType:
        return pa.struct(self.arrow_fields())

    def parts(self) -> tuple[object, ...]:
        return self._field_types

    def exact_key(self) -> tuple[object, ...]:
        return *super().exact_key(), self._field_names

    def _named_fields(self) -> str:
        return ", ".join(f"{n}: {t!r}" for n, t in zip(self._field_names, self._field_types, strict=True))


def _default_names(count: int) -> list[str]:
    return [f"f{i}" for i in range(count)]


class RowTypeInfo(CompositeTypeInfo):
    """A `Row`; without given names its fields are f0, f1, ..."""

    def __init__(self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> None:
        super().__init__(_default_names(len(field_types)) if field_names is None else field_names, field_types)
        self._has_names = field_names is not None

    def __repr__(self) -> str:
        inner = self._named_fields() if self._has_names else ", ".join(map(repr, self._field_types))
        return f"RowTypeInfo({inner})"


class TupleTypeInfo(CompositeTypeInfo):
    """A tuple of a fixed number of fields: f0, f1, ..."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        super().__init__(_default_names(len(field_types)), field_types)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


class _ClassTypeInfo(CompositeTypeInfo):
    def __init__(self, cls: type[Any], field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> None:
        super().__init__(field_names, field_types)
        self._cls = cls

    @property
    def cls(self) -> type[Any]:
        """The class of the values."""
        return self._cls

    def parts(self) -> tuple[object, ...]:
        return self._cls, *self._field_types

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._cls.__qualname__}>({self._named_fields()})"


class DataclassTypeInfo(_ClassTypeInfo):
    """Instances of one dataclass, its fields in their order."""

    def __init__(self, cls: type[Any], field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> None:
        super().__init__(cls, field_names, field_types)
        obstacle = why_not_rebuildable(cls)
        if obstacle:
            raise InvalidTypeError(f"{cls.__qualname__} cannot be a DataclassTypeInfo: {obstacle}")
        declared = [f.name for f in dataclasses.fields(cls)]
        if declared != list(field_names):
            raise InvalidTypeError(
                f"the fields of dataclass {cls.__qualname__} are {declared}, got {list(field_names)}"
            )


class NamedTupleTypeInfo(_ClassTypeInfo):
    """Instances of one named tuple class."""

    def __init__(self, cls: type[Any], field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> None:
        super().__init__(cls, field_names, field_types)
        declared = getattr(cls, "_fields", None)
        if declared != tuple(field_names):
            raise InvalidTypeError(f"the fields of {cls.__qualname__} are {declared}, got {tuple(field_names)}")


def why_not_rebuildable(cls: type[Any]) -> str | None:
    """Why instances of a class cannot be made again from the values of their fields; None when they can."""
    if not dataclasses.is_dataclass(cls):
        return "it is no dataclass"
    if hasattr(cls, "__post_init__"):
        return "it has a __post_init__, which would run again on every copy"
    if any(not f.init for f in dataclasses.fields(cls)):
        return "it has fields with init=False"
    if set(inspect.signature(cls).parameters) != {f.name for f in dataclasses.fields(cls)}:
        return "its __init__ takes more than its fields (an InitVar?)"
    # Generated methods come from no file; any other __init__ is the user's and may do anything.
    is_generated = getattr(getattr(cls.__init__, "__code__", None), "co_filename", "") == "<string>"
    if not is_generated or type(cls).__call__ is not type.__call__:
        return f"its {'metaclass has a __call__' if is_generated else '__init__ is not the generated one'}"
    computed = [f.name for f in dataclasses.fields(cls) if _is_property(inspect.getattr_static(cls, f.name, None))]
    return f"its '{computed[0]}' is a property, which may give another value than it was given" if computed else None


def _is_property(held: object) -> bool:
    """Whether reading and writing the attribute runs code: a `property`, or any other with `__get__` and `__set__`."""
    return inspect.isdatadescriptor(held) and not inspect.ismemberdescriptor(held)
