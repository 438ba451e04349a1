"""The input of the benchmarks: JSON files of (k, v, ts), and what a correct program makes of them.

`v` depends on `k` alone, so that the running sums of a key are the same numbers in whatever order its
records arrive: one checksum over all outputs tells a right answer from a wrong one, for every contender.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cep.events import pattern_answers

START_OF_TIME = 1_700_000_000_000
WINDOW_MS = 10_000
"""Records are a millisecond apart: every window has ten thousand of them."""
OUT_OF_ORDERNESS_MS = 5_000
SESSION_GAP_MS = 5_000
JOIN_BOUND_MS = 2_000


@dataclass(frozen=True)
class InputSpec:
    """How much, and of what."""

    records: int
    keys: int
    files: int
    seed: int = 7

    @property
    def directory_name(self) -> str:
        return f"json3-{self.records}-{self.keys}-{self.files}-{self.seed}"


@dataclass(frozen=True)
class Expected:
    """How many outputs a correct program has, and their sum."""

    outputs: int
    checksum: int


def value_of(keys: Any) -> Any:
    """`v` of a record with this key; works on numbers and on numpy arrays."""
    return keys % 7 + 1


def stateless_map(k: int, v: int, ts: int) -> int:
    """The map of the stateless benchmark, the same for every contender."""
    return k * 3 + v + ts % 10


def stateless_filter(value: int) -> bool:
    """The filter of the stateless benchmark: two of three records stay."""
    return value % 3 != 0


def is_left(times: Any) -> Any:
    """Whether a record belongs to the left side of a join; works on numbers and on numpy arrays."""
    return times % 2 == 0


class _Sessions:
    """Counts the sessions of keys: records at most the gap apart are in one."""

    def __init__(self, keys: int) -> None:
        self._last = np.full(keys, -SESSION_GAP_MS - 1, np.int64)
        self.number = 0

    def add(self, keys: Any, times: Any) -> None:
        order = np.argsort(keys, kind="stable")
        keys, times = keys[order], times[order]
        is_first = np.concatenate(([True], keys[1:] != keys[:-1]))
        before = np.concatenate(([0], times[:-1]))
        before[is_first] = self._last[keys[is_first]]
        self.number += int((times - before > SESSION_GAP_MS).sum())
        self._last[keys] = times  # the last one stays


class _Pairs:
    """Counts the pairs of a left and a right record of one key that are at most the bound apart."""

    def __init__(self, keys: int) -> None:
        self._keys = keys
        self._kept = (np.empty(0, np.int64), np.empty(0, np.int64))
        self.number = self.checksum = 0

    def add(self, keys: Any, times: Any) -> None:
        # Pairs within these records and those before; those within the ones before are counted already.
        self._count(np.concatenate((self._kept[0], keys)), np.concatenate((self._kept[1], times)), 1)
        self._count(*self._kept, -1)
        recent = times > times[-1] - JOIN_BOUND_MS
        self._kept = keys[recent], times[recent]

    def _count(self, keys: Any, times: Any, sign: int) -> None:
        if len(keys) == 0:
            return
        # One axis on which the records of different keys are far apart.
        places = keys * (1 << 45) + (times - START_OF_TIME)
        left, right = np.sort(places[is_left(times)]), np.sort(places[~is_left(times)])
        found = np.searchsorted(right, left + JOIN_BOUND_MS, "right") - np.searchsorted(right, left - JOIN_BOUND_MS)
        self.number += sign * int(found.sum())
        self.checksum += sign * int((found * 2 * value_of(left >> 45)).sum())


def make_input(root: Path, spec: InputSpec) -> Path:
    """The directory of the input, made where it is not there yet."""
    directory = root / spec.directory_name
    if (directory / "expected.json").exists():
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    random = np.random.default_rng(spec.seed)
    counts = np.zeros(spec.keys, np.int64)
    stateless_outputs = stateless_checksum = windows = 0
    sessions = _Sessions(spec.keys)
    pairs = _Pairs(spec.keys)
    per_file = spec.records // spec.files
    for number in range(spec.files):
        keys = random.integers(0, spec.keys, per_file)
        values = value_of(keys)
        times = START_OF_TIME + np.arange(number * per_file, (number + 1) * per_file)
        write_records(directory / f"part-{number:05d}.json", keys, values, times)
        counts += np.bincount(keys, minlength=spec.keys)
        mapped = stateless_map(keys, values, times)
        kept = mapped[stateless_filter(mapped)]
        stateless_outputs += len(kept)
        stateless_checksum += int(kept.sum())
        in_windows = np.unique(times // WINDOW_MS * spec.keys + keys)
        windows += len(in_windows)
        sessions.add(keys, times)
        pairs.add(keys, times)
    running_sums = value_of(np.arange(spec.keys)) * counts * (counts + 1) // 2
    expected = {
        "keyed_sum": asdict(Expected(per_file * spec.files, int(running_sums.sum()))),
        "stateless": asdict(Expected(stateless_outputs, stateless_checksum)),
        "copy": asdict(Expected(per_file * spec.files, int((value_of(np.arange(spec.keys)) * counts).sum()))),
    }
    total = int((value_of(np.arange(spec.keys)) * counts).sum())
    expected["sessions"] = asdict(Expected(sessions.number, total))
    expected["interval_join"] = asdict(Expected(pairs.number, pairs.checksum))
    if per_file % WINDOW_MS == 0:  # no window is in two files
        last = times >= times[-1] // WINDOW_MS * WINDOW_MS
        expected["windows"] = asdict(Expected(windows, total))
        expected["windows_but_last"] = asdict(
            Expected(windows - len(np.unique(keys[last])), total - int(values[last].sum()))
        )
    (directory / "expected.json").write_text(json.dumps(expected))
    return directory


def write_records(path: Path, keys: Any, values: Any, times: Any) -> None:
    """A file of records, from arrays."""
    records = zip(keys.tolist(), values.tolist(), times.tolist(), strict=True)
    path.write_text("".join(f'{{"k":{k},"v":{v},"ts":{ts}}}\n' for k, v, ts in records))


def expected_of(directory: Path, benchmark: str) -> Expected:
    """What a correct program makes of an input."""
    path = directory / "expected.json"
    answers = json.loads(path.read_text())
    if benchmark not in answers:
        answers |= pattern_answers(input_files(directory))
        path.write_text(json.dumps(answers))
    return Expected(**answers[benchmark])


def records_of(directory: Path) -> int:
    """How many records an input has."""
    return expected_of(directory, "keyed_sum").outputs


def input_files(directory: Path) -> list[str]:
    """The files of an input, in order."""
    return sorted(str(path) for path in directory.glob("part-*.json"))
