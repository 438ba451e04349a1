"""A page of the reference for a public module: its classes, functions and constants, from their docstrings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from types import ModuleType
from typing import Any

PUBLIC_PACKAGES = (
    "penstock.cep",
    "penstock.table",
    "penstock.common",
    "penstock.datastream",
    "penstock.expressions",
    "penstock.testing",
)
_MADE_BY_METHODS = "penstock.datastream.streams."
"""Programs get these objects from methods; how they are made is not for them."""
_EXAMPLE = re.compile(r"(?:^>>> .*\n(?:.+\n?)*)+", re.MULTILINE)

Modules = Mapping[str, ModuleType]


def public_modules() -> dict[str, ModuleType]:
    """The modules that say what they export, by name."""
    found: dict[str, ModuleType] = {}
    for name in PUBLIC_PACKAGES:
        package = importlib.import_module(name)
        names = [name, *(info.name for info in pkgutil.walk_packages(package.__path__, f"{name}."))]
        found |= {each: importlib.import_module(each) for each in names}
    return {name: module for name, module in sorted(found.items()) if getattr(module, "__all__", None)}


def module_page(name: str, modules: Modules) -> str:
    """The page of one module. What a module further down exports too is described there, and linked here."""
    module = modules[name]
    lines = [f"# `{name}`", "", _text(module), ""]
    linked: list[str] = []
    described: list[str] = []
    for exported in sorted(module.__all__, key=str.lower):
        value = getattr(module, exported)
        home = _home(exported, value, modules)
        if home == name:
            described += _described(exported, value, name, modules)
        else:
            linked.append(f"| [`{exported}`]({home}.md#{_anchor(exported)}) | {first_line(value)} |")
    if linked:
        lines += ["| name | |", "|---|---|", *linked, ""]
    return "\n".join(lines + described).rstrip() + "\n"


def first_line(value: Any) -> str:
    """What a thing is, in a line."""
    return _text(value).partition("\n")[0].replace("|", "\\|")


def _home(exported: str, value: Any, modules: Modules) -> str:
    """The page that describes a name: that of the module furthest down which exports it."""
    homes = [name for name, module in modules.items() if exported in module.__all__]
    same = [name for name in homes if getattr(modules[name], exported) is value]
    return max(same, key=lambda name: (name.count("."), name))


def _described(exported: str, value: Any, page: str, modules: Modules) -> list[str]:
    lines = [f"## `{exported}`", ""]
    if inspect.isclass(value):
        return lines + _class_lines(value, page, modules)
    if inspect.isroutine(value):
        lines = [f"## `{exported}{_signature(value)}`", ""]
    return [*lines, _text(value), ""]


def _class_lines(described: type, page: str, modules: Modules) -> list[str]:
    lines = [_text(described), ""]
    if issubclass(described, Enum):
        return [*lines, ", ".join(f"`{member.name}`" for member in described), "", *_method_lines(described, modules)]
    if _has_own_constructor(described):
        lines += ["```py", f"{described.__name__}{_signature(described)}", "```", ""]
    bases = [base for base in described.__mro__[1:] if _is_public(base, modules)]
    if bases:
        links = ", ".join(_link(base, page, modules) for base in bases)
        lines += [f"Has the methods of {links} too.", ""]
    return lines + _method_lines(described, modules)


def _method_lines(described: type, modules: Modules) -> list[str]:
    lines: list[str] = []
    for name, member, kind in _members(described, modules):
        text = _text(member)
        if not text:
            continue
        shown = name if kind == "property" else f"{name}{_signature(member)}"
        suffix = {"property": " (property)", "static": " (static)", "class": " (class method)"}.get(kind, "")
        lines += [f"### `{shown}`{suffix}", "", text, ""]
    return lines


def _members(described: type, modules: Modules) -> Iterator[tuple[str, Any, str]]:
    """Public members that the class defines, or takes over from a class that has no entry of its own."""
    seen: set[str] = set()
    for each in described.__mro__:
        if each is not described and (_is_public(each, modules) or not each.__module__.startswith("penstock")):
            seen |= set(vars(each)) if _is_public(each, modules) else set()
            continue
        for name, member in vars(each).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(member, property):
                yield name, member, "property"
            elif isinstance(member, staticmethod):
                yield name, member.__func__, "static"
            elif isinstance(member, classmethod):
                yield name, getattr(described, name), "class"
            elif inspect.isfunction(member):
                yield name, getattr(described, name), "method"


def _is_public(described: type, modules: Modules) -> bool:
    return any(
        getattr(module, described.__name__, None) is described and described.__name__ in module.__all__
        for module in modules.values()
    )


def _has_own_constructor(described: type) -> bool:
    if described.__module__.startswith(_MADE_BY_METHODS):
        return False
    constructors = (vars(each).get(name) for each in described.__mro__ for name in ("__init__", "__new__"))
    found = next((each for each in constructors if each is not None), None)
    return inspect.isfunction(found) and found.__module__.startswith("penstock")


def _link(base: type, page: str, modules: Modules) -> str:
    home = _home(base.__name__, base, modules)
    target = "" if home == page else f"{home}.md"
    return f"[`{base.__name__}`]({target}#{_anchor(base.__name__)})"


def _anchor(name: str) -> str:
    return name.lower()


def _text(value: Any) -> str:
    """The docstring, with its examples as blocks of code."""
    if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, ModuleType | property)):
        return f"A value of class `{type(value).__name__}`."
    text = inspect.getdoc(value) or ""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text).strip()


class _Annotation:
    """Stands for an annotation that is text: shown without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return "(...)"
    parameters = [
        parameter.replace(annotation=_plain(parameter.annotation))
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    returned = inspect.Signature.empty if inspect.isclass(value) else _plain(signature.return_annotation)
    text = str(inspect.Signature(parameters, return_annotation=returned))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _plain(annotation: Any) -> Any:
    return _Annotation(annotation) if isinstance(annotation, str) else annotation
