"""The debugger of `penstock replay`: stops in the program's own code."""

from __future__ import annotations

import pdb
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType
from typing import Any

import click

from penstock.common.call_site import is_own_file
from penstock.runtime.failures import safe_repr
from penstock.runtime.keyed_function_operator import KeyedFunctionOperator
from penstock.state.key_encoding import decode_key

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class ReplayDebugger(pdb.Pdb):
    """pdb on the terminal."""

    def __init__(self) -> None:
        super().__init__(nosigint=True)
        self.after_continue: Callable[[], None] | None = None
        """Called when the user lets the program go on."""

    def post_mortem(self, error: Exception) -> None:
        """Looks at what the program raised, where it raised it."""
        tracing = sys.gettrace()
        sys.settrace(None)
        click.echo(f"{type(error).__qualname__}: {error}", err=True)
        self.reset()
        self.interaction(None, error.__traceback__)
        sys.settrace(tracing)

    def set_continue(self) -> None:
        """pdb takes its hands off when there are no breakpoints; calls for the key are to be seen all the same."""
        super().set_continue()
        if self.after_continue is not None and not self.breaks:
            self.after_continue()


class KeyCalls:
    """Sees the calls of the program's functions for one key: stops there, or prints them."""

    def __init__(self, is_wanted: Callable[[Any], bool], debugger: ReplayDebugger | None) -> None:
        self._is_wanted = is_wanted
        self._debugger = debugger
        if debugger is not None:
            debugger.after_continue = self.watch

    def watch(self) -> None:
        """Begins, or goes on."""
        sys.settrace(self._called)

    def end(self) -> None:
        """Ends."""
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event != "call" or not _is_users(frame) or frame.f_back is None or not _is_ours(frame.f_back):
            return None
        if frame.f_lineno != frame.f_code.co_firstlineno:
            # A generator that goes on after a `yield`.
            return None
        operator = _operator_above(frame)
        if operator is None or operator.current_key is None or not self._is_wanted(decode_key(operator.current_key)):
            return None
        if self._debugger is not None:
            self._debugger.set_trace(frame)
            return self._debugger.trace_dispatch(frame, event, argument)
        _print_call(frame, operator)
        return None


def matches_key(text: str) -> Callable[[Any], bool]:
    """Whether a key is the one that somebody has typed: as text, or as Python writes it."""
    return lambda key: text in (str(key), repr(key))


def _operator_above(frame: FrameType) -> KeyedFunctionOperator | None:
    """The keyed operator that called the program's code, if one did."""
    above = frame.f_back
    while above is not None and _is_ours(above):
        caller = above.f_locals.get("self")
        if isinstance(caller, KeyedFunctionOperator):
            return caller
        above = above.f_back
    return None


def _is_ours(frame: FrameType) -> bool:
    return is_own_file(frame.f_code.co_filename)


def _is_users(frame: FrameType) -> bool:
    """Whether the code is the program's: neither ours nor Python's nor an installed package's."""
    return not (_is_ours(frame) or frame.f_code.co_filename.startswith(("<", *_INSTALLED)))


def _print_call(frame: FrameType, operator: KeyedFunctionOperator) -> None:
    code = frame.f_code
    names = [name for name in code.co_varnames[: code.co_argcount] if name not in ("self", "ctx", "context")]
    values = ", ".join(f"{name}={safe_repr(frame.f_locals[name])}" for name in names)
    click.echo(f"{operator.name}: {code.co_qualname}({values})")
    for name, value in operator.values_of_current_key().items():
        click.echo(f"  state '{name}': {safe_repr(value)}")
