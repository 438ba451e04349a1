"""Side outputs, several sinks and diamonds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common import Types
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor

ODD = OutputTag("odd", Types.STRING())
BIG = OutputTag("big", Types.LONG())


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, str(value)
        else:
            yield value
        if value > 90:
            ctx.output(BIG, value)


def test_side_outputs_of_a_process_function(env: StreamExecutionEnvironment) -> None:
    main = env.from_sequence(1, 100).process(Split(), Types.LONG())
    together = main.map(lambda n: ("main", n)).union(
        main.get_side_output(ODD).map(lambda s: ("odd", s)), main.get_side_output(BIG).map(lambda n: ("big", n))
    )
    expected = Counter(("main", n) for n in range(2, 101, 2))
    expected += Counter(("odd", str(n)) for n in range(1, 100, 2)) + Counter(("big", n) for n in range(91, 101))
    assert Counter(together.execute_and_collect()) == expected


def test_only_the_side_output_is_read(env: StreamExecutionEnvironment) -> None:
    odd = env.from_sequence(1, 20).process(Split()).get_side_output(ODD)
    assert sorted(odd.execute_and_collect(), key=int) == [str(n) for n in range(1, 21, 2)]


class Repeated(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if self.seen.value():
            yield ODD, f"{ctx.get_current_key()} again"
        else:
            self.seen.update(True)
            yield value


def test_side_outputs_of_a_keyed_process_function(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([3, 4, 3, 3, 5]).key_by(lambda n: n).process(Repeated())
    together = main.map(str).union(main.get_side_output(ODD))
    assert Counter(together.execute_and_collect()) == Counter(["3", "4", "5", "3 again", "3 again"])


def test_two_sinks_and_a_diamond(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    written = tmp_path / "written"
    written.mkdir()

    def append(name: str) -> Any:
        def write(value: Any) -> None:
            with (written / name).open("a") as file:
                file.write(f"{value}\n")

        return write

    source = env.from_sequence(1, 100)
    left = source.filter(lambda n: n % 3 == 0).map(lambda n: n * 10)
    right = source.filter(lambda n: n % 3 != 0)
    left.union(right).add_sink(append("diamond")).set_parallelism(1)
    source.map(lambda n: -n).rebalance().add_sink(append("negative")).set_parallelism(1)
    env.execute("diamond")

    def read(name: str) -> Counter[int]:
        return Counter(int(line) for line in (written / name).read_text().splitlines())

    assert read("diamond") == Counter(n * 10 if n % 3 == 0 else n for n in range(1, 101))
    assert read("negative") == Counter(-n for n in range(1, 101))
