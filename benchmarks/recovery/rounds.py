"""The input of the recovery benchmark: all keys once, then rounds that each change a few of them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

VALUE_BYTES = 80
ENTRY_BYTES = len("key-0000000000") + VALUE_BYTES
_FIRST_TIME = 1_600_000_000


def write_rounds(directory: Path, *, keys: int, changed: int, rounds: int, start: int = 0) -> None:
    """Files in the order in which they are to be read; round 0 has every key, the others `changed` of them."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(start)
    for number in range(start, start + rounds):
        chosen = range(keys) if number == 0 else rng.sample(range(keys), changed)
        path = directory / f"{number:05d}.json"
        with path.open("w", encoding="utf-8") as file:
            for key in chosen:
                value = f"{number}-{rng.getrandbits(64):x}".ljust(VALUE_BYTES, ".")
                file.write(json.dumps({"k": f"key-{key:010d}", "v": value}) + "\n")
        os.utime(path, (_FIRST_TIME + number, _FIRST_TIME + number))
