"""Records what Flink's own CEP library finds.

`PYTHONPATH=tests python tests/unit/runtime/cep/record_flink_cases.py <directory of Flink's jars>`. It needs Java 11 or
17 and the jars of a Flink distribution with flink-cep; those of an installed PyFlink will do.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

from penstock.common.errors import MalformedPatternError
from unit.runtime.cep.cep_cases import found_in
from unit.runtime.cep.documented_cases import DOCUMENTED
from unit.runtime.cep.random_cases import random_case

_HERE = Path(__file__).parent
_COUNT = 360


def cases() -> list[str]:
    rng = random.Random(8)
    chosen = list(DOCUMENTED)
    while len(chosen) < _COUNT:
        case = random_case(rng)
        try:
            found = found_in(case)
        except MalformedPatternError:
            continue
        if 0 < len(found) < 400:
            chosen.append(case)
    return chosen


def main() -> None:
    chosen = cases()
    command = ["java", "-cp", f"{sys.argv[1]}/*", str(_HERE / "FlinkCases.java")]
    text = subprocess.run(command, input="\n".join(chosen) + "\n", capture_output=True, text=True, check=True).stdout
    recorded = [
        {"case": case, "found": found}
        for case, found in zip(chosen, text.splitlines(), strict=True)
        if not found.startswith("error")
    ]
    lines = ",\n".join(json.dumps(each) for each in recorded)
    (_HERE / "flink_cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
