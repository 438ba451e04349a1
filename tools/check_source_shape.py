"""Checks the shape of the source tree: small files, `__init__.py` files that only re-export."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_LINES = 500
SOURCE = Path(__file__).resolve().parent.parent / "src"


def is_reexport(statement: ast.stmt) -> bool:
    """Whether a statement may stand in an `__init__.py`: docstring, import, `__all__`, `__version__`."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__version__")]):
            return True
        case _:
            return False


def complaints(path: Path) -> Iterator[str]:
    """What is wrong with one file."""
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines, more than {MAX_LINES}: which two concepts are in it?"
    if path.name == "__init__.py":
        for statement in ast.parse(text).body:
            if not is_reexport(statement):
                yield f"{path}:{statement.lineno}: __init__.py files only re-export; move this into a module"


def main() -> int:
    """Prints every complaint; the exit status says whether there was one."""
    found = [complaint for path in sorted(SOURCE.rglob("*.py")) for complaint in complaints(path)]
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
