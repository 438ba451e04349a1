from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.value_serializers import serializer_for


@pytest.mark.parametrize(
    ("type_info", "value", "encoded"),
    [
        (Types.BYTE(), -1, "01ff"),
        (Types.SHORT(), 258, "010201"),
        (Types.INT(), 1, "0101000000"),
        (Types.LONG(), -2, "01feffffffffffffff"),
        (Types.DOUBLE(), 1.5, "01000000000000f83f"),
        (Types.FLOAT(), 1.5, "01000000000000f83f"),
        (Types.BOOLEAN(), True, "0101"),
        (Types.STRING(), "é", "01c3a9"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00a", "010061"),
        (Types.LONG(), None, "00"),
        (Types.STRING(), None, "00"),
        (None, None, "00"),
    ],
)
def test_golden_bytes(type_info: TypeInformation | None, value: Any, encoded: str) -> None:
    serializer = serializer_for(type_info)
    assert serializer.dumps(value).hex() == encoded
    loaded = serializer.loads(bytes.fromhex(encoded))
    assert loaded == value
    assert type(loaded) is type(value)


@pytest.mark.parametrize("type_info", [None, Types.PICKLED_BYTE_ARRAY()])
def test_what_has_no_declared_type_is_pickled(type_info: TypeInformation | None) -> None:
    serializer = serializer_for(type_info)
    for value in (Decimal("1.10"), (1, "a"), [1, 2], {"a": {1}}):
        assert serializer.convert(value) is value
        assert serializer.loads(serializer.dumps(value)) == value


def test_classes_that_cannot_be_imported_go_by_value() -> None:
    class Local:
        def __init__(self, n: int) -> None:
            self.n = n

    serializer = serializer_for(None)
    assert serializer.loads(serializer.dumps(Local(5))).n == 5


@pytest.mark.parametrize("type_info", [None, Types.LONG(), Types.STRING(), Types.DOUBLE()])
def test_many_values(type_info: TypeInformation | None) -> None:
    serializer = serializer_for(type_info)
    examples: dict[Any, list[Any]] = {int: [1, None, 3], str: ["", "é", None], float: [0.5, math.inf]}
    values = examples.get(serializer.expected, [1, "a", None, (2,)])
    assert serializer.loads_many(serializer.dumps_many(values)) == values
    assert serializer.loads_many(serializer.dumps_many([])) == []


@pytest.mark.parametrize(
    ("type_info", "given", "kept"),
    [
        (Types.LONG(), np.int32(5), 5),
        (Types.LONG(), True, 1),
        (Types.DOUBLE(), 3, 3.0),
        (Types.DOUBLE(), np.float32(0.5), 0.5),
        (Types.FLOAT(), 0.1, 0.1),
        (Types.BOOLEAN(), np.bool_(False), False),
        (Types.STRING(), np.str_("a"), "a"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"a"), b"a"),
        (Types.LONG(), None, None),
        (Types.FLOAT(), None, None),
    ],
)
def test_values_become_what_the_type_has(type_info: TypeInformation, given: Any, kept: Any) -> None:
    converted = serializer_for(type_info).convert(given)
    assert converted == kept
    assert type(converted) is type(kept)


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.LONG(), 1.0),
        (Types.LONG(), "1"),
        (Types.DOUBLE(), "1"),
        (Types.DOUBLE(), Decimal(1)),
        (Types.FLOAT(), "1"),
        (Types.BOOLEAN(), 1),
        (Types.STRING(), b"a"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "a"),
    ],
)
def test_other_values_are_refused(type_info: TypeInformation, value: Any) -> None:
    with pytest.raises(TypeMismatchError):
        serializer_for(type_info).convert(value)


@pytest.mark.parametrize(
    ("type_info", "value"),
    [(Types.BYTE(), 128), (Types.INT(), 2**31), (Types.LONG(), 2**63), (Types.FLOAT(), 1e39)],
)
def test_numbers_that_are_too_large_are_refused(type_info: TypeInformation, value: float) -> None:
    with pytest.raises(TypeMismatchError, match="does not fit into"):
        serializer_for(type_info).dumps(value)
