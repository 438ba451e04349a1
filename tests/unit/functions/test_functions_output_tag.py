from __future__ import annotations

import pickle

import pytest

from penstock.common.typeinfo import RowTypeInfo, Types
from penstock.functions import OutputTag
from services.python_process import run_python


def test_a_tag_has_a_name_and_a_type() -> None:
    tag = OutputTag("late", Types.STRING())
    assert (tag.tag_id, tag.type_info) == ("late", Types.STRING())


def test_without_a_type_records_are_pickled() -> None:
    assert OutputTag("late").type_info == Types.PICKLED_BYTE_ARRAY()


def test_a_list_of_types_is_a_row() -> None:
    assert OutputTag("late", [Types.STRING(), Types.LONG()]).type_info == RowTypeInfo([Types.STRING(), Types.LONG()])


@pytest.mark.parametrize("tag_id", ["", None, 5])
def test_a_tag_needs_a_name(tag_id: object) -> None:
    with pytest.raises(ValueError, match="text that is not empty"):
        OutputTag(tag_id)  # type: ignore[arg-type]


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(TypeError, match="a list of types"):
        OutputTag("late", "STRING")  # type: ignore[arg-type]


def test_a_tag_travels() -> None:
    copy = pickle.loads(pickle.dumps(OutputTag("late", Types.LONG())))
    assert (copy.tag_id, copy.type_info) == ("late", Types.LONG())


def test_a_process_knows_whether_it_ever_had_a_tag() -> None:
    tag = pickle.dumps(OutputTag("late"))
    program = (
        "import pickle; from penstock.functions import OutputTag; print(OutputTag.exists); "
        f"pickle.loads({tag!r}); print(OutputTag.exists)"
    )
    assert run_python("-c", program).stdout.split() == ["False", "True"]
