"""Functions with both `yield` and `return`: Python drops what a generator returns."""

from __future__ import annotations

import dis
import inspect
import logging
from collections.abc import Callable, Generator
from functools import wraps
from itertools import pairwise
from types import CodeType
from typing import Any

_logger = logging.getLogger("penstock.functions")


def telling_lost_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; where it is a generator that may return something, one that says so in the log the first time.

    It is no error, as it is none in Python and in Flink: `return []` is a way to leave a generator.
    """
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not inspect.isgeneratorfunction(function) or not _may_return(code):
        return function
    is_told = False

    @wraps(function)
    def told(*args: Any) -> Generator[Any, Any, None]:
        nonlocal is_told
        result = yield from function(*args)
        if not is_told and not _is_nothing(result):
            is_told = True
            _logger.warning(
                "%s (%s:%d) has a `yield` in it, so that what it returns is lost, such as %.200r: yield it",
                code.co_qualname,
                code.co_filename,
                code.co_firstlineno,
                result,
            )

    return told


def _is_nothing(result: Any) -> bool:
    return result is None or (isinstance(result, list | tuple) and not result)


def _may_return(code: CodeType) -> bool:
    """Whether there is a `return` of anything but the constant None."""
    instructions = list(dis.get_instructions(code))
    for before, instruction in pairwise(instructions):
        match instruction.opname:
            case "RETURN_CONST":
                returns_none = instruction.argval is None
            case "RETURN_VALUE":
                returns_none = before.opname == "LOAD_CONST" and before.argval is None
            case _:
                continue
        if not returns_none:
            return True
    return False
