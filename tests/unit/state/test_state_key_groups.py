from __future__ import annotations

import numpy as np
import pytest

from penstock.common.errors import ConfigurationError
from penstock.state.key_encoding import encode_key
from penstock.state.key_groups import (
    check_parallelism,
    default_max_parallelism,
    key_group,
    key_group_range,
    key_groups_of_keys,
    key_hash,
    subtask_of_key_group,
    subtasks_of_keys,
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"a", 3320656311),
        (b"hello", 1481187181),
        (encode_key(42), 2257281490),
        (encode_key("user-1"), 2470664855),
    ],
)
def test_golden_hashes(data: bytes, expected: int) -> None:
    assert key_hash(data) == expected


@pytest.mark.parametrize("max_parallelism", [1, 7, 128, 32768])
def test_many_keys_at_once_go_where_one_goes(max_parallelism: int) -> None:
    keys = [encode_key(n) for n in range(500)]
    parallelism = max(1, max_parallelism // 3)
    groups = [key_group(key, max_parallelism) for key in keys]
    subtasks = [subtask_of_key_group(group, max_parallelism, parallelism) for group in groups]
    assert key_groups_of_keys(keys, max_parallelism).tolist() == groups
    assert subtasks_of_keys(keys, max_parallelism, parallelism).tolist() == subtasks
    assert subtasks_of_keys(keys, max_parallelism, parallelism).dtype == np.int32
    assert subtasks_of_keys([], max_parallelism, parallelism).tolist() == []


@pytest.mark.parametrize(("max_parallelism", "parallelism"), [(128, 1), (128, 3), (128, 128), (200, 7), (32768, 100)])
def test_ranges_share_out_all_key_groups(max_parallelism: int, parallelism: int) -> None:
    ranges = [key_group_range(subtask, max_parallelism, parallelism) for subtask in range(parallelism)]
    assert [group for groups in ranges for group in groups] == list(range(max_parallelism))
    for subtask, groups in enumerate(ranges):
        assert {subtask_of_key_group(group, max_parallelism, parallelism) for group in groups} == {subtask}


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, 128), (85, 128), (86, 256), (170, 256), (171, 256), (172, 512), (1000, 2048), (21846, 32768), (32768, 32768)],
)
def test_default_max_parallelism_is_flinks(parallelism: int, expected: int) -> None:
    assert default_max_parallelism(parallelism) == expected


def test_keys_spread_evenly() -> None:
    subtasks = subtasks_of_keys([encode_key(f"user-{n}") for n in range(20_000)], 128, 8)
    counts = np.bincount(subtasks, minlength=8)
    assert counts.min() > 2_200
    assert counts.max() < 2_800


@pytest.mark.parametrize(("parallelism", "max_parallelism"), [(0, 128), (129, 128), (1, 40_000)])
def test_bad_parallelism_is_refused(parallelism: int, max_parallelism: int) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        check_parallelism(parallelism, max_parallelism)
