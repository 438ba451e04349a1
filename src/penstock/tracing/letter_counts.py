"""How often a letter is in each of many texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc


def count_letter(texts: pa.Array, letter: str) -> pa.Array:
    """`text.count(letter)` of an ASCII letter, several times as fast as Arrow's count of any substring."""
    if not pa.types.is_string(texts.type):
        return pc.cast(pc.count_substring(texts, letter), pa.int64())
    _, offset_buffer, data = texts.buffers()
    counts = np.zeros(len(texts), np.int32)
    if data is not None and len(texts):
        offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, texts.offset * 4)
        first, last = offsets[0], offsets[-1]
        # No byte of another character of UTF-8 is one of ASCII's.
        found = np.frombuffer(data, np.uint8)[first:last] == ord(letter)
        starts = offsets[:-1] - first
        has_text = offsets[1:] > offsets[:-1]  # reduceat takes the next byte for a text without any
        counts[has_text] = np.add.reduceat(found, starts[has_text], dtype=np.int32) if has_text.any() else 0
    missing = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
    return pa.array(counts, pa.int64(), mask=missing)
