"""The automaton of a pattern as text, and as an SVG that needs nothing else."""

from __future__ import annotations

from html import escape

from penstock.patterns import PatternDefinition
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.states import Action, State, StateGraph, StateKind, Transition

_MARGIN, _PADDING, _LINE, _GAP, _LANE = 16, 10, 16, 22, 14
_CHARACTER_WIDTH = 6.7
_LONGEST = 90
_COLOURS = {Action.TAKE: "#2f855a", Action.IGNORE: "#9aa5b1", Action.PROCEED: "#2b6cb0"}
_STYLE = """
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1f2933; }
.state { fill: #ffffff; stroke: #3e4c59; } .start { stroke-width: 2.4; } .final { fill: #e6f4ea; }
.stop { fill: #fde8e8; } .pending { stroke-dasharray: 4 3; }
.way { fill: none; stroke-width: 1.4; } .name { font-weight: bold; }
"""


def draw_text(definition: PatternDefinition) -> str:
    """The states from the first to the last, each with its ways."""
    graph = compile_pattern(definition)
    lines = [f"after a match: {definition.skip!r}"]
    if graph.within:
        lines.append(f"within {graph.within} ms")
    for state in _in_order(graph):
        limit = f", within {state.timeout} ms of the event before" if state.timeout else ""
        lines.append(f"{state.kind.value} state '{state.name}'{limit}")
        lines += [
            f"  {way.action.value:<7} -> {_target_name(way)}  if {way.condition.text}"
            for way in ([] if state.kind is StateKind.STOP else state.transitions)
        ]
    return "\n".join(lines) + "\n"


def draw_svg(definition: PatternDefinition) -> str:
    """States one under the other, each with its ways; green ones take the event, grey ones pass it over."""
    graph = compile_pattern(definition)
    states = _in_order(graph)
    ways = {state: [] if state.kind is StateKind.STOP else state.transitions for state in states}
    texts = {state: [_way_text(way) for way in ways[state]] for state in states}
    longest = max(len(text) for state in states for text in (*texts[state], _title(state)))
    right = _MARGIN + 2 * _PADDING + longest * _CHARACTER_WIDTH
    tops: dict[State, float] = {}
    height: float = _MARGIN
    for state in states:
        tops[state] = height
        height += _LINE * (1 + len(ways[state])) + _PADDING + _GAP
    shapes: list[str] = []
    for state in states:
        shapes += _box(state, texts[state], ways[state], tops[state], right)
    lane = 0
    for state in states:
        for number, way in enumerate(ways[state], 1):
            lane += 1
            shapes.append(_line(way, tops[state] + _LINE * (number + 0.7), tops[way.target] + _LINE * 0.7, right, lane))
    width = right + (lane + 1) * _LANE + _MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}">',
            f"<style>{_STYLE}</style>",
            "<defs>",
            *(
                f'<marker id="{action.value}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
                f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
                for action, colour in _COLOURS.items()
            ),
            "</defs>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *shapes,
            "</svg>\n",
        )
    )


def _in_order(graph: StateGraph) -> list[State]:
    """From the start along the ways; the states to stop at last."""
    found: dict[State, None] = {graph.start: None}
    waiting = [graph.start]
    while waiting:
        for way in waiting.pop(0).transitions:
            if way.target not in found:
                found[way.target] = None
                waiting.append(way.target)
    return sorted(
        found, key=lambda state: (state.kind in (StateKind.FINAL, StateKind.STOP), state.kind is StateKind.STOP)
    )


def _target_name(way: Transition) -> str:
    if way.target.kind is StateKind.FINAL:
        return "the end"
    return f"stop at '{way.target.step}'" if way.target.kind is StateKind.STOP else f"'{way.target.name}'"


def _way_text(way: Transition) -> str:
    text = f"{way.action.value} -> {_target_name(way)} if {way.condition.text}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _title(state: State) -> str:
    limit = f", within {state.timeout} ms of the event before" if state.timeout else ""
    return "the end" if state.kind is StateKind.FINAL else f"{state.name} ({state.kind.value}){limit}"


def _box(state: State, texts: list[str], ways: list[Transition], top: float, right: float) -> list[str]:
    height = _LINE * (1 + len(texts)) + _PADDING
    left = _MARGIN + _PADDING
    return [
        f'<rect class="state {state.kind.value}" x="{_MARGIN}" y="{top:.0f}" width="{right - _MARGIN:.0f}" '
        f'height="{height:.0f}" rx="6"/>',
        f'<text class="name" x="{left}" y="{top + _LINE:.0f}">{escape(_title(state))}</text>',
        *(
            f'<text x="{left}" y="{top + _LINE * (number + 1):.0f}" style="fill:{_COLOURS[way.action]}">'
            f"{escape(text)}</text>"
            for number, (way, text) in enumerate(zip(ways, texts, strict=True), 1)
        ),
    ]


def _line(way: Transition, start: float, end: float, right: float, lane: int) -> str:
    """From the line of the way to the title of its target, in a lane of its own."""
    return (
        f'<path class="way" stroke="{_COLOURS[way.action]}" marker-end="url(#{way.action.value})" '
        f'd="M{right:.0f} {start:.0f} H{right + lane * _LANE:.0f} V{end:.0f} H{right:.0f}"/>'
    )
