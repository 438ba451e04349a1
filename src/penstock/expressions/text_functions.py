"""Functions of texts."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import TypeInformation, Types
from penstock.expressions import regular_expressions, text_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel, converted
from penstock.expressions.operation import FunctionOperation, MethodOperation, Operation, quoted, require
from penstock.expressions.type_rules import BOOLEAN, DOUBLE, LONG, STRING, is_bytes, is_integer, is_number, is_text


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
        is_costly = self.name in _COSTLY
        return BoundKernel(text, result_type, operands, lambda value: kernel(value, *given), is_costly=is_costly)


def _trimmed(kernel: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    return lambda value, characters: kernel(value, text_kernels.WHITESPACE if characters is None else characters)


_COSTLY = frozenset({"regexp_extract", "regexp_replace"})

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
    "like": (BOOLEAN, regular_expressions.like),
    "regexp": (BOOLEAN, pc.match_substring_regex),
    "regexp_extract": (STRING, regular_expressions.extracted),
    "regexp_replace": (STRING, regular_expressions.replaced_by_pattern),
    "reverse": (STRING, pc.utf8_reverse),
    "find": (LONG, text_kernels.found_at),
    "lpad": (STRING, partial(text_kernels.padded, pc.utf8_lpad)),
    "rpad": (STRING, partial(text_kernels.padded, pc.utf8_rpad)),
    "repeat": (STRING, text_kernels.repeated),
    "split": (Types.LIST(STRING), pc.split_pattern),
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


@dataclass(frozen=True)
class ConcatWithSeparator(Operation):
    """Texts with a separator between them; those that are missing are left out."""

    encloses_operands = False

    separator: str

    def render(self, operands: Sequence[str]) -> str:
        return f"concat_ws({', '.join([quoted(self.separator), *operands])})"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_text, "texts; `.cast(str)` makes one of any value")
        separator = self.separator
        return BoundKernel(text, STRING, operands, lambda *texts: text_kernels.joined_with(separator, *texts))


@dataclass(frozen=True)
class FormatNumber(MethodOperation):
    """A number for people: `1,234.50`."""

    digits: int

    @property
    def method(self) -> str:
        return "format_number"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.digits,)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_number, "a number")
        computed = converted(operands[0], LONG if is_integer(operands[0].type) else DOUBLE)
        digits = self.digits
        return BoundKernel(text, STRING, (computed,), lambda value: text_kernels.formatted(value, digits))


@dataclass(frozen=True)
class Digest(MethodOperation):
    """`md5` and `sha256` of texts and bytes."""

    algorithm: str

    @property
    def method(self) -> str:
        return self.algorithm

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, lambda given: is_text(given) or is_bytes(given), "a text or bytes")
        algorithm = self.algorithm
        return BoundKernel(text, STRING, operands, lambda value: text_kernels.digests(value, algorithm))
