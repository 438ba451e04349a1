"""The public names of modules with their signatures, as data. Needs nothing but the standard library: it runs under the
interpreter that has PyFlink, and under ours."""

from __future__ import annotations

import enum
import inspect
from types import ModuleType
from typing import Any


def public_names(module: ModuleType) -> list[str]:
    """What the module offers: its `__all__`, and the classes and functions that it defines without an underscore."""
    defined = {
        name
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module.__name__
    }
    return sorted(name for name in defined | set(getattr(module, "__all__", ())) if not name.startswith("_"))


def described(value: Any) -> dict[str, Any]:
    """A class, function or value."""
    if inspect.isclass(value):
        return {"kind": "class", "members": dict(sorted(_members(value).items()))}
    if inspect.isfunction(value):
        return {"kind": "function", "parameters": _parameters(value)}
    return {"kind": "attribute"}


def described_member(owner: type, name: str) -> dict[str, Any]:
    """A member of a class, without `self`."""
    static = inspect.getattr_static(owner, name)
    if isinstance(static, property):
        return {"kind": "property"}
    if isinstance(static, staticmethod):
        return {"kind": "staticmethod", "parameters": _parameters(static.__func__)}
    if isinstance(static, classmethod):
        return {"kind": "classmethod", "parameters": _parameters(static.__func__)[1:]}
    if inspect.isfunction(static):
        return {"kind": "method", "parameters": _parameters(static)[1:]}
    return described(static) if inspect.isclass(static) else {"kind": "attribute"}


def described_constructor(owner: type) -> dict[str, Any]:
    """How an object is made, where the class itself has no `__init__`: by `__new__`, or as Python does it."""
    return {"kind": "method", "parameters": _parameters(owner)}


def _members(owner: type) -> dict[str, Any]:
    """The public members, also the inherited ones."""
    members: dict[str, Any] = {}
    root = owner.__module__.partition(".")[0]
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] != root:
            continue
        for name in vars(base):
            if not name.startswith("_") or (name == "__init__" and not issubclass(owner, enum.Enum)):
                members[name] = described_member(owner, name)
    constructor = members.get("__init__", {})
    if any(text.lstrip("*").startswith("j_") for text in constructor.get("parameters", ())):
        del members["__init__"]  # wraps an object of the JVM: nobody's program calls it
    return members


def _parameters(function: Any) -> list[str]:
    """Each as it is written in a `def`: `name`, `name=default`, `*name`, `**name`, and `*` before keyword-only ones."""
    texts: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = parameter.default
        written = "" if default is inspect.Parameter.empty else f"={_default_text(default)}"
        texts.append(f"{stars}{parameter.name}{written}")
    return texts


def _default_text(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str, bytes, tuple, list, dict)):
        return repr(value)
    return f"<{type(value).__name__}>"
