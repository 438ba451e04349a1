"""Python dependencies of jobs on Spark: sent by Spark itself, as Python files and archives of the application."""

from __future__ import annotations

import shutil
from hashlib import blake2b

from pyspark import SparkContext

from penstock.engine.python_dependencies import (
    REQUIREMENTS_DIRECTORY,
    PythonDependencies,
    install_requirements,
    sendable,
)
from penstock.engine.spark.folders import folder_until_exit
from penstock.engine.stages.job_resources import ShippedFiles

_sent: dict[tuple[str, str], str] = {}
"""What a Spark application has already, and under which name: it cannot be sent twice."""


def send_dependencies(context: SparkContext, dependencies: PythonDependencies) -> ShippedFiles:
    """Sends everything to the application's workers."""
    application = str(context.applicationId)
    for path in dependencies.files:
        if (application, str(path)) not in _sent:
            context.addPyFile(str(sendable(path)))
            _sent[application, str(path)] = path.name
    archives = dependencies.archives or {}
    for name, path in archives.items():
        if (application, f"{path}#{name}") not in _sent:
            context.addArchive(f"{path}#{name}")
            _sent[application, f"{path}#{name}"] = name
    if dependencies.requirements is None:
        return ShippedFiles(archives=tuple(archives))
    return ShippedFiles((_send_requirements(context, application, dependencies),), tuple(archives))


def _send_requirements(context: SparkContext, application: str, dependencies: PythonDependencies) -> str:
    assert dependencies.requirements is not None
    digest = blake2b(dependencies.requirements.read_bytes(), digest_size=8).hexdigest()
    name = f"{REQUIREMENTS_DIRECTORY}-{digest}"
    if (application, name) not in _sent:
        folder = folder_until_exit("penstock-python-")
        install_requirements(dependencies.requirements, dependencies.packages, folder / "installed")
        archive = shutil.make_archive(str(folder / name), "zip", folder / "installed")
        context.addArchive(f"{archive}#{name}")
        _sent[application, name] = name
    return name
