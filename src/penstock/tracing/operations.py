"""Python's operators on terms: which kinds go together, what comes out, and which kernel computes it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import RowTypeInfo
from penstock.expressions.decimal_products import is_factor
from penstock.tracing import kernels
from penstock.tracing.refusal import NotTraceable
from penstock.tracing.terms import (
    ARROW_TYPES,
    NUMBERS,
    Column,
    Composite,
    Computed,
    Constant,
    Form,
    Kernel,
    Kind,
    Record,
    Term,
    attribute_place,
    can_be_indexed,
    field_names,
    field_of,
)

_CONSTANT_CLASSES = (int, float, str, bool, type(None))
_PYTHON_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    ">>": operator.rshift,
    "<<": operator.lshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "in": lambda item, container: item in container,
}
_LONGEST_CONSTANT = 10_000


def is_constant_value(value: object) -> bool:
    """Whether a value can never change: what a function may capture and still be traced."""
    return type(value) is Decimal or _is_plain_value(value)


def _is_plain_value(value: object) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_plain_value, value))  # type: ignore[call-overload]
    return type(value) in _CONSTANT_CLASSES


def _has_nan(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return any(map(_has_nan, value))  # type: ignore[arg-type]
    return isinstance(value, float) and math.isnan(value)


def refuse_decimals(text: str, constants: Iterable[Constant]) -> None:
    """Refuses to compute with decimal numbers when the function is traced: their context can change."""
    if any(constant.kind is Kind.DECIMAL for constant in constants):
        raise NotTraceable(f"`{text}`: a constant Decimal")


class Operations:
    """Makes terms of terms. Equal terms are made once, so that they are computed once."""

    def __init__(self) -> None:
        self._computed: dict[tuple[Any, ...], Computed] = {}
        self._constants: dict[tuple[type, str, str, bool], Constant] = {}
        self._fields: dict[tuple[int, int], Term] = {}

    def constant(self, value: Any, name: str = "", *, infix: bool = False, captured: bool = False) -> Constant:
        """The term of a value that is known; what has a name is captured."""
        if not (is_constant_value(value) or isinstance(value, slice)):
            raise NotTraceable(f"an object of the class {type(value).__qualname__} is no constant that can be traced")
        captured = captured or bool(name)
        made = Constant(value, name, infix and bool(name), captured)
        if _has_nan(value):
            return made  # `x in (y,)` is true of one NaN, and not of two: they must not become one
        return self._constants.setdefault((type(value), repr(value), name, captured), made)

    def compute(
        self,
        kind: Kind,
        kernel: Kernel,
        operands: Iterable[Term],
        text: str,
        *,
        infix: bool = False,
        takes_none: bool = False,
        parameters: object = None,
    ) -> Term:
        """The term of a kernel's result; `parameters` is what the kernel knows beside its operands."""
        operands = tuple(operands)
        for operand in operands:
            if isinstance(operand, Constant) and operand.scalar is None:
                raise NotTraceable(f"{operand.text} has no column form")
        key = (text, kind, repr(parameters), *map(id, operands))
        return self._computed.setdefault(key, Computed(kind, kernel, operands, text, infix, takes_none))

    # --- operators

    def binary(self, symbol: str, left: Term, right: Term) -> Term:
        """`left + right` and the like."""
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self._folded(symbol, left, right)
        text = f"{left.enclosed} {symbol} {right.enclosed}"
        if left.kind is Kind.STR and right.kind is Kind.STR and symbol == "+":
            return self.compute(Kind.STR, kernels.joined, (left, right), text, infix=True)
        if symbol == "*" and Kind.DECIMAL in (left.kind, right.kind):
            return self._decimal_product(left, right, text)
        if left.kind not in NUMBERS or right.kind not in NUMBERS:
            raise NotTraceable(f"`{text}`: {symbol} of {left.kind.value} and {right.kind.value}")
        if left.kind is right.kind is Kind.BOOL and symbol in kernels.BOOLEAN_ARITHMETIC:
            return self.compute(Kind.BOOL, kernels.BOOLEAN_ARITHMETIC[symbol], (left, right), text, infix=True)
        if Kind.FLOAT in (left.kind, right.kind):
            if symbol not in kernels.FLOAT_ARITHMETIC:
                raise NotTraceable(f"`{text}`: {symbol} of {left.kind.value} and {right.kind.value}")
            operands = (self.as_float(left), self.as_float(right))
            return self.compute(Kind.FLOAT, kernels.FLOAT_ARITHMETIC[symbol], operands, text, infix=True)
        if symbol not in kernels.INTEGER_ARITHMETIC:
            raise NotTraceable(f"`{text}`: {symbol} of {left.kind.value} and {right.kind.value}")
        if symbol == "**" and not (isinstance(right, Constant) and right.value >= 0):
            # A negative power is a float: which kind comes out has to be known.
            raise NotTraceable(f"`{text}`: the exponent is not known to be positive")
        kind = Kind.FLOAT if symbol == "/" else Kind.INT
        operands = (self.as_int(left), self.as_int(right))
        return self.compute(kind, kernels.INTEGER_ARITHMETIC[symbol], operands, text, infix=True)

    def _decimal_product(self, left: Term, right: Term, text: str) -> Term:
        integer, factor = (left, right) if isinstance(right, Constant) else (right, left)
        if integer.kind not in (Kind.INT, Kind.BOOL) or not isinstance(factor, Constant):
            raise NotTraceable(f"`{text}`: * of {left.kind.value} and {right.kind.value}")
        if not is_factor(factor.value):
            raise NotTraceable(f"`{text}`: a Decimal of too many digits, or not above zero")
        kernel = kernels.decimal_products(factor.value)
        operands = (self.as_int(integer),)
        return self.compute(Kind.DECIMAL, kernel, operands, text, infix=True, parameters=factor.value)

    def unary(self, symbol: str, operand: Term) -> Term:
        """`-x`, `+x`, `~x`."""
        if isinstance(operand, Constant):
            functions = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
            return self._of_python(lambda: functions[symbol](operand.value), f"{symbol}{operand.text}", operand)
        text = f"{symbol}{operand.enclosed}"
        if operand.kind is Kind.FLOAT and symbol != "~":
            return self.compute(Kind.FLOAT, pc.negate if symbol == "-" else _same, (operand,), text, infix=True)
        if operand.kind not in (Kind.INT, Kind.BOOL):
            raise NotTraceable(f"`{text}`: {symbol} of {operand.kind.value}")
        kernel = {"-": pc.negate_checked, "+": _same, "~": pc.bit_wise_not}[symbol]
        return self.compute(Kind.INT, kernel, (self.as_int(operand),), text, infix=True)

    def compare(self, symbol: str, left: Term, right: Term) -> Term:
        """`left < right` and the like."""
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self._folded(symbol, left, right)
        text = f"{left.enclosed} {symbol} {right.enclosed}"
        is_equality = symbol in ("==", "!=")
        if is_equality and Kind.NONE in (left.kind, right.kind):
            value = left if right.kind is Kind.NONE else right
            if value.kind is Kind.OTHER:
                raise NotTraceable(f"`{text}`: {symbol} of a value that is neither number nor text")
            return self.is_none(value, symbol == "!=", text)
        are_numbers = left.kind in NUMBERS and right.kind in NUMBERS
        if not are_numbers and not left.kind is right.kind is Kind.STR:
            raise NotTraceable(f"`{text}`: {symbol} of {left.kind.value} and {right.kind.value}")
        differ = False
        if are_numbers:
            if Kind.BOOL in (left.kind, right.kind) and left.kind is not right.kind:
                left, right = self._unless_float(left), self._unless_float(right)
            differ = left.kind is not right.kind
        if left.kind is Kind.BOOL and not is_equality:
            left, right = self.as_int(left), self.as_int(right)
        if is_equality:
            kernel = kernels.equality(symbol, differ)
            return self.compute(Kind.BOOL, kernel, (left, right), text, infix=True, takes_none=True)
        return self.compute(Kind.BOOL, kernels.compared(symbol, differ), (left, right), text, infix=True)

    def _unless_float(self, term: Term) -> Term:
        return term if term.kind is Kind.FLOAT else self.as_int(term)

    def is_(self, left: Term, right: Term, inverted: bool) -> Term:
        """`left is right`, where one of them is None, True or False."""
        if isinstance(left, Constant):
            left, right = right, left
        text = f"{left.enclosed} is {'not ' if inverted else ''}{right.enclosed}"
        if not isinstance(right, Constant) or not (right.value is None or isinstance(right.value, bool)):
            raise NotTraceable(f"`{text}`: only None, True and False are one object for all")
        if isinstance(left, Constant):
            captured = left.is_captured or right.is_captured
            return self.constant((left.value is right.value) is not inverted, captured=captured)
        if right.value is None:
            return self.is_none(left, inverted, text)
        if left.kind is not Kind.BOOL:
            raise NotTraceable(f"`{text}`: {left.kind.value} is neither True nor False")
        return self.compare("!=" if inverted else "==", left, right)

    def is_none(self, term: Term, inverted: bool, text: str) -> Term:
        """`term is None`."""
        if isinstance(term, Constant):
            return self.constant((term.value is None) is not inverted, captured=term.is_captured)
        if isinstance(term, Composite) or (isinstance(term, Record) and not term.path):
            return self.constant(inverted)
        if isinstance(term, Column) and term.type_info.is_pickled:
            raise NotTraceable(f"`{text}`: the field may hold any object")
        kernel = pc.is_valid if inverted else kernels.is_none
        return self.compute(Kind.BOOL, kernel, (term,), text, infix=True, takes_none=True)

    def truth(self, term: Term) -> Term:
        """`bool(term)`."""
        if isinstance(term, Constant):
            return self.constant(bool(term.value), captured=term.is_captured)
        kernel = _TRUTH.get(term.kind)
        if kernel is None:
            raise NotTraceable(f"whether `{term.text}` is true")
        if term.kind is Kind.BOOL and isinstance(term, Computed):
            return term
        return self.compute(Kind.BOOL, kernel, (term,), term.text, infix=term.is_infix, takes_none=True)

    def negated(self, term: Term) -> Term:
        """`not term`."""
        truth = self.truth(term)
        if isinstance(truth, Constant):
            return self.constant(not truth.value, captured=truth.is_captured)
        return self.compute(Kind.BOOL, pc.invert, (truth,), f"not {truth.enclosed}", infix=True)

    def contains(self, item: Term, container: Term, inverted: bool) -> Term:
        """`item in container`."""
        found = self._found(item, container)
        return self.negated(found) if inverted else found

    def _found(self, item: Term, container: Term) -> Term:
        if isinstance(item, Constant) and isinstance(container, Constant):
            return self._folded("in", item, container)
        text = f"{item.enclosed} in {container.enclosed}"
        if item.kind is container.kind is Kind.STR:
            if isinstance(item, Constant):
                kernel = kernels.contains(item.value)
                return self.compute(Kind.BOOL, kernel, (container,), text, infix=True, parameters=item.value)
            within = kernels.by_python(lambda part, whole: part in whole, Kind.BOOL)
            return self.compute(Kind.BOOL, within, (item, container), text, infix=True)
        if not isinstance(container, Constant) or type(container.value) not in (tuple, frozenset):
            raise NotTraceable(f"`{text}`: only texts, and constant tuples and sets, are looked into")
        if item.kind not in (*NUMBERS, Kind.STR):
            raise NotTraceable(f"`{text}`: {item.kind.value}")
        return self._among(item, container.value, text)

    def _among(self, item: Term, values: Iterable[Any], text: str) -> Term:
        if item.kind is Kind.BOOL:
            raise NotTraceable(f"`{text}`: bool")
        values = list(values)
        comparable = str if item.kind is Kind.STR else (int, float)
        same: list[Any] = [value for value in values if isinstance(value, comparable)]
        if item.kind is Kind.FLOAT and any(not isinstance(value, float) for value in same):
            raise NotTraceable(f"`{text}`: a float among numbers that are none")
        if item.kind is Kind.INT:
            # A float equals an int where it is whole.
            whole = [int(v) for v in same if not isinstance(v, float) or v.is_integer()]
            same = [value for value in whole if -(1 << 63) <= value < (1 << 63)]
        try:
            constants = pa.array(same, ARROW_TYPES[item.kind])
        except (pa.ArrowException, UnicodeError):
            raise NotTraceable(f"`{text}`: a value that has no column form") from None
        if item.kind is Kind.FLOAT:
            return self._equal_to_any(item, same, None in values, text)
        kernel = kernels.one_of(constants, None in values)
        return self.compute(Kind.BOOL, kernel, (item,), text, infix=True, takes_none=True, parameters=values)

    def _equal_to_any(self, item: Term, values: list[float], has_none: bool, text: str) -> Term:
        # Kernels look up floats by their bits: 0.0 is not -0.0 to them.
        kernel = kernels.by_python(lambda value: value in values, Kind.BOOL)
        if has_none:
            raise NotTraceable(f"`{text}`: None among floats")
        return self.compute(Kind.BOOL, kernel, (item,), text, infix=True, parameters=values)

    # --- conversions

    def as_int(self, term: Term) -> Term:
        """A bool as an int, for arithmetic."""
        if term.kind is not Kind.BOOL:
            return term
        if isinstance(term, Constant):
            return self.constant(int(term.value), term.name, captured=term.is_captured)
        return self.compute(Kind.INT, kernels.as_int, (term,), term.text, infix=term.is_infix)

    def as_float(self, term: Term) -> Term:
        """A number as a float, for arithmetic."""
        if term.kind is Kind.FLOAT:
            return term
        if isinstance(term, Constant):
            return self._of_python(lambda: float(term.value), term.text, term)
        integer = self.as_int(term)
        return self.compute(Kind.FLOAT, kernels.as_double, (integer,), term.text, infix=term.is_infix)

    def as_text(self, term: Term) -> Term:
        """`str(term)`."""
        text = f"str({term.text})"
        if term.kind is Kind.STR:
            return self.required(term)
        if isinstance(term, Constant):
            return self._of_python(lambda: str(term.value), text, term)
        if term.kind is Kind.INT:
            return self.compute(Kind.STR, kernels.text_of_integer, (term,), text)
        if term.kind is Kind.BOOL:
            return self.compute(Kind.STR, kernels.text_of_boolean, (term,), text)
        if term.kind is Kind.FLOAT:
            return self.compute(Kind.STR, kernels.by_python(str, Kind.STR), (term,), text)
        raise NotTraceable(f"`{text}`: of {term.kind.value}")

    def required(self, term: Term) -> Term:
        """The same value, where it is not None."""
        return term if isinstance(term, Constant) else self.compute(term.kind, _same, (term,), term.text)

    # --- parts

    def attribute(self, term: Term, name: str) -> Term:
        """`term.name`."""
        if not isinstance(term, Record | Composite):
            raise NotTraceable(f"`{term.text}.{name}`: an attribute of {term.kind.value}")
        return self._field(term, attribute_place(term, name), f"{term.text}.{name}")

    def item(self, term: Term, key: Term) -> Term:
        """`term[key]`."""
        text = f"{term.enclosed}[{key.text}]"
        if not isinstance(key, Constant):
            raise NotTraceable(f"`{text}`: the index is no constant")
        if isinstance(key.value, slice):
            return self.part(term, key)
        if isinstance(term, Constant):
            return self._of_python(lambda: term.value[key.value], text, term, key)
        if term.kind is Kind.STR and type(key.value) is int:
            return self.compute(Kind.STR, kernels.character(key.value), (term,), text, parameters=key.value)
        if not isinstance(term, Record | Composite):
            raise NotTraceable(f"`{text}`: an item of {term.kind.value}")
        return self._field(term, _item_place(term, key.value, text), text)

    def part(self, term: Term, key: Constant) -> Term:
        """`term[start:stop]`."""
        part: slice = key.value
        bounds = ["" if bound is None else repr(bound) for bound in (part.start, part.stop)]
        text = f"{term.enclosed}[{':'.join(bounds)}{'' if part.step is None else f':{part.step}'}]"
        if any(type(bound) not in (int, type(None)) for bound in (part.start, part.stop, part.step)):
            raise NotTraceable(f"`{text}`")
        if isinstance(term, Constant):
            return self._of_python(lambda: term.value[part], text, term, key)
        if term.kind is Kind.STR:
            return self.compute(Kind.STR, kernels.sliced(part), (term,), text, parameters=part)
        raise NotTraceable(f"`{text}`: a part of {term.kind.value}")

    def items(self, term: Term, count: int) -> list[Term]:
        """`a, b = term`."""
        items = self.all_items(term)
        if len(items) != count:
            raise NotTraceable(f"`{term.text}` has {len(items)} values, and {count} are taken")
        return items

    def all_items(self, term: Term) -> list[Term]:
        """`*term`."""
        if isinstance(term, Constant) and isinstance(term.value, tuple):
            names = [f"{term.name}[{place}]" if term.name else "" for place in range(len(term.value))]
            parts = zip(term.value, names, strict=True)
            return [self.constant(value, name, captured=term.is_captured) for value, name in parts]
        if not isinstance(term, Record | Composite) or not can_be_indexed(term):
            raise NotTraceable(f"unpacking `{term.text}`")
        names = term.items if isinstance(term, Composite) else term.type_info.get_field_names()
        return [self._field(term, place, f"{term.text}[{place}]") for place in range(len(names))]

    def _field(self, term: Record | Composite, place: int, text: str) -> Term:
        if isinstance(term, Composite):
            return term.items[place]
        return self._fields.setdefault((id(term), place), field_of(term, place, text))

    def fields(self, record: Record) -> list[Term]:
        """All fields of a record: those that were read are the very terms that were made then."""
        names = record.type_info.get_field_names()
        return [self._field(record, place, f"{record.text}[{place}]") for place in range(len(names))]

    def places_read(self, record: Record) -> set[int]:
        """The places of the fields that were looked at."""
        return {place for owner, place in self._fields if owner == id(record)}

    # --- what is known already

    def _folded(self, symbol: str, left: Constant, right: Constant) -> Term:
        text = f"{left.enclosed} {symbol} {right.enclosed}"
        if symbol in ("*", "**", "<<") and not isinstance(left.value, float) and not isinstance(right.value, float):
            sizes = [abs(value) if isinstance(value, int) else 0 for value in (left.value, right.value)]
            if max(sizes) > 1 << 63 or (symbol != "*" and sizes[1] > 64) or _is_long_repetition(left, right):
                raise NotTraceable(f"`{text}` is too large")
        return self._of_python(lambda: _PYTHON_OPERATORS[symbol](left.value, right.value), text, left, right)

    def _of_python(self, compute: Callable[[], Any], text: str, *operands: Constant) -> Term:
        refuse_decimals(text, operands)
        try:
            value = compute()
        except Exception as error:
            raise NotTraceable(f"`{text}` raises {type(error).__name__}") from None
        is_named = any(operand.name for operand in operands)
        captured = any(operand.is_captured for operand in operands)
        return self.constant(value, text if is_named else "", infix=True, captured=captured)


def _is_long_repetition(left: Constant, right: Constant) -> bool:
    for values, count in ((left.value, right.value), (right.value, left.value)):
        if isinstance(values, str | tuple) and isinstance(count, int) and len(values) * count > _LONGEST_CONSTANT:
            return True
    return False


def _same(value: Any) -> Any:
    return value


_TRUTH: dict[Kind, Kernel] = {
    Kind.INT: kernels.truth_of_number,
    Kind.FLOAT: kernels.truth_of_number,
    Kind.BOOL: kernels.truth_of_boolean,
    Kind.STR: kernels.truth_of_text,
}


def _item_place(term: Record | Composite, key: Any, text: str) -> int:
    names = field_names(term)
    count = len(term.items) if isinstance(term, Composite) else len(term.type_info.get_field_names())
    if type(key) is str:
        is_row = term.form is Form.ROW if isinstance(term, Composite) else isinstance(term.type_info, RowTypeInfo)
        if not is_row or names is None or key not in names:
            raise NotTraceable(f"`{text}`: there is no such field")
        return list(names).index(key)
    if type(key) is not int or not can_be_indexed(term) or not -count <= key < count:
        raise NotTraceable(f"`{text}`: there is no such item")
    return key % count
