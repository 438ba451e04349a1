"""The rule that finds functions to compute over columns."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import ConfigurationError
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.functions import FilterFunction, MapFunction, RuntimeContext
from penstock.execution.submit import plan_to_run
from penstock.optimizer.trace_functions import TraceFunctions
from penstock.plan.json_form import fingerprint
from penstock.plan.nodes import KeyedProcessNode, Node, StatelessNode
from penstock.plan.plan import Plan
from penstock.plan.traced_node import TracedNode
from penstock.tracing import TracedKey

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def program(env: StreamExecutionEnvironment) -> Plan:
    pairs = env.from_collection([("a", 1), ("b", -2)], PAIR)
    kept = pairs.filter(lambda r: r[1] > 0).name("kept").uid("kept")
    kept.map(lambda r: (r[0], r[1] * 2), PAIR).name("doubled").map(lambda r: print(r[0])).name("shown").print()
    return env.get_plan()


def nodes(plan: Plan) -> dict[str, Node]:
    return {node.name: node for node in plan.nodes}


def test_functions_that_can_be_traced_are(env: StreamExecutionEnvironment) -> None:
    plan = program(env)
    traced = nodes(TraceFunctions().apply(plan))
    kept, doubled, shown = traced["kept"], traced["doubled"], traced["shown"]
    assert isinstance(kept, TracedNode)
    assert isinstance(doubled, TracedNode)
    assert kept.read_fields == {"f1"}
    assert doubled.read_fields == {"f0", "f1"}
    assert doubled.program_text == "(r[0], r[1] * 2)"
    before = nodes(plan)["kept"]
    assert isinstance(before, StatelessNode)
    assert (kept.id, kept.uid, kept.kind, kept.call_site, kept.function) == (
        before.id,
        before.uid,
        before.kind,
        before.call_site,
        before.function,
    )
    assert type(shown) is StatelessNode
    assert shown.not_traced.startswith(
        "it calls print, which is not known to be pure at test_optimizer_trace_functions"
    )


def test_state_of_a_plan_fits_with_and_without(env: StreamExecutionEnvironment) -> None:
    plan = program(env)
    assert fingerprint(TraceFunctions().apply(plan)) == fingerprint(plan)


def test_a_plan_without_functions_stays_the_same_object(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1], Types.LONG()).print()
    plan = env.get_plan()
    assert TraceFunctions().apply(plan) is plan


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda s: s.map(lambda n: [n]).map(lambda n: n, Types.LONG()), "the records have no declared type"),
        (lambda s: s.map(lambda n: n + 1, Types.DOUBLE()), "`n + 1` is int, and Double is declared"),
        (lambda s: s.flat_map(lambda n: [n, n], Types.LONG()), "a flat_map gives any number of records"),
        (lambda s: s.process(lambda n, ctx: [n], Types.LONG()), "a process function has a context"),
    ],
)
def test_why_not(env: StreamExecutionEnvironment, build: Any, reason: str) -> None:
    build(env.from_collection([1], Types.LONG())).name("last").print()
    node = nodes(TraceFunctions().apply(env.get_plan()))["last"]
    assert isinstance(node, StatelessNode)
    assert node.not_traced.startswith(f"{reason} at test_optimizer_trace_functions.py:")


def test_explain_says_it_and_one_switch_turns_it_off(env: StreamExecutionEnvironment) -> None:
    program(env)
    text = env.explain()
    assert "| traced: r[1] > 0 |" in text
    assert "| not traced: it calls print, which is not known to be pure at " in text
    env.configuration.set_string("optimizer.disabled-rules", "trace-functions")
    text = env.explain()
    assert "traced" not in text
    env.configuration.set_string("optimizer.disabled-rules", "trace")
    with pytest.raises(ConfigurationError):
        plan_to_run(env.get_plan(), env.configuration)


def test_results_of_no_declared_type_are_known_within_the_chain(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([("a", 1), ("b", -2)], PAIR)
    first = pairs.map(lambda r: (r[1], r[0])).name("first")
    first.filter(lambda t: t[0] > 0).name("second").key_by(lambda t: t[1]).map(lambda t: t[0]).name("third").print()
    plan = TraceFunctions().apply(env.get_plan())
    traced = nodes(plan)
    assert isinstance(traced["first"], TracedNode)
    assert traced["first"].output_type == Types.PICKLED_BYTE_ARRAY()
    assert isinstance(traced["second"], TracedNode)
    (edge,) = plan.inputs(traced["third"].id)
    assert isinstance(edge.exchange.key_selector, TracedKey)


def test_a_union_of_one_type_is_traced(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1], Types.LONG())
    numbers.union(env.from_collection([2], Types.LONG())).filter(lambda n: n > 1).name("last").print()
    assert isinstance(nodes(TraceFunctions().apply(env.get_plan()))["last"], TracedNode)


def test_a_reduction_is_shown_as_what_it_was_recognised(env: StreamExecutionEnvironment) -> None:
    env.from_collection([("a", 1)], PAIR).key_by(0).reduce(lambda one, other: (one[0], one[1] + other[1])).print()
    assert "Reduce 'Reduce' | recognised as f0=first, f1=sum | keyed" in env.explain()


def test_keys_times_and_reductions_that_are_not_traced_say_why(env: StreamExecutionEnvironment) -> None:
    def latest(one: Any, other: Any) -> Any:
        return max(one, other, key=str)

    stamps = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, before: hash(r[0]))
    rows = env.from_collection([("a", 1)], PAIR).assign_timestamps_and_watermarks(stamps)
    rows.key_by(lambda r: frozenset([r[0]])).reduce(latest).print()
    untyped = env.from_collection([object()]).assign_timestamps_and_watermarks(stamps)
    untyped.key_by(id).reduce(latest).key_by(lambda r: r).sum(0).print()
    plan = env.explain()
    assert "timestamps not traced: it calls hash, which is not known to be pure at test_optimizer_trace" in plan
    assert "(not traced: it makes a list at test_optimizer_trace_functions.py:" in plan
    undeclared = "not traced: the records have no declared type at test_optimizer_trace_functions.py:"
    assert f"timestamps {undeclared}" in plan
    assert f"hash(id) ({undeclared}" in plan
    assert f"Reduce 'Reduce' | {undeclared}" in plan
    assert f"hash(<lambda>) ({undeclared}" in plan
    assert "| not traced: it uses 'str' as a value; what it captures must be a constant at test_optimizer" in plan


class Doubled(MapFunction):
    """Has no `open`, so that there is no state that it could use."""

    def map(self, value: Any) -> Any:
        return value[1] * 2


class First(FilterFunction):
    """Could use state: it is opened."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen: set[str] = set()

    def filter(self, value: Any) -> bool:
        return value[0] not in self.seen


