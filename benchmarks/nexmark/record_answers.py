"""Records DuckDB's answers for a small input, for tests where DuckDB is not installed.

    python benchmarks/nexmark/record_answers.py

Run it, where DuckDB is, when the generator or an answer has changed; it writes answers/small.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nexmark.check import ANSWERS, Checker
from nexmark.result_rows import fingerprint
from nexmark.schema import QUERIES
from nexmark.small_dataset import SMALL_DATASET


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        SMALL_DATASET.write(Path(directory))
        checker = Checker(Path(directory))
        answers: dict[str, dict[str, str | int]] = {}
        for query in QUERIES:
            checker.make_answer(query)
            rows, checksum = checker.checksum(query)
            digest = fingerprint(query, checker.answer_rows())
            answers[query] = {"rows": rows, "checksum": checksum, "fingerprint": digest}
    (ANSWERS / "small.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
