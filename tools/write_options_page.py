"""Writes docs/reference/options.md from the options that the code declares."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path

from penstock.common.options import ALL_OPTIONS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "options.md"


def page() -> str:
    """The page as it should be."""
    lines = ["# Options", "", "Set them on a `Configuration`, or where a variable is named, in the environment.", ""]
    lines += ["| option | default | variable | meaning |", "|---|---|---|---|"]
    for option in ALL_OPTIONS:
        default = option.default.name if isinstance(option.default, Enum) else option.default
        shown = "" if default is None else f"`{default}`"
        variable = f"`{option.environment_variable}`" if option.environment_variable else ""
        lines.append(f"| `{option.key}` | {shown} | {variable} | {option.description} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes the page; with --check only says whether it is up to date."""
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"{PAGE} is not up to date: run `make docs`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
