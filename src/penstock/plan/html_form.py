"""A plan as HTML, for notebooks."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from penstock.plan.drawing import to_svg
from penstock.plan.explain import explain

if TYPE_CHECKING:
    from penstock.plan.plan import Plan


def to_html(plan: Plan) -> str:
    """The drawing of an optimized plan; before the optimizer, its text."""
    if plan.layout is not None and plan.layout.has_levels:
        return svg_image(to_svg(plan))
    return preformatted(explain(plan))


def svg_image(svg: str) -> str:
    """A drawing as an image: inside the page, its style would be that of the page too."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="plan" style="max-width:100%" src="data:image/svg+xml;base64,{data}"/>'


def preformatted(text: str) -> str:
    """Text in lines."""
    return f'<pre style="white-space:pre;overflow-x:auto">{escape(text)}</pre>'
