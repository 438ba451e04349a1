"""Every schedule of an operator on two streams gives the same answer."""

from __future__ import annotations

from typing import Any

from penstock.common import Types
from penstock.datastream import KeyedBroadcastProcessFunction, KeyedCoProcessFunction, ProcessWindowFunction
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import fuzz

ORDERS = [(("ab"[n % 2], n), n * 450) for n in range(8)]
PAYMENTS = [(("ab"[n // 2 % 2], 100 + n), n * 510 + 20) for n in range(7)]
DISORDER = "1 s"
EXAMPLES = 12


def key(value: Any) -> str:
    return value[0]


class Numbers(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, tuple(sorted(number for _, number in elements))


def test_a_union_waits_for_both_streams() -> None:
    fuzz(
        lambda a, b: a.union(b).key_by(key).window(TumblingEventTimeWindows.of("1 s")).process(Numbers()),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        max_examples=EXAMPLES,
    )


class Pairs(KeyedCoProcessFunction):
    """Each payment with the orders of its key in the second before it, once event time is there."""

    def open(self, runtime_context: Any) -> None:
        self.orders = runtime_context.get_list_state(ListStateDescriptor("orders", Types.PICKLED_BYTE_ARRAY()))
        self.payments = runtime_context.get_map_state(
            MapStateDescriptor("payments", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.orders.add((ctx.timestamp(), value[1]))

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.payments.put(ctx.timestamp(), [*(self.payments.get(ctx.timestamp()) or ()), value[1]])
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        orders = sorted(number for stamp, number in self.orders.get() if timestamp - 1_000 <= stamp <= timestamp)
        for payment in self.payments.get(timestamp):
            yield ctx.get_current_key(), payment, orders
        self.payments.remove(timestamp)


def pairs(orders: Any, payments: Any) -> list[Any]:
    return [
        (
            (name, payment, [n for (other, n), t in orders if other == name and timestamp - 1_000 <= t <= timestamp]),
            timestamp,
        )
        for (name, payment), timestamp in payments
    ]


def test_timers_of_two_connected_streams_see_what_both_have_sent() -> None:
    fuzz(
        lambda a, b: a.connect(b).key_by(key, key).process(Pairs()),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=pairs,
        max_examples=EXAMPLES,
    )


class Priced(KeyedBroadcastProcessFunction):
    """A record waits for its second to be over; then the prices of that time are known in every subtask."""

    prices = MapStateDescriptor("prices", Types.LONG(), Types.LONG())

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.waiting.add((ctx.timestamp(), value[1]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.prices).put(ctx.timestamp(), value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        known = [price for stamp, price in ctx.get_broadcast_state(self.prices).items() if stamp <= timestamp]
        for stamp, number in self.waiting.get():
            if stamp == timestamp:
                yield ctx.get_current_key(), number, sorted(known)
        self.waiting.update([(stamp, number) for stamp, number in self.waiting.get() if stamp != timestamp])


def priced(orders: Any, prices: Any) -> list[Any]:
    return [
        ((name, number, sorted(price for (_, price), t in prices if t <= timestamp)), timestamp)
        for (name, number), timestamp in orders
    ]


def test_a_broadcast_stream_reaches_every_subtask_in_time() -> None:
    fuzz(
        lambda orders, prices: orders.key_by(key).connect(prices.broadcast(Priced.prices)).process(Priced()),
        ORDERS,
        PAYMENTS,
        disorder=DISORDER,
        timestamps=True,
        oracle=priced,
        max_examples=EXAMPLES,
    )
