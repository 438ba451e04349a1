"""Values out of texts of JSON."""
# ruff: noqa: D102 (methods that a base class documents)

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.common.typeinfo import TypeInformation
from penstock.expressions import json_kernels
from penstock.expressions.bound import BoundExpression, BoundKernel
from penstock.expressions.operation import MethodOperation, require
from penstock.expressions.type_rules import BOOLEAN, DOUBLE, LONG, STRING, is_text

_STEP = re.compile(r"\.(?P<name>[^.\[\]\s'\"]+)|\['(?P<quoted>[^']+)'\]|\[(?P<place>[0-9]+)\]")


def parsed_path(path: str) -> tuple[str | int, ...]:
    """The names and places of a path; raises `ValueError` where it is none."""
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else 0
    while at and at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            break
        steps.append(int(found["place"]) if found["place"] else found["name"] or found["quoted"])
        at = found.end()
    if at != len(path) or not path:
        raise ValueError(f"{path!r} is no path; expected $, then .name, ['name'] or [0], such as $.items[0].price")
    return tuple(steps)


@dataclass(frozen=True)
class JsonValue(MethodOperation):
    """A value out of a text of JSON."""

    path: str
    target: TypeInformation

    @staticmethod
    def takes(target: TypeInformation) -> bool:
        """Whether values of a type can be asked for."""
        return target in (STRING, LONG, DOUBLE, BOOLEAN)

    @property
    def method(self) -> str:
        return "json_value"

    @property
    def arguments(self) -> Sequence[object]:
        return (self.path, self.target)

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_text, "a text")
        steps, arrow_type = parsed_path(self.path), self.target.arrow_type()
        return BoundKernel(text, self.target, operands, lambda value: json_kernels.values_at(value, steps, arrow_type))


@dataclass(frozen=True)
class IsJson(MethodOperation):
    """Whether a text is JSON."""

    @property
    def method(self) -> str:
        return "is_json"

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        require(text, operands, is_text, "a text")
        return BoundKernel(text, BOOLEAN, operands, json_kernels.are_json)
