"""Calls that can be traced: builtins, `math`, methods of texts, and the making of rows, tuples and dataclasses."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import math
import operator
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.common.kernels import pc
from penstock.common.row import Row
from penstock.common.typeinfo_composite import why_not_rebuildable
from penstock.expressions import number_kernels
from penstock.tracing import kernels
from penstock.tracing.operations import Operations, is_constant_value, refuse_decimals
from penstock.tracing.refusal import NotTraceable
from penstock.tracing.terms import NUMBERS, Composite, Constant, Form, Kernel, Kind, Term

Arguments = Sequence[Term]
TracedCall = Callable[[Operations, str, Arguments], Term]
_WIDEST_CONSTANT = 10_000


def call(operations: Operations, function: Any, arguments: Arguments, keywords: Mapping[str, Term]) -> Term:
    """The value of a call of a listed function or of a class of records."""
    text = _call_text(getattr(function, "__name__", repr(function)), arguments, keywords)
    if isinstance(function, type) and function not in _FUNCTIONS:
        return _constructed(operations, function, arguments, keywords, text)
    traced = _FUNCTIONS.get(function) if _is_hashable(function) else None
    if traced is None:
        raise NotTraceable(f"it calls {_name(function)}, which is not known to be pure")
    if function is round and set(keywords) == {"ndigits"}:
        arguments, keywords = (*arguments, keywords["ndigits"]), {}
    if keywords:
        raise NotTraceable(f"`{text}`: arguments by name")
    if all(isinstance(argument, Constant) for argument in arguments) and arguments:
        return _folded(operations, function, arguments, text)
    return traced(operations, text, arguments)


def is_listed(function: Any) -> bool:
    """Whether calls of the function are traced by themselves."""
    return _is_hashable(function) and function in _FUNCTIONS


def is_text_method(function: Any) -> bool:
    """Whether it is a method of `str`, called with the text: `str.upper`."""
    return isinstance(function, types.MethodDescriptorType) and function.__objclass__ is str


def call_method(operations: Operations, owner: Term, name: str, arguments: Arguments) -> Term:
    """The value of `owner.name(...)`."""
    text = _call_text(f"{owner.enclosed}.{name}", arguments, {})
    if owner.kind is not Kind.STR:
        raise NotTraceable(f"`{text}`: a method of {owner.kind.value}")
    if not all(isinstance(argument, Constant) for argument in arguments):
        raise NotTraceable(f"`{text}`: an argument that is no constant")
    values = [argument.value for argument in arguments if isinstance(argument, Constant)]
    if isinstance(owner, Constant):
        return _method_of_constant(operations, owner, name, arguments, text)
    kernel, kind = _text_method(name, values, text)
    return operations.compute(kind, kernel, (owner,), text, parameters=values)


def formatted(operations: Operations, term: Term, conversion: str, spec: Term | None) -> Term:
    """A value inside an f-string."""
    if conversion == "r" or (conversion and conversion != "s"):
        if term.kind not in (*NUMBERS, Kind.STR) or conversion != "r":
            raise NotTraceable(f"`{term.text}!{conversion}` inside an f-string")
        term = call(operations, repr, (term,), {})
    elif conversion == "s":
        term = operations.as_text(term)
    if spec is None or (isinstance(spec, Constant) and spec.value == ""):
        return operations.as_text(term)
    if not isinstance(spec, Constant) or type(spec.value) is not str or term.kind not in (*NUMBERS, Kind.STR):
        raise NotTraceable(f"the format of `{term.text}` inside an f-string")
    return _formatted_as(operations, term, spec)


def _formatted_as(operations: Operations, term: Term, given: Constant) -> Term:
    spec: str = given.value
    if "n" in spec or "L" in spec:
        raise NotTraceable(f"the format {spec!r} depends on the machine")
    text = f"format({term.text}, {spec!r})"
    if isinstance(term, Constant):
        if any(int(digits) > _WIDEST_CONSTANT for digits in re.findall(r"\d+", spec)):
            raise NotTraceable(f"`{text}` is too large")
        return _folded(operations, format, (term, given), text)
    kernel = kernels.by_python(lambda value: format(value, spec), Kind.STR)
    return operations.compute(Kind.STR, kernel, (term,), text, parameters=spec)


def joined(operations: Operations, parts: Arguments) -> Term:
    """An f-string of its parts."""
    if all(isinstance(part, Constant) for part in parts):
        named = any(part.name for part in parts if isinstance(part, Constant))
        captured = any(part.is_captured for part in parts if isinstance(part, Constant))
        text = "".join(part.value for part in parts if isinstance(part, Constant))
        return operations.constant(text, _written(parts) if named else "", captured=captured)
    return operations.compute(Kind.STR, kernels.joined, parts, _written(parts))


def _written(parts: Arguments) -> str:
    """An f-string as Python would write it."""
    written = ""
    for part in parts:
        if isinstance(part, Constant) and not part.name:
            written += str(part.value)
        else:
            written += "{" + (part.text[4:-1] if part.text.startswith("str(") else part.text) + "}"
    return f"f{written!r}"


def tuple_of(items: Arguments) -> Composite:
    """A tuple of values."""
    inner = ", ".join(item.text for item in items)
    return Composite(Form.TUPLE, tuple(items), f"({inner},)" if len(items) == 1 else f"({inner})")


# --- functions


def _name(function: Any) -> str:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if name is None:
        return f"an object of the class {type(function).__qualname__}"
    return f"{name}" if module in (None, "builtins", "__main__") else f"{module}.{name}"


def _is_hashable(function: Any) -> bool:
    try:
        hash(function)
    except Exception:
        return False
    return True


def _call_text(name: str, arguments: Arguments, keywords: Mapping[str, Term]) -> str:
    shown = [argument.text for argument in arguments]
    shown += [f"{keyword}={value.text}" for keyword, value in keywords.items()]
    return f"{name}({', '.join(shown)})"


def _folded(operations: Operations, function: Any, arguments: Arguments, text: str) -> Term:
    try:
        constants = [argument for argument in arguments if isinstance(argument, Constant)]
        refuse_decimals(text, constants)
        named = any(constant.name for constant in constants)
        captured = any(constant.is_captured for constant in constants)
        value = function(*(constant.value for constant in constants))
        return operations.constant(value, text if named else "", captured=captured)
    except NotTraceable:
        raise
    except Exception as error:
        raise NotTraceable(f"`{text}` raises {type(error).__name__}") from None


def _one(arguments: Arguments, text: str) -> Term:
    if len(arguments) != 1:
        raise NotTraceable(f"`{text}`: {len(arguments)} arguments")
    return arguments[0]


def _length(operations: Operations, text: str, arguments: Arguments) -> Term:
    term = _one(arguments, text)
    if term.kind is Kind.STR:
        return operations.compute(Kind.INT, kernels.length, (term,), text)
    if isinstance(term, Composite) and term.form is not Form.INSTANCE:
        return operations.constant(len(term.items))
    raise NotTraceable(f"`{text}`: the length of {term.kind.value}")


def _absolute(operations: Operations, text: str, arguments: Arguments) -> Term:
    term = _one(arguments, text)
    if term.kind is Kind.FLOAT:
        return operations.compute(Kind.FLOAT, pc.abs, (term,), text)
    if term.kind in (Kind.INT, Kind.BOOL):
        return operations.compute(Kind.INT, pc.abs_checked, (operations.as_int(term),), text)
    raise NotTraceable(f"`{text}`: of {term.kind.value}")


def _to_int(operations: Operations, text: str, arguments: Arguments) -> Term:
    term = _one(arguments, text)
    if term.kind in (Kind.INT, Kind.BOOL):
        return operations.compute(Kind.INT, kernels.as_int, (term,), text)
    kernel = {Kind.FLOAT: kernels.truncated, Kind.STR: kernels.integer_of_text}.get(term.kind)
    if kernel is None:
        raise NotTraceable(f"`{text}`: of {term.kind.value}")
    return operations.compute(Kind.INT, kernel, (term,), text)


def _to_float(operations: Operations, text: str, arguments: Arguments) -> Term:
    term = _one(arguments, text)
    if term.kind in NUMBERS:
        number = term if term.kind is Kind.FLOAT else operations.as_int(term)
        return operations.compute(Kind.FLOAT, kernels.as_double, (number,), text)
    if term.kind is Kind.STR:
        return operations.compute(Kind.FLOAT, kernels.float_of_text, (term,), text)
    raise NotTraceable(f"`{text}`: of {term.kind.value}")


def _to_text(operations: Operations, text: str, arguments: Arguments) -> Term:
    return operations.as_text(_one(arguments, text))


def _to_bool(operations: Operations, text: str, arguments: Arguments) -> Term:
    return operations.truth(_one(arguments, text))


def _round(operations: Operations, text: str, arguments: Arguments) -> Term:
    if len(arguments) not in (1, 2):
        raise NotTraceable(f"`{text}`: {len(arguments)} arguments")
    term, *rest = arguments
    digits = rest[0] if rest else operations.constant(None)
    if not isinstance(digits, Constant) or type(digits.value) not in (int, type(None)):
        raise NotTraceable(f"`{text}`: digits that are no constant")
    if term.kind is Kind.FLOAT and digits.value is None:
        return operations.compute(Kind.INT, number_kernels.round_to_integer, (term,), text)
    if term.kind is Kind.FLOAT:
        places: int = digits.value
        rounded = _rounded_to(places)
        return operations.compute(Kind.FLOAT, rounded, (term,), text, parameters=places)
    if term.kind in (Kind.INT, Kind.BOOL):
        places = digits.value or 0
        kernel = kernels.by_python(lambda value: round(value, places), Kind.INT) if places < 0 else kernels.as_int
        return operations.compute(Kind.INT, kernel, (operations.as_int(term),), text, parameters=places)
    raise NotTraceable(f"`{text}`: of {term.kind.value}")


def _rounded_to(places: int) -> Kernel:
    return lambda value: number_kernels.round_float(value, places)


def _extreme(function: Callable[..., Any], kernel: Kernel) -> TracedCall:
    def traced(operations: Operations, text: str, arguments: Arguments) -> Term:
        if len(arguments) < 2:
            raise NotTraceable(f"`{text}`: of one argument")
        kinds = {argument.kind for argument in arguments}
        if len(kinds) > 1 or not kinds <= {Kind.INT, Kind.FLOAT, Kind.STR}:
            shown = " and ".join(sorted(kind.value for kind in kinds))
            raise NotTraceable(f"`{text}`: of {shown}")
        best = arguments[0]
        for place, argument in enumerate(arguments[1:], 2):
            part = text if place == len(arguments) else f"{text}[:{place}]"
            if isinstance(best, Constant) and isinstance(argument, Constant):
                best = _folded(operations, function, (best, argument), part)
            else:
                best = operations.compute(best.kind, kernel, (best, argument), part)
        return best

    return traced


def _of_float(
    kernel: Kernel, kind: Kind, *, of_integer: Callable[[Operations, Term], Term] | None = None
) -> TracedCall:
    def traced(operations: Operations, text: str, arguments: Arguments) -> Term:
        term = _one(arguments, text)
        if term.kind not in NUMBERS:
            raise NotTraceable(f"`{text}`: of {term.kind.value}")
        if term.kind is not Kind.FLOAT and of_integer is not None:
            return of_integer(operations, operations.as_int(term))
        return operations.compute(kind, kernel, (operations.as_float(term),), text)

    return traced


def _itself(operations: Operations, term: Term) -> Term:
    return operations.compute(Kind.INT, kernels.as_int, (term,), term.text, infix=term.is_infix)


def _by_python(function: Callable[..., Any], kind: Kind, takes: Sequence[Kind]) -> TracedCall:
    def traced(operations: Operations, text: str, arguments: Arguments) -> Term:
        for argument in arguments:
            if argument.kind not in takes:
                raise NotTraceable(f"`{text}`: of {argument.kind.value}")
        return operations.compute(kind, kernels.by_python(function, kind), arguments, text)

    return traced


_REAL = (
    *("exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot"),
    *("sinh", "cosh", "tanh", "radians", "degrees", "pow", "fmod", "copysign"),
)

_FUNCTIONS: dict[Any, TracedCall] = {
    builtins.len: _length,
    builtins.abs: _absolute,
    builtins.int: _to_int,
    builtins.float: _to_float,
    builtins.str: _to_text,
    builtins.bool: _to_bool,
    builtins.round: _round,
    builtins.max: _extreme(max, kernels.larger),
    builtins.min: _extreme(min, kernels.smaller),
    builtins.ord: _by_python(ord, Kind.INT, (Kind.STR,)),
    builtins.chr: _by_python(chr, Kind.STR, (Kind.INT,)),
    builtins.repr: _by_python(repr, Kind.STR, (*NUMBERS, Kind.STR)),
    math.sqrt: _of_float(pc.sqrt_checked, Kind.FLOAT),
    math.fabs: _of_float(pc.abs, Kind.FLOAT),
    math.floor: _of_float(kernels.floor, Kind.INT, of_integer=_itself),
    math.ceil: _of_float(kernels.ceiling, Kind.INT, of_integer=_itself),
    math.trunc: _of_float(kernels.truncated, Kind.INT, of_integer=_itself),
    math.isnan: _of_float(pc.is_nan, Kind.BOOL),
    math.isinf: _of_float(pc.is_inf, Kind.BOOL),
    math.isfinite: _of_float(pc.is_finite, Kind.BOOL),
    **{getattr(math, name): _by_python(getattr(math, name), Kind.FLOAT, NUMBERS) for name in _REAL},
}
"""Functions that depend on nothing but their arguments. What has no kernel with Python's results is computed by Python,
a column at a time."""


# --- methods of texts

_BY_PYTHON = {
    "capitalize": Kind.STR,
    "casefold": Kind.STR,
    "center": Kind.STR,
    "count": Kind.INT,
    "expandtabs": Kind.STR,
    "find": Kind.INT,
    "index": Kind.INT,
    "isalnum": Kind.BOOL,
    "isalpha": Kind.BOOL,
    "isascii": Kind.BOOL,
    "isdecimal": Kind.BOOL,
    "isdigit": Kind.BOOL,
    "isidentifier": Kind.BOOL,
    "islower": Kind.BOOL,
    "isnumeric": Kind.BOOL,
    "isprintable": Kind.BOOL,
    "isspace": Kind.BOOL,
    "istitle": Kind.BOOL,
    "isupper": Kind.BOOL,
    "ljust": Kind.STR,
    "lower": Kind.STR,
    "lstrip": Kind.STR,
    "removeprefix": Kind.STR,
    "removesuffix": Kind.STR,
    "replace": Kind.STR,
    "rfind": Kind.INT,
    "rindex": Kind.INT,
    "rjust": Kind.STR,
    "rstrip": Kind.STR,
    "startswith": Kind.BOOL,
    "endswith": Kind.BOOL,
    "strip": Kind.STR,
    "swapcase": Kind.STR,
    "title": Kind.STR,
    "upper": Kind.STR,
    "zfill": Kind.STR,
}

_WITHOUT_ARGUMENTS: dict[str, Kernel] = {
    "upper": kernels.upper,
    "lower": kernels.lower,
    "strip": kernels.strip,
    "lstrip": kernels.lstrip,
    "rstrip": kernels.rstrip,
}


def _text_method(name: str, arguments: list[Any], text: str) -> tuple[Kernel, Kind]:
    kind = _BY_PYTHON.get(name)
    if kind is None:
        raise NotTraceable(f"`{text}`: a method that is not traced")
    if not arguments and name in _WITHOUT_ARGUMENTS:
        return _WITHOUT_ARGUMENTS[name], kind
    if name in ("startswith", "endswith") and len(arguments) == 1:
        patterns = arguments[0] if isinstance(arguments[0], tuple) else (arguments[0],)
        if patterns and all(type(pattern) is str for pattern in patterns):
            return (kernels.begins if name == "startswith" else kernels.ends)(patterns), kind
    if name == "replace" and [type(argument) for argument in arguments] == [str, str]:
        return kernels.replaced(*arguments), kind
    if name == "count" and len(arguments) == 1 and type(arguments[0]) is str and arguments[0]:
        return kernels.counted(arguments[0]), kind
    return kernels.by_python(operator.methodcaller(name, *arguments), kind), kind


def _method_of_constant(operations: Operations, owner: Constant, name: str, arguments: Arguments, text: str) -> Term:
    """What a text that is known answers: `(r.note or "").upper()` has it on one of its ways."""
    if name not in _BY_PYTHON:
        raise NotTraceable(f"`{text}`: a method that is not traced")
    values = [argument.value for argument in arguments if isinstance(argument, Constant)]
    if any(isinstance(value, int) and value > _WIDEST_CONSTANT for value in values):
        raise NotTraceable(f"`{text}` is too large")
    return _folded(operations, getattr(str, name), (owner, *arguments), text)


# --- records


def _constructed(
    operations: Operations, cls: type[Any], arguments: Arguments, keywords: Mapping[str, Term], text: str
) -> Term:
    if cls is Row:
        if arguments and keywords:
            raise NotTraceable(f"`{text}` raises ValueError")
        items = (*arguments, *keywords.values())
        return Composite(Form.ROW, items, text, names=tuple(keywords) if keywords else None)
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__init__ is object.__init__
    if is_named_tuple and getattr(cls.__new__, "__module__", "").startswith("namedtuple_"):
        return _instance(operations, cls, list(cls._fields), arguments, keywords, text)  # type: ignore[attr-defined]
    if _is_plain_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]  # pyright: ignore[reportArgumentType]
        return _instance(operations, cls, names, arguments, keywords, text)
    raise NotTraceable(f"it makes an object of the class {cls.__qualname__}")


def _is_plain_dataclass(cls: type[Any]) -> bool:
    """Whether making an instance runs no code but the generated."""
    if not dataclasses.is_dataclass(cls) or why_not_rebuildable(cls) is not None:
        return False
    setter = cls.__setattr__
    generated = getattr(getattr(setter, "__code__", None), "co_filename", "") == "<string>"
    return cls.__new__ is object.__new__ and (setter is object.__setattr__ or generated)


def _instance(
    operations: Operations,
    cls: type[Any],
    names: list[str],
    arguments: Arguments,
    keywords: Mapping[str, Term],
    text: str,
) -> Composite:
    signature = inspect.signature(cls)
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise NotTraceable(f"`{text}` raises TypeError: {error}") from None
    if set(signature.parameters) != set(names):
        raise NotTraceable(f"`{text}`: takes other arguments than its fields")
    items: list[Any] = [
        bound.arguments[name] if name in bound.arguments else _default(operations, signature.parameters[name], text)
        for name in names
    ]
    return Composite(Form.INSTANCE, tuple(items), text, names=tuple(names), cls=cls)


def _default(operations: Operations, parameter: inspect.Parameter, text: str) -> Term:
    """What a field is where it is not given: the value itself was bound when the class was made, wherever that was."""
    if not is_constant_value(parameter.default):
        raise NotTraceable(f"`{text}`: the default of '{parameter.name}' is no constant")
    return operations.constant(parameter.default, captured=True)
