"""Evaluates an expression for a few records, given as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import Expression, this
from penstock.expressions.evaluator import Evaluator


def evaluated(
    expression: Expression,
    records: Sequence[Any],
    record_type: TypeInformation,
    result_type: TypeInformation | None = None,
) -> list[Any]:
    evaluator = Evaluator(expression, record_type, result_type)
    columns = evaluator.columns(codec_for(record_type).to_columns(list(records)), len(records))
    return codec_for(evaluator.type).to_values(columns)


def of_values(expression: Expression, values: Sequence[Any], value_type: TypeInformation) -> list[Any]:
    """For an expression of `this()`."""
    assert this().text in expression.text
    return evaluated(expression, values, value_type)
