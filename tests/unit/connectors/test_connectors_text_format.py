from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common.errors import ConfigurationError, SourceError
from penstock.connectors.files import FileSource, TextLineFormat
from penstock.connectors.files.chunk import FileChunk


def chunks_of(path: Path, size: int) -> list[FileChunk]:
    status = path.stat()
    edges = range(0, status.st_size, size)
    return [
        FileChunk(str(path), start, min(start + size, status.st_size), status.st_size, status.st_mtime_ns)
        for start in edges
    ]


def read_in_chunks(path: Path, size: int, charset: str = "UTF-8") -> list[str]:
    text_format = TextLineFormat(charset)
    return [value for chunk in chunks_of(path, size) for batch in text_format.read(chunk) for value in batch.values]


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") if place < text.count("\n") else line for place, line in enumerate(lines)]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(st.sampled_from(["a", "ß", "€", "𝄞", "\n", "\r\n", "\n\n", "long " * 40]), max_size=40).map("".join),
    size=st.integers(1, 300),
    charset=st.sampled_from(["UTF-8", "utf-16-le", "utf-16"]),
)
def test_every_line_is_read_once_however_the_file_is_cut(tmp_path, text, size, charset):
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode(charset))
    if not TextLineFormat(charset).is_splittable:
        size = 1 << 20
    assert read_in_chunks(path, size, charset) == lines_of(text)


def test_other_charsets_are_cut_too(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Käse\r\nBröt\n\nend".encode("latin-1"))
    for size in range(1, 20):
        assert read_in_chunks(path, size, "ISO-8859-1") == ["Käse", "Bröt", "", "end"]


def test_bytes_that_are_not_in_the_charset_are_located(tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(b"good\n\xff\n")
    with pytest.raises(SourceError, match=r"broken.txt: byte 5 is not in the charset utf-8"):
        read_in_chunks(path, 3)


def test_an_unknown_charset_is_refused():
    with pytest.raises(ConfigurationError, match="klingon"):
        TextLineFormat("klingon")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_compressed_files_are_one_chunk_and_are_decompressed(tmp_path, run_source, suffix):
    lines = [f"{random.Random(number).random()}" for number in range(5000)]
    content = ("\n".join(lines) + "\n").encode()
    compressed = {
        ".gz": lambda: gzip.compress(content[:100]) + gzip.compress(content[100:]),
        ".bz2": lambda: bz2.compress(content),
        ".zst": lambda: pa.compress(content, codec="zstd", asbytes=True),
    }[suffix]()
    (tmp_path / f"lines.txt{suffix}").write_bytes(compressed)
    run = run_source(FileSource(str(tmp_path), TextLineFormat()), parallelism=2)
    assert run.epoch(size=100) == lines
    assert len(run.finished_splits) == 1


def test_a_truncated_compressed_file_is_an_error(tmp_path, run_source):
    (tmp_path / "cut.gz").write_bytes(gzip.compress(random.Random(1).randbytes(1000))[:-50])
    with pytest.raises(SourceError, match=r"cut.gz: .*[Tt]runcated"):
        run_source(FileSource(str(tmp_path), TextLineFormat("latin-1"))).epoch()
