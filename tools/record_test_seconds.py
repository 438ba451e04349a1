"""Writes tests/seconds.json, by which long test files start first: `record_test_seconds.py JUNIT.XML...`.

`make test` leaves its report in .cache/tests.xml.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

RECORDED = Path(__file__).resolve().parents[1] / "tests" / "seconds.json"
LEAST = 3
"""Which of the shorter files comes first makes no difference."""


def seconds_by_file(reports: list[Path]) -> dict[str, int]:
    """The seconds of each test file, the longest first; the names of test files are unique."""
    seconds: Counter[str] = Counter()
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314
            (name,) = (word for word in case.attrib["classname"].split(".") if word.startswith("test_"))
            seconds[name] += float(case.attrib["time"])
    return {name: round(spent) for name, spent in seconds.most_common() if spent >= LEAST}


def main() -> None:
    """Called by hand after a change of what takes long."""
    RECORDED.write_text(json.dumps(seconds_by_file([Path(each) for each in sys.argv[1:]]), indent=1) + "\n")


if __name__ == "__main__":
    main()
