"""Classes that travel by value: the program keeps its own, other processes have what was sent last."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from penstock.common.by_value import pickled_by_value
from penstock.datastream.functions import MapFunction
from penstock.testing import local_environment
from services.python_process import run_python


def test_a_class_sees_what_the_program_has_changed_since_it_was_sent() -> None:
    factor = 1

    class Scaled(MapFunction):
        def map(self, value: int) -> int:
            return value * factor

    for factor in (1, 10):
        found = list(local_environment().from_collection([1, 2]).map(Scaled()).execute_and_collect())
        assert found == [factor, 2 * factor]
    assert Scaled().map(5) == 50


def test_a_class_of_records_stays_as_it_is() -> None:
    class Payment:
        def total(self) -> int:
            return 1

    total = Payment.total
    (back,) = local_environment().from_collection([1]).map(lambda _: Payment()).execute_and_collect()
    assert type(back) is Payment
    assert Payment.total is total


READS_TWO = """
import pickle, sys
first, second = pickle.load(open(sys.argv[1], "rb"))
kind = pickle.loads(first)
print(kind.factor, kind().scaled(2), pickle.loads(second) is kind, kind.factor, kind().scaled(2))
"""


def test_elsewhere_a_class_is_as_it_was_sent_last(tmp_path: Path) -> None:
    class Scale:
        factor = 1

        def scaled(self, value: int) -> Any:
            return value * self.factor

    first = pickled_by_value(Scale)
    Scale.factor = 10
    (tmp_path / "sent").write_bytes(pickle.dumps([first, pickled_by_value(Scale)]))
    assert run_python("-c", READS_TWO, tmp_path / "sent").stdout == "1 2 True 10 20\n"
