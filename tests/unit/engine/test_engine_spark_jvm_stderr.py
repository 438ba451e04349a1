"""Which of the JVM's words reach the terminal."""

from __future__ import annotations

import os

import pytest

from penstock.engine.spark.jvm_stderr import JvmStandardError

WARNING = b"WARNING: Using incubator modules: jdk.incubator.vector\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_one_line_is_left_out_however_the_text_is_cut(capfd: pytest.CaptureFixture[str], size: int) -> None:
    text = b"before\n" + WARNING + b"after\na prompt> "
    stream = JvmStandardError()
    for start in range(0, len(text), size):
        os.write(stream.write_end, text[start : start + size])
    stream.wait_for_last_words()
    os.close(stream.write_end)
    assert capfd.readouterr().err.encode() == b"before\nafter\na prompt> "


def test_a_last_line_without_an_end_is_shown_when_the_jvm_ends(capfd: pytest.CaptureFixture[str]) -> None:
    stream = JvmStandardError()
    os.write(stream.write_end, b"no Java here")
    os.close(stream.write_end)
    stream.ended.wait(10)
    assert capfd.readouterr().err == "no Java here"
