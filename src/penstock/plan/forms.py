"""All forms in which a plan can be shown, by name."""

from __future__ import annotations

import json
from collections.abc import Callable

from penstock.plan.drawing import to_mermaid, to_svg
from penstock.plan.explain import explain
from penstock.plan.json_form import to_json
from penstock.plan.plan import Plan


def _json_text(plan: Plan) -> str:
    return json.dumps(to_json(plan), indent=2) + "\n"


PLAN_FORMS: dict[str, Callable[[Plan], str]] = {
    "text": explain,
    "json": _json_text,
    "mermaid": to_mermaid,
    "svg": to_svg,
}
