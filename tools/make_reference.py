"""Writes docs/reference/: a page for each public module, from docstrings, and one each for options and the command.

python tools/make_reference.py           writes the pages
python tools/make_reference.py --check   only says whether they are up to date
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path

import click
from reference_pages import first_line, module_page, public_modules

from penstock.cli.main import main as command
from penstock.common.default_options import ENVIRONMENT_VARIABLE
from penstock.common.options import ALL_OPTIONS

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"


def options_page() -> str:
    """Every option that the code declares."""
    lines = ["# Options", "", "Set them on a `Configuration`, or where a variable is named, in the environment."]
    lines += [
        f"The variable `{ENVIRONMENT_VARIABLE}` sets any of them for all environments of a process, `key=value`, one",
        "per line; `penstock run --option key=value` does the same. What the program sets itself counts.",
        "A key that is much like one of these and none of them is told in the log when a job starts.",
        "",
        "| option | default | variable | meaning |",
        "|---|---|---|---|",
    ]
    for option in ALL_OPTIONS:
        default = option.default.name if isinstance(option.default, Enum) else option.default
        shown = "" if default is None else f"`{default}`"
        variable = f"`{option.environment_variable}`" if option.environment_variable else ""
        others = ", ".join(f"`{key}`" for key in option.other_keys)
        meaning = f"{option.description} In Flink also {others}." if others else option.description
        lines.append(f"| `{option.key}` | {shown} | {variable} | {meaning} |")
    return "\n".join(lines) + "\n"


def command_page() -> str:
    """The help texts of the `penstock` command."""
    lines = ["# The `penstock` command", ""]
    for path, each in (("penstock", command), *((f"penstock {name}", sub) for name, sub in command.commands.items())):
        context = click.Context(each, info_name=path, terminal_width=100, max_content_width=100)
        lines += [f"## `{path}`", "", "```", each.get_help(context), "```", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """All pages as they should be, by file name."""
    modules = public_modules()
    found = {f"{name}.md": module_page(name, modules) for name in modules}
    found["options.md"] = options_page()
    found["command-line.md"] = command_page()
    index = ["# Reference", "", "Made from the code by `make docs`. The names and module paths are PyFlink's.", ""]
    index += ["In examples, `env` is an environment with one subtask, and everything that `penstock.common`,"]
    index += ["`penstock.datastream` and `penstock.datastream.state` export is imported. The tests run them all.", ""]
    index += ["- [Options](options.md): everything a `Configuration` can hold."]
    index += ["- [The `penstock` command](command-line.md)", "", "| module | what it has |", "|---|---|"]
    index += [f"| [`{name}`]({name}.md) | {first_line(module)} |" for name, module in modules.items()]
    found["README.md"] = "\n".join(index) + "\n"
    return found


def main() -> int:
    """Writes the pages, or compares them with what is there."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")}
    if sys.argv[1:] == ["--check"]:
        stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
        for name in stale:
            print(f"docs/reference/{name} is not up to date: run `make docs`")
        return 1 if stale else 0
    for name in there.keys() - wanted.keys():
        (REFERENCE / name).unlink()
    for name, text in wanted.items():
        if there.get(name) != text:
            (REFERENCE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
