"""An optimized plan as a drawing: Mermaid text, and an SVG that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from penstock.plan.layout import Chain
from penstock.plan.naming import exchange_label, shown_uid
from penstock.plan.nodes import Edge, Node

if TYPE_CHECKING:
    from penstock.plan.plan import Plan

_CHARACTER_WIDTH = 6.7
_NODE_HEIGHT = 38
_NODE_GAP = 12
_INDENT = 22
_PADDING = 12
_TITLE_HEIGHT = 24
_CHAIN_GAP = 20
_LANE_HEIGHT = 22
_LABEL_HEIGHT = 14
_SMALLEST_STAGE_GAP = 70
_MARGIN = 16

_STYLE = """
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1f2933; }
.title { font-weight: bold; } .faint { fill: #616e7c; }
.stage { fill: #f5f7fa; stroke: #9aa5b1; } .chain { fill: #e3e8f0; stroke: #7b8794; }
.node { fill: #ffffff; stroke: #3e4c59; } .link { fill: none; stroke: #3e4c59; }
.exchange { fill: none; stroke: #2b6cb0; stroke-width: 1.6; marker-end: url(#arrow); }
.label { fill: #2b6cb0; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; text-anchor: middle; }
"""


def to_mermaid(plan: Plan) -> str:
    """The plan as a Mermaid flowchart: stages are boxes with chains in them, thick arrows are exchanges."""
    lines = ["flowchart LR"]
    for stage in plan.stages:
        lines.append(f'  subgraph stage{stage.level}["stage {stage.level}, parallelism {stage.parallelism}"]')
        for chain in stage.chains:
            lines.append(f'    subgraph chain{chain.id}["chain {chain.id}"]')
            for node_id in chain.nodes:
                title, facts = _node_texts(plan.node(node_id))
                lines.append(f'      n{node_id}["{_mermaid_text(title)}<br/>{_mermaid_text(facts)}"]')
            lines.append("    end")
        lines.append("  end")
    for node in plan.topological_order:
        for edge in plan.outputs(node.id):
            lines.append(f"  n{edge.source} {_mermaid_arrow(plan, edge)} n{edge.target}")
    return "\n".join(lines) + "\n"


def to_svg(plan: Plan) -> str:
    """The plan as one SVG document without scripts, fonts or links."""
    boxes, width, height = _lay_out(plan)
    skipping = [edge for edge in plan.exchanges if _levels_between(plan, edge) > 1]
    total_height = height + len(skipping) * _LANE_HEIGHT + _MARGIN
    shapes = [*boxes.stage_shapes, *_chain_shapes(boxes), *_exchange_shapes(plan, boxes, skipping, height)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {total_height:.0f}" '
            f'width="{width:.0f}" height="{total_height:.0f}">',
            f"<title>{escape(plan.job_name)}</title>",
            f"<style>{_STYLE}</style>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#2b6cb0"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *shapes,
            "</svg>\n",
        )
    )


def _node_texts(node: Node) -> tuple[str, str]:
    return f"{node.kind} '{node.name}'", f"parallelism {node.parallelism}, uid {shown_uid(node)}"


def _edge_text(plan: Plan, edge: Edge) -> str:
    side_output = "" if edge.side_output is None else f"'{edge.side_output}' "
    index = f" to input {edge.input_index}" if edge.input_index else ""
    order = ", sorted" if plan.is_sorted(edge) else ""
    return side_output + ("" if plan.is_chained(edge) else exchange_label(edge.exchange) + order + index)


def _mermaid_text(text: str) -> str:
    return escape(text, quote=False).replace('"', "#quot;")


def _mermaid_arrow(plan: Plan, edge: Edge) -> str:
    text = _mermaid_text(_edge_text(plan, edge).strip())
    arrow = "-->" if plan.is_chained(edge) else "==>"
    return f'{arrow}|"{text}"|' if text else arrow


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float


@dataclass
class _Boxes:
    """Where everything is drawn."""

    plan: Plan
    nodes: dict[int, _Box]
    chains: dict[int, _Box]
    stages: dict[int, _Box]
    stage_shapes: list[str]


def _lay_out(plan: Plan) -> tuple[_Boxes, float, float]:
    """Stages from left to right, the chains of a stage one under the other, a chain's operators as a tree."""
    boxes = _Boxes(plan, {}, {}, {}, [])
    x, tallest = float(_MARGIN), 0.0
    for stage in plan.stages:
        title = f"stage {stage.level}, parallelism {stage.parallelism}"
        width = max(_chain_width(plan, chain) for chain in stage.chains) + 2 * _PADDING
        width = max(width, _text_width(title) + 2 * _PADDING)
        y = float(_MARGIN + _TITLE_HEIGHT)
        for chain in stage.chains:
            y = _place_chain(boxes, chain, x + _PADDING, y, width - 2 * _PADDING) + _CHAIN_GAP
        height = y - _CHAIN_GAP + _PADDING - _MARGIN
        boxes.stages[stage.level] = _Box(x, _MARGIN, width, height)
        boxes.stage_shapes += [
            _rectangle(boxes.stages[stage.level], "stage"),
            _text(x + _PADDING, _MARGIN + 16, title, "title"),
        ]
        x += width + _gap_after(plan, stage.level)
        tallest = max(tallest, height + _MARGIN)
    last = boxes.stages[plan.stages[-1].level]
    return boxes, last.x + last.width + _MARGIN, tallest + _MARGIN


def _place_chain(boxes: _Boxes, chain: Chain, x: float, y: float, width: float) -> float:
    """Places a chain and returns where it ends."""
    top = y
    y += _TITLE_HEIGHT
    depths = _depths(boxes.plan, chain)
    for node_id in chain.nodes:
        left = x + _PADDING + depths[node_id] * _INDENT
        boxes.nodes[node_id] = _Box(left, y, x + width - _PADDING - left, _NODE_HEIGHT)
        y += _NODE_HEIGHT + _NODE_GAP
    bottom = y - _NODE_GAP + _PADDING
    boxes.chains[chain.id] = _Box(x, top, width, bottom - top)
    return bottom


def _depths(plan: Plan, chain: Chain) -> dict[int, int]:
    depths = {chain.head: 0}
    for node_id in chain.nodes[1:]:
        depths[node_id] = depths[plan.inputs(node_id)[0].source] + 1
    return depths


def _chain_width(plan: Plan, chain: Chain) -> float:
    return max(
        max(_text_width(text) for text in _node_texts(plan.node(node_id))) + depth * _INDENT + 4 * _PADDING
        for node_id, depth in _depths(plan, chain).items()
    )


def _gap_after(plan: Plan, level: int) -> float:
    labels = [
        _text_width(_edge_text(plan, edge))
        for edge in plan.exchanges
        if plan.chain_of(edge.source).level == level and _levels_between(plan, edge) == 1
    ]
    return max(labels, default=0) + _SMALLEST_STAGE_GAP


def _levels_between(plan: Plan, edge: Edge) -> int:
    return plan.chain_of(edge.target).level - plan.chain_of(edge.source).level


def _chain_shapes(boxes: _Boxes) -> Iterator[str]:
    for chain_id, box in boxes.chains.items():
        yield _rectangle(box, "chain")
        yield _text(box.x + _PADDING, box.y + 16, f"chain {chain_id}", "faint")
    for edge in boxes.plan.edges:
        if boxes.plan.is_chained(edge):
            parent, child = boxes.nodes[edge.source], boxes.nodes[edge.target]
            path = _path("M", parent.x + 10, parent.y + parent.height, "V", child.y + child.height / 2, "H", child.x)
            yield f'<path class="link" d="{path}"/>'
    for node_id, box in boxes.nodes.items():
        title, facts = _node_texts(boxes.plan.node(node_id))
        yield _rectangle(box, "node")
        yield _text(box.x + 8, box.y + 16, title, "title")
        yield _text(box.x + 8, box.y + 30, facts, "faint")
    for edge in boxes.plan.edges:
        if boxes.plan.is_chained(edge) and edge.side_output is not None:
            child = boxes.nodes[edge.target]
            yield _text(child.x, child.y - 2, f"side output {_edge_text(boxes.plan, edge)}", "faint")


def _exchange_shapes(plan: Plan, boxes: _Boxes, skipping: list[Edge], height: float) -> Iterator[str]:
    labels: list[tuple[float, float, str]] = []
    for edge in plan.exchanges:
        source, target = boxes.nodes[edge.source], boxes.nodes[edge.target]
        start_x, start_y = source.x + source.width, source.y + source.height / 2
        end_x, end_y = target.x, target.y + target.height / 2
        if edge in skipping:
            # Through a lane of its own below the stages, so that no box in between is crossed.
            lane = skipping.index(edge)
            lane_y = height + lane * _LANE_HEIGHT
            out_x = _stage_box(boxes, edge.source).x + _stage_box(boxes, edge.source).width + 10 + 4 * lane
            in_x = _stage_box(boxes, edge.target).x - 10 - 4 * lane
            path = _path("M", start_x, start_y, "H", out_x, "V", lane_y, "H", in_x, "V", end_y, "H", end_x)
            middle = ((out_x + in_x) / 2, lane_y + 4)
        else:
            bend = (start_x + end_x) / 2
            path = _path("M", start_x, start_y, "C", bend, start_y, bend, end_y, end_x, end_y)
            middle = (bend, (start_y + end_y) / 2 - 4)
        yield f'<path class="exchange" d="{path}"/>'
        labels.append((*_free_place(middle, labels), _edge_text(plan, edge)))
    for x, y, label in labels:
        yield _text(x, y, label, "label")


def _free_place(wanted: tuple[float, float], labels: list[tuple[float, float, str]]) -> tuple[float, float]:
    x, y = wanted
    while any(abs(x - other_x) < 60 and abs(y - other_y) < _LABEL_HEIGHT for other_x, other_y, _ in labels):
        y += _LABEL_HEIGHT
    return x, y


def _stage_box(boxes: _Boxes, node_id: int) -> _Box:
    return boxes.stages[boxes.plan.chain_of(node_id).level]


def _text_width(text: str) -> float:
    return len(text) * _CHARACTER_WIDTH


def _path(*parts: str | float) -> str:
    return " ".join(part if isinstance(part, str) else f"{part:.0f}" for part in parts)


def _rectangle(box: _Box, css_class: str) -> str:
    return (
        f'<rect class="{css_class}" x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" '
        f'height="{box.height:.0f}" rx="5"/>'
    )


def _text(x: float, y: float, text: str, css_class: str) -> str:
    return f'<text class="{css_class}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'
