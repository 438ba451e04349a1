"""How nodes, exchanges and functions are called in messages and in explained plans."""

from __future__ import annotations

import functools
from typing import Any

from penstock.common.call_site import UNKNOWN_CALL_SITE
from penstock.expressions.evaluator import ExpressionKey
from penstock.plan.nodes import Exchange, Node
from penstock.tracing import TracedKey


def describe_node(node: Node) -> str:
    """The operator as an error names it: kind, name, uid and the user's line."""
    uid = f"uid '{node.uid}'" if node.uid else "no uid"
    site = "" if node.call_site == UNKNOWN_CALL_SITE else f", defined at {node.call_site}"
    return f"{node.kind} '{node.name}' ({uid}{site})"


def qualified_name(function: Any) -> str:
    """The module and name of a function, or of the class of an object; never its arguments or content."""
    if isinstance(function, functools.partial):
        return qualified_name(function.func)
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def key_name(exchange: Exchange) -> str:
    """What an exchange takes the key from; empty where there is no key."""
    if exchange.key_fields:
        return ", ".join(str(field) for field in exchange.key_fields)
    if isinstance(exchange.key_selector, ExpressionKey):
        return exchange.key_selector.expression.text
    if isinstance(exchange.key_selector, TracedKey) and exchange.key_selector.program is not None:
        return exchange.key_selector.program.text
    if exchange.key_selector is not None:
        return qualified_name(exchange.key_selector).rsplit(".", 1)[-1]
    return ""


def exchange_label(exchange: Exchange) -> str:
    """The exchange in a few characters: `hash(user)`, `rebalance`."""
    key = key_name(exchange)
    return f"{exchange.kind.value}({key})" if key else exchange.kind.value


def shown_uid(node: Node) -> str:
    """A given uid whole; of a derived one enough to tell it from others."""
    return node.uid if node.uid_is_given else f"{node.uid[:8]}…"
