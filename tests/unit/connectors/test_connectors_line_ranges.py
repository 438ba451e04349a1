r"""However a file is cut into byte ranges, each line is read exactly once."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.files.line_ranges import line_blocks

_lines = st.lists(
    st.one_of(
        st.text(alphabet="aß€𝄞 \r", max_size=12),
        st.integers(0, 200).map(lambda length: "x" * length),
        st.just(""),
    ),
    max_size=12,
)
_contents = st.builds(
    lambda lines, newline, ends_with_newline: (newline.join(lines) + (newline if ends_with_newline else "")).encode(),
    _lines,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)


@settings(deadline=None)
@given(content=_contents, cuts=st.lists(st.integers(0, 400), max_size=8), block_bytes=st.integers(1, 50))
def test_the_blocks_of_all_ranges_are_the_file(content, cuts, block_bytes):
    edges = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    read = []
    for start, end in pairwise(edges):
        for block in line_blocks(io.BytesIO(content), start, end, block_bytes):
            assert block.data == content[block.offset : block.offset + len(block.data)]
            assert block.data
            is_at_end = block.offset + len(block.data) == len(content)
            assert block.data.endswith(b"\n") or is_at_end, "only whole lines"
            assert start <= block.offset < end
            read.append(block.data)
    assert b"".join(read) == content


def test_a_range_inside_one_line_is_empty():
    file = io.BytesIO(b"one\na line that is long\nthree\n")
    assert list(line_blocks(file, 6, 12)) == []


@pytest.mark.parametrize(
    ("start", "end", "lines"),
    [(0, 3, b"ab\n"), (3, 6, b"cd\n"), (0, 4, b"ab\ncd\n"), (4, 6, b"")],
)
def test_the_first_byte_decides_which_range_a_line_belongs_to(start, end, lines):
    assert b"".join(block.data for block in line_blocks(io.BytesIO(b"ab\ncd\n"), start, end)) == lines


def test_without_an_end_the_file_is_read_to_its_end():
    file = io.BytesIO(b"ab\ncd\nef")
    assert b"".join(block.data for block in line_blocks(file, 0, None, 2)) == b"ab\ncd\nef"
