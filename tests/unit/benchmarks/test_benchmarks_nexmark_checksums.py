"""The checksum of results: the same from columns as from single values, and another one where a text is another."""

from __future__ import annotations

import pyarrow as pa
import pytest

from nexmark.checksums import MODULUS, checksum

TEXTS = ["0", "1", "nightTime", "otherTime", "", "ab", "xyz_a", "channel-1234", "xyz_b"]


def text_number(text: str) -> int:
    """What a text counts in the checksum: its length and its first, middle and last character, to the base 128."""
    if not text:
        return 0
    length = len(text)
    return ((length * 128 + ord(text[0])) * 128 + ord(text[length // 2])) * 128 + ord(text[-1])


def sum_of(*columns: list[str]) -> int:
    return checksum([pa.array(column, pa.string()) for column in columns])


def test_columns_of_texts_count_as_single_texts_do() -> None:
    ids = list(range(len(TEXTS)))
    expected = sum(((number + 2 * text_number(text)) % MODULUS) ** 2 for number, text in zip(ids, TEXTS, strict=True))
    assert checksum([pa.array(ids), pa.array(TEXTS)]) == expected


def test_a_slice_counts_its_own_texts_and_null_counts_as_none() -> None:
    texts = pa.array(["passed over", *TEXTS, None, "passed over"]).slice(1, len(TEXTS) + 1)
    assert checksum([texts]) == sum((text_number(text) % MODULUS) ** 2 for text in TEXTS)
    assert checksum([pa.array([None, ""], pa.string())]) == 0


def test_by_length_a_text_is_its_number_of_characters() -> None:
    assert checksum([pa.array(TEXTS)], by_length=True) == sum(len(text) ** 2 for text in TEXTS)
    assert checksum([pa.array([None, "ab"])], by_length=True) == 4


def test_the_number_of_a_text_has_its_length_and_three_of_its_characters() -> None:
    assert text_number("") == 0
    assert text_number("a") == ((1 * 128 + 97) * 128 + 97) * 128 + 97
    assert text_number("abcd") == ((4 * 128 + 97) * 128 + 99) * 128 + 100


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (["0", "1", "1"], ["1", "0", "0"]),  # ids of channels
        (["nightTime", "dayTime"], ["otherTime", "dayTime"]),
        (["abc", "abd"], ["abc", "abc"]),  # folders
        (["abc", "axc"], ["abc", "abc"]),
    ],
)
def test_other_texts_of_the_same_length_have_another_checksum(right: list[str], wrong: list[str]) -> None:
    numbers = list(range(len(right)))
    given = [[pa.array(numbers), pa.array(texts)] for texts in (right, wrong)]
    assert checksum(given[0]) != checksum(given[1])


def test_texts_that_changed_places_between_rows_have_another_checksum() -> None:
    assert sum_of(["a", "b"], ["0", "1"]) != sum_of(["a", "b"], ["1", "0"])
