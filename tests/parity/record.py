"""Records what PyFlink makes of the programs of the parity tests, and of its own examples.

Run it with the interpreter of an environment that has apache-flink (CONTRIBUTING.md says how to make one):

    python tests/parity/record.py            # all that is not recorded yet, or has changed
    python tests/parity/record.py windows    # these files of tests/parity/programs, in any case
    python tests/parity/record.py examples   # PyFlink's own examples
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kit
from pyflink_examples import EXAMPLES, example_file, recorded_example

_OPTIONS = {"rest.port": "0", "execution.target": "local", "execution.attached": "true"}


@contextmanager
def printed_by_this_process() -> Iterator[list[str]]:
    """The lines that Flink's JVM prints: it inherits our standard output."""
    lines: list[str] = []
    sys.stdout.flush()
    start = os.lseek(1, 0, os.SEEK_END)
    yield lines
    lines += os.pread(1, os.fstat(1).st_size - start, start).decode().splitlines()


def record_file(path: Path, version: str) -> None:
    recorded: dict[str, Any] = {}
    programs = kit.programs_of(path, "pyflink")
    for mode in programs[0].modes:
        print(f"{path.stem}, {mode}", file=sys.stderr)
        alone = [program for program in programs if program.is_collected]
        together = [program for program in programs if not program.is_collected]
        for group in (together, *([program] for program in alone)):
            for name, results in results_of(group, mode).items():
                recorded.setdefault(name, {})[mode] = results
    write(path.stem, {"pyflink": version, "source": kit.fingerprint(path), "programs": recorded})


def results_of(programs: list[kit.Program], mode: str) -> kit.Results:
    """The results of those programs that run under PyFlink. The tests say that the others are missing."""
    try:
        return kit.run(programs, "pyflink", mode, _OPTIONS, printed_by_this_process)
    except Exception:
        if len(programs) == 1:
            traceback.print_exc()
            print(f"{programs[0].file}: {programs[0].name} fails under PyFlink as {mode}", file=sys.stderr)
            return {}
        half = len(programs) // 2
        return results_of(programs[:half], mode) | results_of(programs[half:], mode)


def record_examples(version: str) -> None:
    examples = {}
    for name in EXAMPLES:
        print(f"example: {name}", file=sys.stderr)
        examples[name] = recorded_example(example_file(sys.executable, name), [sys.executable])
    write("examples", {"pyflink": version, "examples": examples})


def write(name: str, content: dict[str, Any]) -> None:
    kit.RECORDED.mkdir(exist_ok=True)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (kit.RECORDED / f"{name}.json").write_text(text)


def is_recorded(path: Path) -> bool:
    recorded = kit.RECORDED / f"{path.stem}.json"
    return recorded.exists() and json.loads(recorded.read_text())["source"] == kit.fingerprint(path)


def main() -> None:
    from pyflink.version import __version__ as version

    names = sys.argv[1:]
    files = sorted(kit.PROGRAMS.glob("*.py"))
    chosen = [path for path in files if (path.stem in names if names else not is_recorded(path))]
    # Flink's workers look for `python` on the path; its JVM prints where we point our standard output.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 1)
        for path in chosen:
            record_file(path, version)
    if "examples" in names or not (names or (kit.RECORDED / "examples.json").exists()):
        record_examples(version)


if __name__ == "__main__":
    main()
