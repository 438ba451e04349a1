"""Records the public names and signatures of PyFlink's `common` and `datastream` packages.

Run it with the interpreter of an environment that has apache-flink:

    python tests/parity/record_pyflink_signatures.py > tests/parity/pyflink_signatures.json
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from types import ModuleType
from typing import Any

from recording import described, public_names

PACKAGES = ("pyflink.common", "pyflink.datastream")


def modules() -> list[ModuleType]:
    names: list[str] = []
    for package in PACKAGES:
        found = pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".")
        names += [package, *(info.name for info in found if "tests" not in info.name.split("."))]
    return [importlib.import_module(name) for name in sorted(names)]


def recorded_module(module: ModuleType) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name in public_names(module):
        value = getattr(module, name)
        home = getattr(value, "__module__", module.__name__)
        is_elsewhere = home != module.__name__ and home.startswith(PACKAGES)
        names[name] = {"kind": "re-export", "from": home} if is_elsewhere else described(value)
    return names


def main() -> None:
    from pyflink.version import __version__ as version

    recorded = {module.__name__: recorded_module(module) for module in modules()}
    content = {"version": version, "modules": {name: names for name, names in recorded.items() if names}}
    json.dump(content, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
