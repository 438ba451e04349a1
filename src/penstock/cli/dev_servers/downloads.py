"""Gets the programs of the servers: Maven downloads them, from wherever it is set up to."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from penstock.common.cache_directory import cache_directory
from penstock.common.errors import EnvironmentNotReadyError

_COMPLETE = ".complete"
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}


def kafka_jars(*, fetch: bool = True) -> Path:
    """The directory of the broker's jars."""
    return _fetched("kafka", _fetch_kafka, fetch) / "jars"


def postgres_home(*, fetch: bool = True) -> Path:
    """The directory that has PostgreSQL's `bin`."""
    return _fetched("postgres", _fetch_postgres, fetch)


def _fetched(name: str, fetcher: Callable[[Path], None], fetch: bool) -> Path:
    """Where the programs of a server are; they are downloaded where they are not there, or are of another version."""
    directory = cache_directory() / name
    complete = directory / _COMPLETE
    version = blake2b(_pom(name).read_bytes(), digest_size=8).hexdigest()
    if complete.exists() and complete.read_text() == version:
        return directory
    if not fetch:
        raise EnvironmentNotReadyError(
            f"the programs of {name} are not in {directory}: get them by `make setup-services`, or by "
            "`penstock dev download`"
        )
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    fetcher(directory)
    complete.write_text(version)
    return directory


def _pom(name: str) -> Path:
    return Path(__file__).with_name(f"{name}-pom.xml")


def _fetch_kafka(directory: Path) -> None:
    _copy_dependencies("kafka", directory / "jars")


def _copy_dependencies(name: str, target: Path, **properties: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise EnvironmentNotReadyError(
            f"Maven (`mvn`) is needed to download {name}, and was not found. Install it, and run the command again"
        )
    done = subprocess.run(  # noqa: S603  a program of the user's own path
        [
            maven,
            "-B",
            "-q",
            "-Dstyle.color=never",
            "-f",
            str(_pom(name)),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={target.resolve()}",
            *(f"-D{key}={value}" for key, value in properties.items()),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EnvironmentNotReadyError(f"Maven could not download {name}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _fetch_postgres(directory: Path) -> None:
    system, machine = _SYSTEMS.get(platform.system()), _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        raise EnvironmentNotReadyError(
            f"there is no PostgreSQL to download for {platform.system()} on {platform.machine()}"
        )
    _copy_dependencies("postgres", directory / "jars", platform=f"{system}-{machine}")
    (jar,) = (directory / "jars").glob("embedded-postgres-binaries-*.jar")
    with zipfile.ZipFile(jar) as archive:
        (packed,) = [name for name in archive.namelist() if name.endswith(".txz")]
        with archive.open(packed) as stream, tarfile.open(fileobj=stream, mode="r|xz") as files:
            files.extractall(directory, filter="data")
    shutil.rmtree(directory / "jars")
