"""The kernel of `text.count(letter)` against Python's."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.tracing.letter_counts import count_letter
from unit.tracing.traced_twins import assert_same_map

TEXTS = st.lists(st.none() | st.text("abcé\N{SNOWMAN}\0"), max_size=20)


@given(TEXTS, st.sampled_from("ab\0"), st.integers(0, 20), st.integers(0, 20))
def test_letters_are_counted_in_any_part_of_an_array(
    texts: list[str | None], letter: str, start: int, count: int
) -> None:
    for kind in (pa.string(), pa.large_string()):
        counts = count_letter(pa.array(texts, kind).slice(start, count), letter)
        assert counts.type == pa.int64()
        expected = [None if text is None else text.count(letter) for text in texts[start : start + count]]
        assert counts.to_pylist() == expected


def test_texts_without_any_letter_count_none() -> None:
    assert count_letter(pa.array(["", "", None], pa.string()), "c").to_pylist() == [0, 0, None]
    assert count_letter(pa.array([], pa.string()), "c").to_pylist() == []
    assert count_letter(pa.array(["c", "", "cc", ""], pa.string()), "c").to_pylist() == [1, 0, 2, 0]


@given(st.lists(st.text("acé\N{SNOWMAN}"), min_size=1))
def test_a_function_that_counts_is_traced_with_the_same_result(texts: list[str]) -> None:
    assert_same_map(lambda text: text.count("c"), Types.STRING(), Types.LONG(), texts)
    assert_same_map(lambda text: text.count("é"), Types.STRING(), Types.LONG(), texts)
    assert_same_map(lambda text: text.count("ac"), Types.STRING(), Types.LONG(), texts)
