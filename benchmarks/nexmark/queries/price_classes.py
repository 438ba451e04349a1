"""Prices by class: below 10,000, below 1,000,000, and the rest."""

from __future__ import annotations

from penstock.expressions import Expression, col, when

LOW, HIGH = 10_000, 1_000_000


def price_class(price: int) -> int:
    """1, 2 or 3."""
    if price < LOW:
        return 1
    return 2 if price < HIGH else 3


def one_if(condition: Expression) -> Expression:
    """1 where the condition holds, else 0."""
    return when(condition, 1).otherwise(0)


IS_RANK1 = one_if(col("price") < LOW)
IS_RANK2 = one_if((col("price") >= LOW) & (col("price") < HIGH))
IS_RANK3 = one_if(col("price") >= HIGH)
