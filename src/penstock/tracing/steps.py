"""One instruction of Python after the other, on terms instead of values."""
# ruff: noqa: D102 (each method is the instruction that the table at the end names)

from __future__ import annotations

import dis
import math
import sys
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.tracing import calls
from penstock.tracing.operations import is_constant_value
from penstock.tracing.refusal import NotTraceable
from penstock.tracing.stack import FAILURE, NULL, Failure, Frame, Known, Method, Null, StackValue
from penstock.tracing.terms import Column, Composite, Computed, Constant, Record, Term
from penstock.tracing.trees import Raises, Tree, checked

if TYPE_CHECKING:
    from penstock.tracing.execution import Execution


class Steps:
    """Straight on from one instruction to the next, until a branch or the end."""

    def __init__(
        self, execution: Execution, frame: Frame, stack: list[StackValue], variables: dict[str, StackValue]
    ) -> None:
        self._execution = execution
        self._operations = execution.operations
        self._frame = frame
        self._stack = stack
        self._variables = variables
        self._keyword_names: tuple[str, ...] = ()
        self._evaluated: list[Term] = []

    def run(self, index: int) -> Tree:
        """To the end. What was computed and may raise is computed, be it of use or not."""
        return checked(self._evaluated, self._run(index))

    def _run(self, index: int) -> Tree:
        instructions = self._frame.instructions
        while True:
            instruction = instructions[index]
            self._execution.step(self._frame, instruction)
            name = instruction.opname
            self._next = index + 1
            if name in _SKIPPED:
                pass
            elif name in _ENDS:
                return _ENDS[name](self, instruction)
            elif name in _STEPS:
                tree = _STEPS[name](self, instruction)
                if tree is not None:
                    return tree
            else:
                raise NotTraceable(_REASONS.get(name, f"it has something in it that is not traced ({name})"))
            index += 1

    # --- the stack

    def _push(self, value: StackValue) -> None:
        self._stack.append(value)
        if isinstance(value, Computed) or (isinstance(value, Column | Record) and len(value.path) > 1):
            self._evaluated.append(value)

    def _pop(self) -> StackValue:
        return self._stack.pop()

    def _pop_term(self) -> Term:
        return self._as_term(self._stack.pop())

    def _as_term(self, value: StackValue) -> Term:
        if isinstance(value, Known):
            raise NotTraceable(f"it uses {_shown(value.value)} as a value; what it captures must be a constant")
        if isinstance(value, Method):
            raise NotTraceable(f"it uses the method `{value.owner.text}.{value.name}` as a value")
        if isinstance(value, Null | Failure):
            raise NotTraceable("it uses an exception as a value")
        return value

    def _pop_terms(self, count: int) -> list[Term]:
        values = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return [self._as_term(value) for value in values]

    # --- loading and storing

    def load_const(self, instruction: dis.Instruction) -> None:
        value = instruction.argval
        self._push(self._operations.constant(value) if is_constant_value(value) else Known(value))

    def load_fast(self, instruction: dis.Instruction) -> None:
        for name in _names(instruction.argval):
            self._push(self._variable(name))

    def _variable(self, name: str) -> StackValue:
        if name not in self._variables:
            raise NotTraceable(f"the variable '{name}' may have no value")
        return self._variables[name]

    def store_fast(self, instruction: dis.Instruction) -> None:
        for name in _names(instruction.argval):
            self._variables[name] = self._pop()

    def store_and_load(self, instruction: dis.Instruction) -> None:
        stored, loaded = instruction.argval
        self._variables[stored] = self._pop()
        self._push(self._variable(loaded))

    def load_global(self, instruction: dis.Instruction) -> None:
        value = self._execution.global_value(self._frame, instruction.argval)
        self._push_callable(value, bool((instruction.arg or 0) & 1))

    def load_deref(self, instruction: dis.Instruction) -> None:
        self._push(self._execution.cell_value(self._frame, instruction.argval))

    def _push_callable(self, value: StackValue, with_null: bool) -> None:
        # Where the mark is differs between versions of Python; a call takes whichever of the two is none.
        if with_null:
            self._push(NULL)
        self._push(value)

    def load_attribute(self, instruction: dis.Instruction) -> None:
        owner = self._pop()
        is_method = instruction.opname == "LOAD_METHOD" or (
            _METHODS_ARE_ATTRIBUTES and bool((instruction.arg or 0) & 1)
        )
        name = instruction.argval
        if isinstance(owner, Known):
            self._push_callable(self._known_attribute(owner.value, name), is_method)
        elif is_method and not (isinstance(owner, Record | Composite)):
            self._push_callable(Method(self._as_term(owner), name), True)
        else:
            self._push_callable(self._operations.attribute(self._as_term(owner), name), is_method)

    def _known_attribute(self, owner: Any, name: str) -> StackValue:
        if owner is math and hasattr(math, name):
            value = getattr(math, name)
            return self._operations.constant(value) if isinstance(value, float) else Known(value)
        if owner is str and calls.is_text_method(getattr(str, name, None)):
            return Known(getattr(str, name))
        if isinstance(owner, types.ModuleType | type | types.FunctionType | types.MethodType) or not hasattr(
            owner, "__dict__"
        ):
            raise NotTraceable(f"it reads the attribute '{name}' of {_shown(owner)}")
        return self._execution.attribute_value(owner, name)

    # --- operators

    def binary(self, instruction: dis.Instruction) -> None:
        right, left = self._pop_term(), self._pop_term()
        symbol = instruction.argrepr.removesuffix("=")
        self._push(self._operations.binary(symbol, left, right))

    def unary(self, instruction: dis.Instruction) -> None:
        symbol = {"UNARY_NEGATIVE": "-", "UNARY_POSITIVE": "+", "UNARY_INVERT": "~"}[instruction.opname]
        self._push(self._operations.unary(symbol, self._pop_term()))

    def negate(self, instruction: dis.Instruction) -> None:
        self._push(self._operations.negated(self._pop_term()))

    def to_bool(self, instruction: dis.Instruction) -> None:
        self._push(self._operations.truth(self._pop_term()))

    def intrinsic(self, instruction: dis.Instruction) -> None:
        if instruction.argrepr != "INTRINSIC_UNARY_POSITIVE":
            raise NotTraceable(f"it has something in it that is not traced ({instruction.argrepr})")
        self._push(self._operations.unary("+", self._pop_term()))

    def compare(self, instruction: dis.Instruction) -> None:
        right, left = self._pop_term(), self._pop_term()
        self._push(self._operations.compare(instruction.argval, left, right))

    def is_(self, instruction: dis.Instruction) -> None:
        right, left = self._pop_term(), self._pop_term()
        self._push(self._operations.is_(left, right, bool(instruction.arg)))

    def contains(self, instruction: dis.Instruction) -> None:
        container, item = self._pop_term(), self._pop_term()
        self._push(self._operations.contains(item, container, bool(instruction.arg)))

    # --- parts and wholes

    def subscript(self, instruction: dis.Instruction) -> None:
        key, owner = self._pop_term(), self._pop_term()
        if isinstance(owner, Record | Composite):
            self._execution.depend_on(key)
        self._push(self._operations.item(owner, key))

    def slice_of(self, instruction: dis.Instruction) -> None:
        stop, start, owner = self._pop_term(), self._pop_term(), self._pop_term()
        self._push(self._operations.part(owner, self._slice(start, stop)))

    def build_slice(self, instruction: dis.Instruction) -> None:
        self._push(self._slice(*self._pop_terms(instruction.arg or 0)))

    def _slice(self, *bounds: Term) -> Constant:
        return self._operations.constant(slice(*map(_constant, bounds)), captured=_is_any_captured(bounds))

    def build_tuple(self, instruction: dis.Instruction) -> None:
        items = self._pop_terms(instruction.arg or 0)
        if items and all(isinstance(item, Constant) for item in items):
            name = calls.tuple_of(items).text if any(getattr(item, "name", "") for item in items) else ""
            value = tuple(map(_constant, items))
            self._push(self._operations.constant(value, name, captured=_is_any_captured(items)))
        else:
            self._push(calls.tuple_of(items))

    def unpack(self, instruction: dis.Instruction) -> None:
        for item in reversed(self._operations.items(self._pop_term(), instruction.arg or 0)):
            self._push(item)

    def build_string(self, instruction: dis.Instruction) -> None:
        self._push(calls.joined(self._operations, self._pop_terms(instruction.arg or 0)))

    def format_value(self, instruction: dis.Instruction) -> None:
        flags = instruction.arg or 0
        spec = self._pop_term() if flags & 4 else None
        conversion = ("", "s", "r", "a")[flags & 3]
        self._push(calls.formatted(self._operations, self._pop_term(), conversion, spec))

    def format_simple(self, instruction: dis.Instruction) -> None:
        self._push(calls.formatted(self._operations, self._pop_term(), "", None))

    def format_with_spec(self, instruction: dis.Instruction) -> None:
        spec = self._pop_term()
        self._push(calls.formatted(self._operations, self._pop_term(), "", spec))

    def convert(self, instruction: dis.Instruction) -> None:
        conversion = ("", "s", "r", "a")[instruction.arg or 0]
        self._push(calls.formatted(self._operations, self._pop_term(), conversion, None))

    # --- calls

    def keyword_names(self, instruction: dis.Instruction) -> None:
        self._keyword_names = self._frame.function.__code__.co_consts[instruction.arg or 0]

    def call_with_keywords(self, instruction: dis.Instruction) -> Tree | None:
        names = self._pop()
        assert isinstance(names, Constant)
        self._keyword_names = names.value
        return self.call(instruction)

    def call_with_unpacked(self, instruction: dis.Instruction) -> Tree | None:
        # Python up to 3.13 says by a flag whether there are arguments by name, later ones by what is on the stack.
        if (instruction.arg or 0) & 1 or (_NAMED_ARE_ON_STACK and not isinstance(self._pop(), Null)):
            raise NotTraceable("it calls a function with **")
        items = self._operations.all_items(self._pop_term())
        for item in items:
            self._push(item)
        return self._call_with(len(items))

    def call(self, instruction: dis.Instruction) -> Tree | None:
        return self._call_with(instruction.arg or 0)

    def _call_with(self, count: int) -> Tree | None:
        names, self._keyword_names = self._keyword_names, ()
        given = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        pair = (self._pop(), self._pop())
        called = next(each for each in pair if not isinstance(each, Null))
        cls = called.value if isinstance(called, Known) else None
        if FAILURE in pair or (isinstance(cls, type) and issubclass(cls, BaseException)):
            # Be it raised or not: what happens when an exception is made, its class alone knows. It may tell of all
            # fields of the record that it is given.
            self._execution.hand_over([each for each in (*pair, *given) if isinstance(each, Record | Composite)])
            if self._frame.instructions[self._next].opname != "RAISE_VARARGS":
                self._execution.lose_track()
            return Raises()
        terms = [self._as_term(each) for each in given]
        positional = terms[: len(terms) - len(names)]
        keywords = dict(zip(names, terms[len(positional) :], strict=True))
        if isinstance(called, Method):
            if keywords:
                raise NotTraceable(f"`{called.owner.text}.{called.name}`: arguments by name")
            self._push(calls.call_method(self._operations, called.owner, called.name, positional))
            return None
        if not isinstance(called, Known):
            raise NotTraceable("it calls something that is no function")
        return self._call(called.value, positional, keywords)

    def _call(self, function: Any, terms: list[Term], keywords: dict[str, Term]) -> Tree | None:
        arguments: list[StackValue] = list(terms)
        if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
            function, arguments = function.__func__, [Known(function.__self__), *arguments]
        if isinstance(function, types.FunctionType) and not calls.is_listed(function):
            stack, variables, index = self._stack, self._variables, self._next

            def returns(value: StackValue) -> Tree:
                if isinstance(value, Constant):
                    # The function is captured, and so is what it says.
                    infix = value.is_infix
                    value = self._operations.constant(value.value, value.name, infix=infix, captured=True)
                return self._execution.go_on(self._frame, index, [*stack, value], variables)

            return self._execution.inline(self._frame, function, arguments, keywords, returns)
        if calls.is_text_method(function):
            if not terms or keywords:
                raise NotTraceable(f"str.{function.__name__} without a text")
            self._push(calls.call_method(self._operations, terms[0], function.__name__, terms[1:]))
            return None
        self._push(calls.call(self._operations, function, terms, keywords))
        return None

    # --- the stack again

    def pop_top(self, instruction: dis.Instruction) -> None:
        self._pop()

    def push_null(self, instruction: dis.Instruction) -> None:
        self._push(NULL)

    def copy(self, instruction: dis.Instruction) -> None:
        self._push(self._stack[-(instruction.arg or 1)])

    def swap(self, instruction: dis.Instruction) -> None:
        place = -(instruction.arg or 1)
        self._stack[place], self._stack[-1] = self._stack[-1], self._stack[place]

    # --- branches and ends

    def return_value(self, instruction: dis.Instruction) -> Tree:
        return self._frame.returns(self._pop())

    def return_const(self, instruction: dis.Instruction) -> Tree:
        self.load_const(instruction)
        return self.return_value(instruction)

    def fail(self, instruction: dis.Instruction) -> Tree:
        return Raises()

    def load_assertion_error(self, instruction: dis.Instruction) -> None:
        self._push(FAILURE)

    def jump(self, instruction: dis.Instruction) -> Tree:
        return self._execution.jump(self._frame, instruction.argval, self._stack, self._variables)

    def jump_if(self, instruction: dis.Instruction) -> Tree:
        value = self._pop_term()
        if instruction.opname.endswith("NONE"):
            inverted = instruction.opname.endswith("NOT_NONE")
            text = f"{value.enclosed} is {'not ' if inverted else ''}None"
            return self._fork(self._operations.is_none(value, inverted, text), True, instruction.argval)
        return self._fork(self._operations.truth(value), instruction.opname.endswith("TRUE"), instruction.argval)

    def jump_or_pop(self, instruction: dis.Instruction) -> Tree:
        value = self._pop_term()
        jumps_on = instruction.opname == "JUMP_IF_TRUE_OR_POP"
        condition = self._operations.truth(value)
        # Of a condition the value is known where it jumps; of others only whether it is true.
        kept = self._operations.constant(jumps_on) if condition is value else value
        stack, variables, index = self._stack, self._variables, self._next

        def jump() -> Tree:
            return self._execution.jump(self._frame, instruction.argval, [*stack, kept], variables)

        def fall() -> Tree:
            return self._execution.go_on(self._frame, index, stack, variables)

        return self._execution.branch(condition, *((jump, fall) if jumps_on else (fall, jump)))

    def _fork(self, condition: Term, jumps_on: bool, offset: int) -> Tree:
        stack, variables, index = self._stack, self._variables, self._next

        def jump() -> Tree:
            return self._execution.jump(self._frame, offset, stack, variables)

        def fall() -> Tree:
            return self._execution.go_on(self._frame, index, stack, variables)

        return self._execution.branch(condition, *((jump, fall) if jumps_on else (fall, jump)))


