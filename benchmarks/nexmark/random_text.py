"""Random texts as Arrow columns, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

FILLER_TEXT_BYTES = 1 << 20
ROWS_AT_A_TIME = 1 << 16
SPECIAL_ONE_IN = 13
SHORTEST_WORD = 3


def letters(random: np.random.Generator, shape: Any) -> NDArray[np.uint8]:
    """Letters a to z."""
    return random.integers(ord("a"), ord("z") + 1, shape, dtype=np.uint8)


def words(random: np.random.Generator, number: int, limit: int, special: str) -> pa.StringArray:
    """Words of 3 to `limit` - 1 characters; one of 13 is the special one. Blanks at the ends are cut."""
    longest = limit - 1
    characters = letters(random, (number, longest))
    characters[random.integers(0, SPECIAL_ONE_IN, (number, longest), dtype=np.uint8) == 0] = ord(special)
    sizes = random.integers(SHORTEST_WORD, limit, number)
    first = np.zeros(number, np.int64)
    if special == " ":
        inked = (characters != ord(" ")) & (np.arange(longest) < sizes[:, None])
        has_ink = inked.any(axis=1)
        first = np.where(has_ink, inked.argmax(axis=1), 0)
        sizes = np.where(has_ink, longest - inked[:, ::-1].argmax(axis=1), 0)
    places = np.arange(longest)
    return text_column(characters[(places >= first[:, None]) & (places < sizes[:, None])], sizes - first)


def text_column(characters: NDArray[np.uint8], sizes: Any) -> pa.StringArray:
    """A column of texts that are one after the other in an array of ASCII."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.StringArray.from_buffers(len(sizes), pa.py_buffer(offsets), pa.py_buffer(characters))


class Filler:
    """Cuts texts from one long random text, so that rows have the size that is wanted, more or less."""

    def __init__(self, random: np.random.Generator) -> None:
        self._text = letters(random, FILLER_TEXT_BYTES)

    def cut(self, random: np.random.Generator, used: Any, wanted: int) -> pa.ChunkedArray:
        """Fills up rows that have `used` bytes: what is missing, 20 of 100 more or less."""
        missing = np.maximum(wanted - used, 0)
        spread = np.floor(missing * 0.2 + 0.5).astype(np.int64)
        sizes = missing - spread + (random.random(len(missing)) * 2 * spread).astype(np.int64)
        starts = (random.random(len(sizes)) * (FILLER_TEXT_BYTES - sizes)).astype(np.int64)
        chunks = [
            self._cut(starts[place : place + ROWS_AT_A_TIME], sizes[place : place + ROWS_AT_A_TIME])
            for place in range(0, len(sizes), ROWS_AT_A_TIME)
        ]
        return pa.chunked_array(chunks, pa.string())

    def _cut(self, starts: Any, sizes: Any) -> pa.StringArray:
        longest = int(sizes.max())
        # A text near the end is shorter than the longest one: start earlier, and leave out its beginning.
        before = np.maximum(starts + longest - FILLER_TEXT_BYTES, 0)
        cuts = sliding_window_view(self._text, longest)[starts - before]
        places = np.arange(longest)
        kept = (places >= before[:, None]) & (places < (before + sizes)[:, None])
        return text_column(cuts[kept], sizes)
