"""The text that PyFlink prints for a record of a declared type."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np

from penstock.common.row import Row
from penstock.common.time import Instant


def record_text(record: Any) -> str:
    """A whole record: a row's fields are in Python's form, whatever is in them; all else is in Flink's."""
    if isinstance(record, Row):
        return f"{record.get_row_kind()}[{','.join(map(str, record))}]"
    return print_text(record)


def print_text(value: Any) -> str:  # noqa: PLR0911  one line per type
    """`true`, `null`, `+I[1, a]`, `(1,a)`, `[1, 2]`, `{k=v}`: as Flink's own types show themselves."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _floating(float(value))  # NumPy's are floats too, but another text
        case Row():
            return f"{value.get_row_kind()}[{', '.join(map(print_text, value))}]"
        case tuple() if not hasattr(value, "_fields"):
            return f"({','.join(map(print_text, value))})"
        case list():
            return f"[{', '.join(map(print_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{print_text(k)}={print_text(v)}' for k, v in value.items())}}}"
        case datetime.datetime():
            fraction = f"{value.microsecond // 1000:03d}".rstrip("0") or "0"
            return f"{value.isoformat(' ', 'seconds')}.{fraction}"
        case datetime.time():
            return f"{value:%H:%M:%S}"
        case Instant():
            return _instant(value)
        case _:
            return str(value)


def _instant(value: Instant) -> str:
    """Thousandths, millionths or billionths of a second, as many as there are."""
    fraction = f"{value.nanos:09d}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{np.datetime64(value.seconds, 's')}{'.' if fraction else ''}{fraction}Z"


def _floating(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}"
    two_digits = f"{value:.1e}"
    sign, digits, exponent = Decimal(two_digits if float(two_digits) == value else repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent + len(digits) - 1}"