def _names(argument: Any) -> Sequence[str]:
    return (argument,) if isinstance(argument, str) else argument


def _constant(term: Term) -> Any:
    if not isinstance(term, Constant):
        raise NotTraceable(f"`{term.text}` is no constant")
    return term.value


def _is_any_captured(terms: Sequence[Term]) -> bool:
    return any(isinstance(term, Constant) and term.is_captured for term in terms)


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return f"'{name}'" if isinstance(name, str) else f"an object of the class {type(value).__qualname__}"


_METHODS_ARE_ATTRIBUTES = "LOAD_METHOD" not in dis.opmap
_NAMED_ARE_ON_STACK = sys.version_info >= (3, 14)
_SKIPPED = frozenset({"RESUME", "NOP", "CACHE", "PRECALL", "COPY_FREE_VARS", "NOT_TAKEN"})

_STEPS: dict[str, Callable[[Steps, dis.Instruction], Tree | None]] = {
    "LOAD_CONST": Steps.load_const,
    "LOAD_FAST": Steps.load_fast,
    "LOAD_FAST_CHECK": Steps.load_fast,
    "LOAD_FAST_LOAD_FAST": Steps.load_fast,
    "STORE_FAST": Steps.store_fast,
    "STORE_FAST_STORE_FAST": Steps.store_fast,
    "STORE_FAST_LOAD_FAST": Steps.store_and_load,
    "LOAD_GLOBAL": Steps.load_global,
    "LOAD_DEREF": Steps.load_deref,
    "LOAD_ATTR": Steps.load_attribute,
    "LOAD_METHOD": Steps.load_attribute,
    "BINARY_OP": Steps.binary,
    "UNARY_NEGATIVE": Steps.unary,
    "UNARY_POSITIVE": Steps.unary,
    "UNARY_INVERT": Steps.unary,
    "UNARY_NOT": Steps.negate,
    "TO_BOOL": Steps.to_bool,
    "CALL_INTRINSIC_1": Steps.intrinsic,
    "COMPARE_OP": Steps.compare,
    "IS_OP": Steps.is_,
    "CONTAINS_OP": Steps.contains,
    "BINARY_SUBSCR": Steps.subscript,
    "BINARY_SLICE": Steps.slice_of,
    "BUILD_SLICE": Steps.build_slice,
    "BUILD_TUPLE": Steps.build_tuple,
    "UNPACK_SEQUENCE": Steps.unpack,
    "BUILD_STRING": Steps.build_string,
    "FORMAT_VALUE": Steps.format_value,
    "FORMAT_SIMPLE": Steps.format_simple,
    "FORMAT_WITH_SPEC": Steps.format_with_spec,
    "CONVERT_VALUE": Steps.convert,
    "KW_NAMES": Steps.keyword_names,
    "CALL": Steps.call,
    "CALL_KW": Steps.call_with_keywords,
    "CALL_FUNCTION_EX": Steps.call_with_unpacked,
    "POP_TOP": Steps.pop_top,
    "PUSH_NULL": Steps.push_null,
    "COPY": Steps.copy,
    "SWAP": Steps.swap,
    "LOAD_ASSERTION_ERROR": Steps.load_assertion_error,
}

