"""Map and filter by a rule that is looked up in broadcast state: JSON files."""

from __future__ import annotations

from collections.abc import Iterator

from common.contender import parse_arguments
from common.inputs import stateless_filter, stateless_map
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from penstock.common import Row, Types
from penstock.datastream import BroadcastProcessFunction
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat
from penstock.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())
RULE_COUNT = 10


class ApplyRule(BroadcastProcessFunction):
    def process_element(self, value: Row, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[int]:
        factor = ctx.get_broadcast_state(RULES).get(value.k % RULE_COUNT)
        mapped = stateless_map(value.k, value.v, value.ts) * factor
        if stateless_filter(mapped):
            yield mapped

    def process_broadcast_element(self, value: tuple[int, int], ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    rules = env.from_collection([(number, 1) for number in range(RULE_COUNT)], Types.TUPLE([Types.LONG()] * 2))
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    records = env.from_source(source, source_name="records")
    results = records.connect(rules.broadcast(RULES)).process(ApplyRule(), Types.LONG())
    run_counted(env, results, arguments)


if __name__ == "__main__":
    main()
