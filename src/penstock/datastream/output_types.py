"""The type of a stream: what the program declares, else what annotations say, else any Python object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.common.type_inference import infer_type, return_type_of
from penstock.common.typeinfo import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
)
from penstock.datastream.arguments import refuse, refuse_argument
from penstock.datastream.transformation import Upstream

TypeHint = TypeInformation | list[TypeInformation] | type[Any] | None
"""What stands for a type: `Types.INT()`, a list of types (a row), or a class (`int`, a dataclass, `list[str]`)."""


class ResolvedType(NamedTuple):
    """A type, and whether the program asked for it in so many words."""

    type_info: TypeInformation
    is_declared: bool


class ResultMethod(NamedTuple):
    """A method whose annotation says what an operator emits."""

    name: str
    emits_many: bool


MAP = (ResultMethod("map", False),)
FLAT_MAP = (ResultMethod("flat_map", True),)
PROCESS = (ResultMethod("process_element", True),)
CO_MAP = (ResultMethod("map1", False), ResultMethod("map2", False))
CO_FLAT_MAP = (ResultMethod("flat_map1", True), ResultMethod("flat_map2", True))
CO_PROCESS = (ResultMethod("process_element1", True), ResultMethod("process_element2", True))
BROADCAST_PROCESS = (ResultMethod("process_element", True),)


def type_from_hint(method: str, argument: str, hint: Any) -> TypeInformation:
    """The type that an argument stands for."""
    if isinstance(hint, TypeInformation):
        return hint
    if isinstance(hint, list) and hint and all(isinstance(field, TypeInformation) for field in hint):
        return RowTypeInfo(hint)
    expected = "a type: Types.INT(), a list of such types, or a class such as int or a dataclass"
    if hint is None or isinstance(hint, str | list) or (callable(hint) and not _is_class(hint)):
        raise refuse_argument(method, argument, hint, expected)
    return infer_type(hint)


def output_type_of(
    method: str, function: Any, output_type: TypeHint, result_methods: Sequence[ResultMethod]
) -> ResolvedType:
    """The type of what an operator emits. Methods of one function that say different things say nothing."""
    if output_type is not None:
        return ResolvedType(type_from_hint(method, "output_type", output_type), True)
    said = {return_type_of(function, method=name, unwrap_iterable=many) for name, many in result_methods}
    only = said.pop() if len(said) == 1 else None
    return ResolvedType(only or Types.PICKLED_BYTE_ARRAY(), False)


def united_type(method: str, upstreams: Sequence[Upstream]) -> ResolvedType:
    """The type of several streams as one. Two types that the program declared must be the same."""
    types = [upstream.output_type for upstream in upstreams]
    if all(other.exact_key() == types[0].exact_key() for other in types[1:]):
        return ResolvedType(types[0], all(upstream.type_is_declared for upstream in upstreams))
    declared = [upstream for upstream in upstreams if upstream.type_is_declared]
    for other in declared[1:]:
        if other.output_type != declared[0].output_type:
            raise refuse(
                f"{method}: the streams have different types: '{declared[0].transformation.name}' has "
                f"{declared[0].output_type!r}, '{other.transformation.name}' has {other.output_type!r}; "
                "map one of them to the type of the other"
            )
    return ResolvedType(Types.PICKLED_BYTE_ARRAY(), False)


def reduced_type(method: str, upstreams: Sequence[Upstream]) -> ResolvedType:
    """The type of what a function makes of two records: theirs where the program or their class says so, else any.

    A type that was found in example data binds nobody: the sum of such numbers may be text, as in PyFlink.
    """
    resolved = united_type(method, upstreams)
    if resolved.is_declared or isinstance(resolved.type_info, DataclassTypeInfo | NamedTupleTypeInfo):
        return resolved
    return ResolvedType(Types.PICKLED_BYTE_ARRAY(), False)


def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) or hasattr(hint, "__origin__")