_ENDS: dict[str, Callable[[Steps, dis.Instruction], Tree]] = {
    "RETURN_VALUE": Steps.return_value,
    "RETURN_CONST": Steps.return_const,
    "RAISE_VARARGS": Steps.fail,
    "JUMP_FORWARD": Steps.jump,
    "JUMP_IF_TRUE_OR_POP": Steps.jump_or_pop,
    "JUMP_IF_FALSE_OR_POP": Steps.jump_or_pop,
    "POP_JUMP_IF_TRUE": Steps.jump_if,
    "POP_JUMP_IF_FALSE": Steps.jump_if,
    "POP_JUMP_IF_NONE": Steps.jump_if,
    "POP_JUMP_IF_NOT_NONE": Steps.jump_if,
    "POP_JUMP_FORWARD_IF_TRUE": Steps.jump_if,
    "POP_JUMP_FORWARD_IF_FALSE": Steps.jump_if,
    "POP_JUMP_FORWARD_IF_NONE": Steps.jump_if,
    "POP_JUMP_FORWARD_IF_NOT_NONE": Steps.jump_if,
}

_REASONS = {
    "GET_ITER": "it has a loop or a comprehension",
    "FOR_ITER": "it has a loop",
    "JUMP_BACKWARD": "it has a loop",
    **{f"POP_JUMP_BACKWARD_IF_{when}": "it has a loop" for when in ("TRUE", "FALSE", "NONE", "NOT_NONE")},
    "MAKE_FUNCTION": "it has a comprehension or a function in it",
    "MAKE_CELL": "it shares a variable with a function inside it",
    "STORE_GLOBAL": "it assigns a global variable",
    "DELETE_GLOBAL": "it deletes a global variable",
    "STORE_DEREF": "it assigns a variable of the function around it",
    "STORE_ATTR": "it changes an object",
    "STORE_SUBSCR": "it changes an object",
    "DELETE_SUBSCR": "it changes an object",
    "DELETE_ATTR": "it changes an object",
    "IMPORT_NAME": "it has an import in it",
    "BUILD_LIST": "it makes a list",
    "BUILD_MAP": "it makes a dict",
    "BUILD_CONST_KEY_MAP": "it makes a dict",
    "BUILD_SET": "it makes a set",
    "YIELD_VALUE": "it is a generator",
    "RETURN_GENERATOR": "it is a generator",
}
