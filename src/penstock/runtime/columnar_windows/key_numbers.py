"""Keys as numbers, which kernels group by faster than by bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.state.key_groups import key_groups_of_keys

Numbers = np.ndarray[Any, np.dtype[np.int64]]

_WORTH_FORGETTING = 1 << 16


class KeyNumbers:
    """Numbers the keys of a subtask in the order in which they come. Only in memory: state knows keys alone."""

    def __init__(self, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self._numbers: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._groups = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, keys: list[bytes]) -> Numbers:
        """The number of each key."""
        numbers, known = self._numbers, self._keys
        before = len(known)
        found = [numbers.get(key) for key in keys]
        if None in found:
            for place, number in enumerate(found):
                if number is None:
                    key = keys[place]
                    found[place] = numbers.setdefault(key, len(known))
                    if found[place] == len(known):
                        known.append(key)
            self._groups = np.concatenate((self._groups, key_groups_of_keys(known[before:], self._max_parallelism)))
        return np.array(found, np.int64)

    def all(self) -> list[bytes]:
        """All keys, in the order of their numbers; not to be changed."""
        return self._keys

    def keys(self, numbers: Numbers) -> list[bytes]:
        """The keys of numbers."""
        known = self._keys
        return [known[number] for number in numbers.tolist()]

    def groups(self, numbers: Numbers) -> Numbers:
        """The key groups of numbers."""
        return self._groups[numbers]

    def is_worth_forgetting(self, used: int) -> bool:
        """Whether most keys have gone, when so many are in use at most."""
        return len(self._keys) > max(_WORTH_FORGETTING, 4 * used)