def test_functions_behind_a_key_that_cannot_use_state_are_traced(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([("a", 1), ("b", -2)], PAIR).key_by(0)
    keyed.map(lambda r: r[1] + 1, Types.LONG()).name("more").print()
    keyed.map(Doubled(), Types.LONG()).name("doubled").print()
    keyed.filter(lambda r: r[1] > 0).name("kept").print()
    plan = env.get_plan()
    optimized = TraceFunctions().apply(plan)
    traced = nodes(optimized)
    assert all(isinstance(traced[name], TracedNode) for name in ("more", "doubled", "kept"))
    assert fingerprint(optimized) == fingerprint(plan)


def test_functions_behind_a_key_that_are_not_traced_say_why(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([("a", 1), ("b", -2)], PAIR).key_by(0)
    keyed.map(lambda r: print(r[0])).name("shown").print()
    keyed.flat_map(lambda r: r).name("parts").print()
    found = nodes(TraceFunctions().apply(env.get_plan()))
    reasons = {name: found[name].not_traced.partition(" at ")[0] for name in ("shown", "parts")}  # type: ignore[attr-defined]
    assert reasons == {
        "shown": "it calls print, which is not known to be pure",
        "parts": "a flat_map gives any number of records",
    }
    assert all(isinstance(found[name], KeyedProcessNode) for name in reasons)


def test_functions_behind_a_key_that_can_use_state_say_so(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([("a", 1), ("b", -2)], PAIR).key_by(0)
    keyed.filter(First()).name("first").print()
    keyed.process(lambda r, ctx: [r]).name("processed").print()
    traced = nodes(TraceFunctions().apply(env.get_plan()))
    for name in ("first", "processed"):
        node = traced[name]
        assert isinstance(node, KeyedProcessNode)
        assert node.not_traced.startswith("it can use state of the key at test_optimizer_trace_functions.py:")


def test_functions_behind_a_key_get_the_records_of_a_batch_sorted(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stamps = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, before: -r[1])
    pairs = env.from_collection([("b", 1), ("a", 2), ("b", 3), ("a", 4)], PAIR).assign_timestamps_and_watermarks(stamps)
    kept = pairs.key_by(0).filter(lambda r: r[1] < 4)
    assert list(kept.execute_and_collect()) == [("a", 2), ("b", 3), ("b", 1)]


def test_partitioners_say_that_they_are_called(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([("a", 1), ("b", -2)], PAIR)
    pairs.partition_custom(lambda key, subtasks: key % subtasks, lambda r: r[1]).print()
    assert "(not traced: a partitioner is asked about every record at test_optimizer_trace" in env.explain()
