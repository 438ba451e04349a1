"""What fails on the way to another stage, on behalf of the operator that sends it: keys, partitioners, conversions."""

from __future__ import annotations

from penstock.common.batch import Batch
from penstock.common.call_site import UNKNOWN_CALL_SITE
from penstock.common.errors import TypeMismatchError
from penstock.engine.stages.keying import RecordFailure
from penstock.plan.nodes import Exchange
from penstock.runtime.failures import user_function_error
from penstock.runtime.operator import OperatorContext


def failure_at_edge(error: Exception, context: OperatorContext, batch: Batch, exchange: Exchange) -> Exception:
    """The error to raise for what failed when records of an operator were given to an edge."""
    if isinstance(error, RecordFailure):
        keyed_at = None if exchange.call_site == UNKNOWN_CALL_SITE else str(exchange.call_site)
        return failure_of_record(context, error, keyed_at)
    if isinstance(error, TypeMismatchError) and error.index is not None:
        return user_function_error(error, context, record=batch.values[error.index])
    return user_function_error(error, context)


def failure_of_record(context: OperatorContext, failure: RecordFailure, keyed_at: str | None = None) -> Exception:
    """The error to raise where a record of an operator cannot go on."""
    cause = failure.__cause__ if isinstance(failure.__cause__, Exception) else failure
    return user_function_error(cause, context, record=failure.record, keyed_at=keyed_at)
