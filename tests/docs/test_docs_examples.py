"""The Python blocks of every page are one program, and it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from services.python_process import run_python

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def program_of(page: Path) -> str:
    """The page's blocks, each on the lines where it stands, so that tracebacks point into the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block.group(1).splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def pages_with_programs() -> list[str]:
    pages = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
    return [str(page.relative_to(CHECKOUT)) for page in pages if program_of(page).strip()]


RUN = """
import os, runpy, sys
for script in sys.argv[1:]:
    os.chdir(os.path.dirname(script))
    runpy.run_path(script, run_name="__main__")
"""


def script_of(page: str, directory: Path) -> Path:
    """The page's program, in a folder of its own."""
    script = directory / Path(page).stem.replace("-", "_") / "program.py"
    script.parent.mkdir()
    script.write_text(program_of(CHECKOUT / page), encoding="utf-8")
    return script


@pytest.mark.parametrize("page", pages_with_programs())
def test_a_page_runs_without_a_jvm(page: str, tmp_path: Path) -> None:
    script = script_of(page, tmp_path)
    done = run_python(script, directory=script.parent, more_environment={"PENSTOCK_ENGINE": "local"}, timeout=180)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.spark
def test_what_a_newcomer_reads_first_runs_on_spark(tmp_path: Path) -> None:
    """One page after the other in one new interpreter: the second finds the session of the first."""
    pages = ["README.md", "docs/tutorials/from-pyspark.md", "docs/tutorials/from-pyflink.md"]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *(str(script_of(page, tmp_path)) for page in pages)],
        env={**os.environ, "PENSTOCK_ENGINE": "spark", "SPARK_MASTER": "local[2]"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_links_between_pages_lead_somewhere() -> None:
    made_by_bench = CHECKOUT / "docs" / "benchmarks.md"
    for page in [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *(CHECKOUT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            assert "://" in target or path.exists() or path == made_by_bench, f"{page}: {target}"
