"""The input of the benchmark that varies the amount of state: all keys first, then as many in every epoch."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from common.inputs import expected_of, input_files
from state_size.rounds import FILES_PER_EPOCH, KEYS_TOUCHED, make_rounds

KEYS = 25_000
RECORDS = 20_000


def test_the_state_is_filled_before_some_of_its_keys_are_touched_in_each_epoch(tmp_path: Path) -> None:
    files = [Path(path).read_text().splitlines() for path in input_files(make_rounds(tmp_path, KEYS, 3, RECORDS))]
    assert {len(lines) for lines in files} == {RECORDS // FILES_PER_EPOCH}
    keys = [json.loads(line)["k"] for lines in files for line in lines]
    epochs = [keys[first : first + RECORDS] for first in range(0, len(keys), RECORDS)]
    assert set(epochs[0]) | set(epochs[1]) == set(range(KEYS))
    for epoch in epochs[2:]:
        assert 0.8 * KEYS_TOUCHED < len(set(epoch)) <= KEYS_TOUCHED
        assert max(epoch) > KEYS * 0.99  # of all keys, not of the first ones


def test_the_expected_answer_is_that_of_running_sums(tmp_path: Path) -> None:
    directory = make_rounds(tmp_path, KEYS, 2, RECORDS)
    sums: Counter[int] = Counter()
    outputs = checksum = 0
    for path in input_files(directory):
        for line in Path(path).read_text().splitlines():
            record = json.loads(line)
            sums[record["k"]] += record["v"]
            outputs, checksum = outputs + 1, checksum + sums[record["k"]]
    expected = expected_of(directory, "keyed_sum")
    assert (expected.outputs, expected.checksum) == (outputs, checksum)
