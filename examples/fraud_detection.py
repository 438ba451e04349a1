"""Finds cards that are tried out: small payments, then a large one somewhere else within a minute.

python examples/fraud_detection.py
python examples/fraud_detection.py --engine local --payments 5000 --near-misses
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

from penstock.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    MatchedEvents,
    Pattern,
    PatternProcessFunction,
)
from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.expressions import col

PAYMENT = Types.ROW_NAMED(
    ["card", "amount", "place", "at"], [Types.STRING(), Types.DOUBLE(), Types.STRING(), Types.LONG()]
)
PLACES = ["Lyon", "Oslo", "Rome"]
NEAR_MISSES = OutputTag("near misses")


def some_payments(count: int, seed: int = 1) -> list[Row]:
    """Payments of two hundred cards, one every 50 ms, not quite in order."""
    chance = random.Random(seed)
    return [
        Row(
            card=f"card-{chance.randrange(200)}",
            amount=chance.choice([0.5, 0.9, 12.0, 30.0, 45.0, 60.0, 620.0]),
            place=chance.choice(PLACES),
            at=50 * number + chance.randrange(2_000),
        )
        for number in range(count)
    ]


def elsewhere(payment: Row, ctx: IterativeCondition.Context) -> bool:
    """Whether a payment is in another place than those before."""
    return all(payment.place != before.place for before in ctx.get_events_for_pattern("small"))


def tried_out() -> Pattern:
    """One or more small payments, then a large one elsewhere, within a minute."""
    pattern = Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event()).where(col("amount") < 1.0)
    pattern = pattern.one_or_more().consecutive()
    return pattern.next("large").where(col("amount") > 500.0).where(elsewhere).within("1 min")


class Alert(PatternProcessFunction):
    def process_match(self, match: MatchedEvents, ctx: PatternProcessFunction.Context) -> Iterator[str]:
        large = match["large"][0]
        tries = ", ".join(f"{payment.amount} in {payment.place}" for payment in match["small"])
        yield f"{large.card}: {tries}; then {large.amount} in {large.place}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--payments", type=int, default=2_000)
    arguments.add_argument("--engine", choices=["spark", "local"], default="spark")
    arguments.add_argument("--near-misses", action="store_true", help="print what almost was an alert, too")
    options = arguments.parse_args()
    configuration = Configuration().set_string("execution.engine", options.engine)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    in_time = WatermarkStrategy.for_bounded_out_of_orderness("2 s").with_timestamp_assigner("at")
    payments = env.from_collection(some_payments(options.payments), PAYMENT).assign_timestamps_and_watermarks(in_time)
    alerts = (
        CEP.pattern(payments.key_by("card"), tried_out())
        .side_output_near_misses(NEAR_MISSES)
        .process(Alert(), Types.STRING())
        .name("Alerts")
        .uid("alerts")
    )
    alerts.print()
    if options.near_misses:
        alerts.get_side_output(NEAR_MISSES).map(lambda miss: f"almost: {miss.reason}", Types.STRING()).print()
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
