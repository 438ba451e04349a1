"""Our public names and signatures against PyFlink's, as recorded in `pyflink_signatures.json`."""

from __future__ import annotations

import fnmatch
import importlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.recording import described, described_constructor

FOLDER = Path(__file__).parent
RECORDED: dict[str, dict[str, Any]] = json.loads((FOLDER / "pyflink_signatures.json").read_text())["modules"]
GAPS: list[dict[str, Any]] = tomllib.loads((FOLDER / "declared_gaps.toml").read_text())["gap"]


@dataclass(frozen=True)
class Comparison:
    """One public name of PyFlink: how ours differs, or None."""

    name: str
    difference: str | None


def compared() -> list[Comparison]:
    return [comparison for module, names in RECORDED.items() for comparison in _compared_module(module, names)]


def _compared_module(module_name: str, names: dict[str, Any]) -> Iterator[Comparison]:
    try:
        ours = importlib.import_module(module_name.replace("pyflink", "penstock", 1))
    except ModuleNotFoundError:
        ours = None
    for name, theirs in names.items():
        full_name = f"{module_name}.{name}"
        if ours is None or not hasattr(ours, name):
            yield Comparison(full_name, "is missing")
        elif theirs["kind"] == "re-export":
            yield Comparison(full_name, None)
        else:
            value = getattr(ours, name)
            yield from _compared_value(full_name, theirs, described(value), value)


def _compared_value(name: str, theirs: dict[str, Any], ours: dict[str, Any], value: Any) -> Iterator[Comparison]:
    if theirs["kind"] != "class" or ours["kind"] != "class":
        yield Comparison(name, _difference(theirs, ours))
        return
    yield Comparison(name, None)
    for member, described_theirs in theirs["members"].items():
        full_name = f"{name}.{member}"
        if member == "__init__" and member not in ours["members"]:
            yield Comparison(full_name, _difference(described_theirs, described_constructor(value)))
        elif member not in ours["members"]:
            yield Comparison(full_name, "is missing")
        else:
            inner = getattr(value, member)
            yield from _compared_value(full_name, described_theirs, ours["members"][member], inner)


def _difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    if theirs["kind"] != ours["kind"]:
        callables = {"method", "staticmethod", "classmethod"}
        # Called through the class, both kinds look the same.
        if {theirs["kind"], ours["kind"]} - {"staticmethod", "classmethod"} and not (
            theirs["kind"] == "method" and ours["kind"] in callables and ours["kind"] != "method"
        ):
            return f"is a {ours['kind']}, not a {theirs['kind']}"
    if "parameters" in theirs and not _accepts(ours["parameters"], theirs["parameters"]):
        return f"takes ({', '.join(ours['parameters'])}), not ({', '.join(theirs['parameters'])})"
    return None


def _accepts(ours: list[str], theirs: list[str]) -> bool:
    """Whether every call that fits theirs fits ours and leaves out what theirs leaves out with the same effect."""
    for index, parameter in enumerate(theirs):
        if index >= len(ours):
            return False
        name, has_default, _ = parameter.partition("=")
        same = ours[index] == parameter if has_default else ours[index].partition("=")[0] == name
        if not same:
            return False
    return all("=" in text or text.startswith("*") for text in ours[len(theirs) :])


def _is_declared(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for gap in GAPS for pattern in gap["names"])


def test_every_difference_from_pyflink_is_declared() -> None:
    undeclared = [f"{c.name} {c.difference}" for c in compared() if c.difference and not _is_declared(c.name)]

    assert not undeclared, "\n" + "\n".join(undeclared)


def test_every_declared_gap_is_one() -> None:
    differences = {comparison.name: comparison.difference for comparison in compared()}
    stale: list[str] = []
    for gap in GAPS:
        for pattern in gap["names"]:
            covered = fnmatch.filter(differences, pattern)
            stale += [name for name in covered if differences[name] is None]
            stale += [] if covered else [f"{pattern} (no name matches it)"]

    assert not stale, "these are there: take them out of declared_gaps.toml\n" + "\n".join(sorted(set(stale)))


def test_every_declared_gap_has_a_reason() -> None:
    assert all(gap["reason"].strip() and gap["names"] for gap in GAPS)
