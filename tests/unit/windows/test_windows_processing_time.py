"""Windows that follow the clock, staggered windows, and assigners of the program's own."""

from __future__ import annotations

from collections.abc import Collection
from io import BytesIO
from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.common.time import Time
from penstock.common.typeinfo import Types
from penstock.datastream import DataStream, ProcessWindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CumulativeProcessingTimeWindows,
    EventTimeTrigger,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
    WindowStagger,
)


def sums(assigner: Any) -> Any:
    def build(stream: DataStream) -> DataStream:
        return stream.key_by(lambda pair: pair[0]).window(assigner).reduce(lambda a, b: (a[0], a[1] + b[1]))

    return build


def test_a_window_of_the_clock_fires_when_the_clock_shows_its_end(scenario: Any) -> None:
    run = scenario(sums(TumblingProcessingTimeWindows.of(Time.seconds(3))))
    run.clock(3)
    run.add((("k2", 1), (1 << 63) - 1), (("k2", 1), 7000), (("k1", 1), None))
    assert run.clock(2999) == []
    run.add((("k1", 1), None))
    assert run.clock(3000) == [(("k1", 2), 2999), (("k2", 2), 2999)]
    run.clock(5000)
    run.add((("k1", 1), 7000))
    assert run.clock(7000) == [(("k1", 1), 5999)]
    assert run.stored() == 0


def test_no_record_is_late_for_the_clock(scenario: Any) -> None:
    run = scenario(sums(TumblingProcessingTimeWindows.of("10 ms")))
    run.watermark(1_000_000)
    run.clock(5)
    run.add((("a", 1), 3))
    assert run.clock(10) == [(("a", 1), 9)]
    assert run.dropped == 0


def test_windows_of_the_clock_that_slide(scenario: Any) -> None:
    run = scenario(sums(SlidingProcessingTimeWindows.of("3 s", "1 s")))
    run.clock(3)
    run.add((("k", 1), None))
    assert run.clock(1000) == [(("k", 1), 999)]
    run.add((("k", 1), None), (("k", 1), None))
    assert run.clock(2000) == [(("k", 3), 1999)]
    assert run.clock(3000) == [(("k", 3), 2999)]
    assert run.clock(7000) == [(("k", 2), 3999)]


def test_windows_of_the_clock_that_cumulate(scenario: Any) -> None:
    run = scenario(sums(CumulativeProcessingTimeWindows.of("20 ms", "10 ms")))
    run.add((("k", 1), None))
    assert run.clock(12) == [(("k", 1), 9)]
    run.add((("k", 2), None))
    assert run.clock(20) == [(("k", 3), 19)]


def test_the_end_of_the_input_leaves_windows_of_the_clock_alone(scenario: Any) -> None:
    run = scenario(sums(TumblingProcessingTimeWindows.of("10 ms")))
    assert run.add((("a", 1), None)).end() == []


class Start(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window().start, len(list(elements))


def test_a_natural_stagger_starts_windows_at_the_first_record_and_stays(scenario: Any) -> None:
    assigner = TumblingEventTimeWindows.of("10 ms", None, WindowStagger.NATURAL)
    run = scenario(lambda s: s.key_by(lambda v: v).window(assigner).process(Start()))
    run.clock(1234)
    run.add((1, 3))
    run.clock(5678)
    run.add((1, 4), (2, 14))
    assert run.end() == [((-6, 1), 3), ((4, 1), 13), ((14, 1), 23)]


def test_a_random_stagger_is_the_same_in_every_attempt(scenario: Any) -> None:
    assigner = TumblingEventTimeWindows.of("1 d", "1 h", WindowStagger.RANDOM)

    def starts() -> list[Any]:
        run = scenario(lambda s: s.key_by(lambda v: v).window(assigner).process(Start()))
        return run.add((1, 3), (1, 4)).end()

    first = starts()
    assert first == starts()
    assert first[0][0][0] % 3_600_000 != 0
    assert first[0][0][1] == 2


class ByLetter(WindowAssigner):
    """A window per first letter, with bytes of any length, open until the watermark reaches 100."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[Any]:
        seen = context.get_runtime_context().get_state(ValueStateDescriptor("seen", Types.INT()))
        seen.update((seen.value() or 0) + 1)
        return {Letters(element[1][:1]), Letters(element[1])} if seen.value() < 4 else ()

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return LettersSerializer()

    def is_event_time(self) -> bool:
        return True


class Letters(Window):
    def __init__(self, text: str) -> None:
        self.text = text

    def max_timestamp(self) -> int:
        return 99

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Letters) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class LettersSerializer(TypeSerializer[Letters]):
    def serialize(self, element: Letters, stream: BytesIO) -> None:
        stream.write(element.text.encode())

    def deserialize(self, stream: BytesIO) -> Letters:
        return Letters(stream.read().decode())


class Texts(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().text, [text for _, text in elements]


def test_an_assigner_of_the_programs_own_with_its_own_windows(scenario: Any) -> None:
    run = scenario(lambda s: s.key_by(lambda pair: pair[0]).window(ByLetter()).process(Texts()))
    run.add(((1, "ab"), 0), ((1, "ac"), 0), ((1, "b"), 500), ((1, "never assigned"), 0))
    assert run.watermark(99) == [
        ((1, "a", ["ab", "ac"]), 99),
        ((1, "ab", ["ab"]), 99),
        ((1, "ac", ["ac"]), 99),
        ((1, "b", ["b"]), 99),
    ]
    run.add(((2, "x"), 500))
    assert run.dropped == 1  # its windows are gone, although its timestamp is not late


class Yesterday(WindowAssigner):
    """The window before the record's own."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        start = timestamp - timestamp % 10 - 10
        return [TimeWindow(start, start + 10)]

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_no_record_whose_window_is_gone_disappears_uncounted(scenario: Any) -> None:
    run = scenario(sums(Yesterday()))
    run.watermark(9)
    run.add((("a", 1), 15), (("a", 2), 25))
    assert run.dropped == 1
    assert run.end() == [(("a", 2), 19)]
