"""A function and its program, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.tracing import trace_filter, trace_map


def exact(value: Any) -> str:
    """Tells apart what `==` does not: 1 and 1.0 and True, 0.0 and -0.0; and NaN is itself."""
    return f"{type(value).__name__}:{value!r}"


def mapped(
    function: Callable[[Any], Any], input_type: TypeInformation, output_type: TypeInformation, records: Sequence[Any]
) -> list[Any]:
    """The results of the program; raises where it leaves the records to Python."""
    columns = codec_for(input_type).to_columns(list(records))
    made = trace_map(function, input_type, output_type).columns(columns, len(records))
    schema = codec_for(output_type).schema
    assert schema is not None
    assert [column.type for column in made] == list(schema.types)
    return codec_for(output_type).to_values(made)


def kept(function: Callable[[Any], Any], input_type: TypeInformation, records: Sequence[Any]) -> list[bool]:
    """What the program says of each record; raises where it leaves the records to Python."""
    columns = codec_for(input_type).to_columns(list(records))
    mask = trace_filter(function, input_type).mask(columns, len(records))
    assert mask.null_count == 0
    return mask.to_pylist()


def python_form(input_type: TypeInformation, records: Sequence[Any]) -> list[Any]:
    """The records as a function gets them."""
    codec = codec_for(input_type)
    return codec.to_values(codec.to_columns(list(records)))


def assert_same_map(
    function: Callable[[Any], Any], input_type: TypeInformation, output_type: TypeInformation, records: Sequence[Any]
) -> None:
    """The program gives what the function gives, to the class and the sign of zero."""
    expected = list(map(function, python_form(input_type, records)))
    found = mapped(function, input_type, output_type, records)
    assert list(map(exact, found)) == list(map(exact, expected))
