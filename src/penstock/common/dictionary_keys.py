"""Encoded keys of records that travel together: each distinct key once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Places = np.ndarray[Any, np.dtype[np.int64]]


def first_rows(codes: np.ndarray[Any, Any], count: int) -> Places:
    """Where each of so many codes comes first."""
    found: Places = np.empty(count, np.int64)
    # The last that is set stays: the first one, when they are set from the end.
    found[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return found


class DictionaryKeys:
    """Encoded keys of a run of records: each distinct key once, and a code per record."""

    __slots__ = ("codes", "distinct")

    def __init__(self, codes: np.ndarray[Any, np.dtype[np.int32]], distinct: list[bytes]) -> None:
        self.codes = codes
        self.distinct = distinct

    @classmethod
    def of(cls, keys: list[bytes]) -> DictionaryKeys:
        """The same keys, one per record."""
        places: dict[bytes, int] = {}
        codes = np.array([places.setdefault(key, len(places)) for key in keys], np.int32)
        return cls(codes, list(places))

    @classmethod
    def from_arrow(cls, array: pa.DictionaryArray) -> DictionaryKeys:
        """What `to_arrow` made an array of."""
        return cls(array.indices.to_numpy(), array.dictionary.to_pylist())

    def to_arrow(self) -> pa.Array:
        """The keys as an Arrow dictionary array."""
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), pa.array(self.distinct, pa.binary()))

    def first_rows(self) -> Places:
        """Where each distinct key comes first."""
        return first_rows(self.codes, len(self.distinct))

    def to_list(self) -> list[bytes]:
        """The key of each record."""
        distinct = self.distinct
        return [distinct[code] for code in self.codes.tolist()]
