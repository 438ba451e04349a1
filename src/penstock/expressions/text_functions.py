"""Functions of texts."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import text_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel, converted
from penstock.expressions.operation import FunctionOperation, MethodOperation, require
from penstock.expressions.type_rules import BOOLEAN, LONG, STRING, is_text


@dataclass(frozen=True)
class TextMethod(MethodOperation):
    """A function of a text and of arguments that the program gives."""

    name: str
    given: tuple[str | int | None, ...] = ()

    @property
    def method(self) -> str:
        return self.name

    @property
    def arguments(self) -> Sequence[object]:
        return tuple(argument for argument in self.given if argument is not None)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_text, "a text")
        result_type, kernel = _METHODS[self.name]
        given = self.given
        return BoundKernel(text, result_type, operands, lambda value: kernel(value, *given))


def _trimmed(kernel: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    return lambda value, characters: kernel(value, text_kernels.WHITESPACE if characters is None else characters)


_METHODS: dict[str, tuple[TypeInformation, Callable[..., pa.Array]]] = {
    "upper": (STRING, text_kernels.upper),
    "lower": (STRING, text_kernels.lower),
    "length": (LONG, lambda value: pc.cast(pc.utf8_length(value), pa.int64())),
    "contains": (BOOLEAN, pc.match_substring),
    "startswith": (BOOLEAN, pc.starts_with),
    "endswith": (BOOLEAN, pc.ends_with),
    "substring": (STRING, text_kernels.substring),
    "trim": (STRING, _trimmed(pc.utf8_trim)),
    "ltrim": (STRING, _trimmed(pc.utf8_ltrim)),
    "rtrim": (STRING, _trimmed(pc.utf8_rtrim)),
    "replace": (STRING, pc.replace_substring),
    "like": (BOOLEAN, pc.match_like),
    "regexp": (BOOLEAN, pc.match_substring_regex),
}


@dataclass(frozen=True)
class Concat(FunctionOperation):
    """Texts one after the other."""

    @property
    def function(self) -> str:
        return "concat"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_text, "texts; `.cast(str)` makes one of any value")
        return BoundKernel(text, STRING, [converted(operand, STRING) for operand in operands], text_kernels.joined)
