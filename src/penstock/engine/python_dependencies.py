"""What a program's tasks import and open beside Penstock: Python files, packages and archives, as options name them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.common.errors import ConfigurationError, EnvironmentNotReadyError, UnsupportedError

REQUIREMENTS_DIRECTORY = "penstock-requirements"
_PACKAGES = (".zip", ".whl", ".egg")


@dataclass(frozen=True)
class PythonDependencies:
    """The files that the options name, on this machine."""

    files: tuple[Path, ...] = ()
    archives: Mapping[str, Path] | None = None
    """By the directory that they are unpacked to."""
    requirements: Path | None = None
    packages: Path | None = None
    """Where pip finds the packages of the requirements; None: where it looks by itself."""

    @staticmethod
    def of(configuration: Configuration) -> PythonDependencies:
        """What the options name; raises `ConfigurationError` for what is not there."""
        archives: dict[str, Path] = {}
        for entry in _entries(configuration.get(options.PYTHON_ARCHIVES)):
            text, _, name = entry.partition("#")
            path = existing(options.PYTHON_ARCHIVES.key, text)
            archives[name or path.name] = path
        files = _entries(configuration.get(options.PYTHON_FILES))
        requirements, _, packages = (configuration.get(options.PYTHON_REQUIREMENTS) or "").partition("#")
        return PythonDependencies(
            tuple(existing(options.PYTHON_FILES.key, entry) for entry in files),
            archives,
            existing(options.PYTHON_REQUIREMENTS.key, requirements) if requirements else None,
            existing(options.PYTHON_REQUIREMENTS.key, packages) if packages else None,
        )


def existing(option: str, text: str) -> Path:
    """The path that an option names, which must be there."""
    parts = urlsplit(text)
    if parts.scheme not in ("", "file"):
        raise UnsupportedError(f"{option}: {text} is not on a file system of this machine; give a path")
    path = Path(parts.path if parts.scheme else text).absolute()
    if not path.exists():
        raise ConfigurationError(f"{option}: there is no {path}")
    return path


def import_directory(path: Path) -> str:
    """What to put on `sys.path` so that a Python file, package or directory can be imported here."""
    return str(path.parent if path.suffix == ".py" else path)


def sendable(path: Path) -> Path:
    """The path as something that Spark sends to workers as Python code: a .py file or a .zip."""
    if path.suffix in {".py", ".zip"}:
        return path
    target = Path(tempfile.mkdtemp(prefix="penstock-python-")) / f"{path.stem}.zip"
    if path.is_dir():
        shutil.make_archive(str(target.with_suffix("")), "zip", path)
    elif path.suffix in _PACKAGES:
        shutil.copyfile(path, target)
    else:
        raise ConfigurationError(
            f"{options.PYTHON_FILES.key}: {path} is neither a .py file nor a package ({', '.join(_PACKAGES)}) "
            "nor a directory"
        )
    return target


def unpack(archive: Path, target: Path) -> None:
    """Unpacks an archive."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as content:
                content.extractall(target)
        else:
            shutil.unpack_archive(archive, target, filter="data")
    except (shutil.ReadError, ValueError) as problem:
        raise ConfigurationError(f"{options.PYTHON_ARCHIVES.key}: {archive} cannot be unpacked: {problem}") from problem


def install_requirements(requirements: Path, packages: Path | None, target: Path) -> None:
    """Installs what a requirements.txt names into a directory, with pip."""
    source = [] if packages is None else ["--no-index", "--find-links", str(packages)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--target", str(target), "--requirement", str(requirements), *source]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_with_pip())  # noqa: S603
    if done.returncode:
        raise EnvironmentNotReadyError(
            f"{options.PYTHON_REQUIREMENTS.key}: pip cannot install {requirements}:\n{done.stderr.strip()}"
        )


def _with_pip() -> dict[str, str]:
    """The environment for a Python that has pip: an environment without it takes the one that Python carries."""
    if find_spec("pip") is not None:
        return dict(os.environ)
    bundled = find_spec("ensurepip")
    if bundled is None or bundled.origin is None:
        raise EnvironmentNotReadyError(f"{options.PYTHON_REQUIREMENTS.key}: {sys.executable} has no pip: install it")
    wheels = sorted((Path(bundled.origin).parent / "_bundled").glob("pip-*.whl"))
    if not wheels:
        raise EnvironmentNotReadyError(f"{options.PYTHON_REQUIREMENTS.key}: {sys.executable} has no pip: install it")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(wheels[-1]), os.environ.get("PYTHONPATH", "")])}


def _entries(text: str | None) -> list[str]:
    return [entry.strip() for entry in (text or "").split(",") if entry.strip()]
