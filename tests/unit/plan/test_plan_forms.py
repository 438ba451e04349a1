"""A plan as text, as JSON, as a fingerprint and as a drawing."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from penstock.common.call_site import CallSite
from penstock.common.errors import PlanError
from penstock.optimizer.pipeline import optimize
from penstock.plan.drawing import to_mermaid, to_svg
from penstock.plan.explain import explain
from penstock.plan.json_form import fingerprint, to_json
from penstock.plan.naming import qualified_name
from penstock.plan.nodes import Edge
from penstock.plan.plan import Plan
from plans.plan_parts import HASH, Tagger, first_letter, keyed, mapping, plan, sink, source
from plans.programs import PROGRAMS

SVG = "{http://www.w3.org/2000/svg}"


def counting(**changes: object) -> Plan:
    return plan(source(1), keyed(2, **changes), sink(3), Edge(1, 2, HASH), Edge(2, 3))


def test_functions_are_named_and_never_shown() -> None:
    assert qualified_name(first_letter) == "plans.plan_parts.first_letter"
    assert qualified_name(Tagger()) == "plans.plan_parts.Tagger"
    assert qualified_name(Tagger().process_element) == "plans.plan_parts.Tagger.process_element"
    assert qualified_name(functools.partial(first_letter, "secret")) == "plans.plan_parts.first_letter"


def test_json_has_operators_edges_and_stages() -> None:
    form = json.loads(json.dumps(to_json(optimize(counting()))))
    assert [(node["kind"], node["uid"], node["name"]) for node in form["nodes"]] == [
        ("Source", "uid-1", "words"),
        ("KeyedProcess", "uid-2", "count"),
        ("Sink", "uid-3", "out"),
    ]
    assert form["nodes"][0]["source"] == "2 words"
    assert form["nodes"][1]["function"] == "plans.plan_parts.Tagger"
    assert form["nodes"][2]["guarantee"] == "at-least-once"
    assert form["edges"][0]["exchange"] == {
        "kind": "hash",
        "key_selector": "plans.plan_parts.first_letter",
        "key_type": "String",
    }
    assert form["stages"] == [
        {"level": 0, "parallelism": 1, "chains": [{"id": 0, "nodes": [1]}]},
        {"level": 1, "parallelism": 1, "chains": [{"id": 1, "nodes": [2, 3]}]},
    ]


def test_json_of_an_unoptimized_plan_has_no_stages() -> None:
    assert "stages" not in to_json(counting())


def test_the_line_of_a_program_is_in_no_form() -> None:
    line = CallSite("program.py", 7, 'connect(password="hunter2")')
    optimized = optimize(counting(call_site=line))
    forms = (json.dumps(to_json(optimized)), explain(optimized), to_mermaid(optimized), to_svg(optimized))
    assert not any("hunter2" in form for form in forms)
    assert to_json(optimized)["nodes"][1]["defined_at"] == "program.py:7"


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"function": None}, {"description": "x"}, {"call_site": CallSite("x", 1, "")}],
)
def test_names_and_code_leave_the_fingerprint_alone(change: dict[str, object]) -> None:
    assert fingerprint(counting(**change)) == fingerprint(counting())


@pytest.mark.parametrize("change", [{"uid": "other"}, {"max_parallelism": 64}])
def test_uid_and_max_parallelism_are_in_the_fingerprint(change: dict[str, object]) -> None:
    assert fingerprint(counting(**change)) != fingerprint(counting())


def test_parallelism_kind_and_edges_are_in_the_fingerprint() -> None:
    plans = [
        plan(source(1), mapping(2), sink(3), Edge(1, 2, HASH), Edge(2, 3)),
        plan(source(1), keyed(2), sink(3), Edge(1, 2, HASH), Edge(2, 3)),
        plan(source(1), mapping(2), sink(3), Edge(1, 2), Edge(2, 3)),
        plan(source(1), mapping(2), sink(3), Edge(1, 2, HASH), Edge(2, 3), Edge(1, 3)),
        plan(source(1), mapping(2, parallelism=2), sink(3, parallelism=2), Edge(1, 2, HASH), Edge(2, 3)),
    ]
    assert len({fingerprint(found) for found in plans}) == len(plans)


def test_where_an_operator_runs_is_in_the_fingerprint() -> None:
    chained = plan(source(1), mapping(2), sink(3), Edge(1, 2), Edge(2, 3))
    in_own_group = plan(source(1), mapping(2, slot_sharing_group="own"), sink(3), Edge(1, 2), Edge(2, 3))
    assert fingerprint(chained) == fingerprint(in_own_group)
    assert fingerprint(optimize(chained)) != fingerprint(optimize(in_own_group))


def test_the_numbers_of_exchanges_are_in_the_fingerprint() -> None:
    nodes = source(1), keyed(2), keyed(3), sink(4), sink(5)
    to_sinks = Edge(2, 4), Edge(3, 5)
    one = plan(*nodes, Edge(1, 2, HASH), Edge(1, 3, HASH), *to_sinks)
    other = plan(*nodes, Edge(1, 3, HASH), Edge(1, 2, HASH), *to_sinks)
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(optimize(one)) != fingerprint(optimize(other))
    reordered = plan(*nodes, *to_sinks, Edge(1, 2, HASH), Edge(1, 3, HASH))
    assert fingerprint(optimize(one)) == fingerprint(optimize(reordered))


def test_ids_do_not_change_the_fingerprint() -> None:
    nodes = (source(11, uid="uid-1"), keyed(7, uid="uid-2"), sink(5, uid="uid-3"))
    assert fingerprint(plan(*nodes, Edge(7, 5), Edge(11, 7, HASH))) == fingerprint(counting())


@pytest.mark.parametrize("program", PROGRAMS)
def test_svg_shows_every_stage_operator_and_exchange(program: str) -> None:
    optimized = optimize(PROGRAMS[program]())
    root = ElementTree.fromstring(to_svg(optimized))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for stage in optimized.stages:
        assert f"stage {stage.level}, parallelism {stage.parallelism}" in texts
    for node in optimized.nodes:
        assert f"{node.kind} '{node.name}'" in texts
    arrows = [path for path in root.iter(f"{SVG}path") if path.get("class") == "exchange"]
    assert len(arrows) == len(optimized.exchanges)


@pytest.mark.parametrize("program", PROGRAMS)
def test_svg_boxes_of_one_kind_do_not_overlap_and_lie_inside_the_picture(program: str) -> None:
    root = ElementTree.fromstring(to_svg(optimize(PROGRAMS[program]())))
    for css_class in ("stage", "chain", "node"):
        boxes = [
            tuple(float(box.get(side, "nan")) for side in ("x", "y", "width", "height"))
            for box in root.iter(f"{SVG}rect")
            if box.get("class") == css_class
        ]
        for index, (x, y, width, height) in enumerate(boxes):
            assert x >= 0
            assert y >= 0
            assert x + width <= float(root.get("width", "nan"))
            assert y + height <= float(root.get("height", "nan"))
            for x2, y2, width2, height2 in boxes[index + 1 :]:
                assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y


def test_names_with_markup_are_escaped_in_drawings() -> None:
    drawn = optimize(counting(name='<b>"bold"</b> & more'))
    assert "KeyedProcess '&lt;b&gt;#quot;bold#quot;&lt;/b&gt; &amp; more'" in to_mermaid(drawn)
    texts = [element.text for element in ElementTree.fromstring(to_svg(drawn)).iter(f"{SVG}text")]
    assert "KeyedProcess '<b>\"bold\"</b> & more'" in texts


def test_a_chain_may_be_longer_than_python_nests_calls() -> None:
    length = sys.getrecursionlimit() + 100
    maps = [mapping(number, f"map {number}") for number in range(2, length)]
    edges = [Edge(number, number + 1) for number in range(1, length)]
    long = optimize(plan(source(1), *maps, sink(length), *edges))
    assert [len(chain.nodes) for chain in long.stages[0].chains] == [length]
    assert explain(long).count("Map 'map ") == length - 2
    assert to_mermaid(long).count("-->") == length - 1
    assert to_svg(long).count('class="link"') == length - 1


def test_a_drawing_needs_stages() -> None:
    with pytest.raises(PlanError, match="run the optimizer first"):
        to_mermaid(counting())


def test_a_plan_without_levels_is_explained_by_operators() -> None:
    chained = dataclasses.replace(optimize(counting()), layout=None)
    assert "stage" not in explain(chained)
    assert "<= hash(word[:1]) from [1]" in explain(chained)
