"""A Python environment for executors: the native wheels that Penstock needs, and Penstock itself not among them.

There is one at a path, and the same as an archive, packed as docs/how-to/run-on-a-cluster.md says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("pyarrow", "numpy", "pandas", "lmdb", "cloudpickle", "tenacity")
PACKER = "venv-pack==0.2.0"


def executor_python() -> Path:
    """The interpreter of the environment, which is made where it is not there yet."""
    home = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache")) / "executor-env"
    wanted = [*(f"{name}=={version(name)}" for name in PACKAGES), PACKER]
    stamp = home / ".complete"
    contents = json.dumps([sys.version, wanted])
    if not stamp.exists() or stamp.read_text() != contents:
        # A name of its own: two test runs may make it at the same time.
        made = home.with_name(f"executor-env-{os.getpid()}")
        _make(made, wanted)
        (made / ".complete").write_text(contents)
        shutil.rmtree(home, ignore_errors=True)
        made.rename(home)
    return home / "bin" / "python"


def packed_environment() -> Path:
    """The archive, which is kept in the environment that it was made of: a new one has none."""
    python = executor_python()
    home = python.parents[1]
    archive = home / "environment.tar.gz"
    if not archive.exists():
        made = home.with_name(f"executor-env-{os.getpid()}.tar.gz")
        # Time counts here, not size.
        _run(str(python), "-m", "venv_pack", "-q", "-p", str(home), "-o", str(made), "--compress-level", "1")
        made.rename(archive)
    return archive


def _make(home: Path, packages: list[str]) -> None:
    shutil.rmtree(home, ignore_errors=True)
    python = home / "bin" / "python"
    uv = _uv()
    if uv is not None:
        _run(uv, "venv", "-q", "--python", sys.executable, str(home))
        _run(uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(python), *packages)
    else:
        _run(sys.executable, "-m", "venv", str(home))
        _run(str(python), "-m", "pip", "install", "-q", *packages)


def _uv() -> str | None:
    """The user's uv, or the one in the cache that `make setup` got."""
    cached = Path(os.environ.get("PENSTOCK_CACHE", CHECKOUT / ".cache")) / "uv" / "bin" / "uv"
    return shutil.which("uv") or (str(cached) if cached.exists() else None)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
