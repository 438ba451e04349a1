"""Whether a Java that Spark can use is there, and what to say if it is not."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from penstock.common.errors import EnvironmentNotReadyError

_REQUIRED = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def check_java() -> None:
    """Raises, with the command that installs Java, unless Java 17 or newer is found."""
    java = java_executable()
    if java is None:
        raise EnvironmentNotReadyError(f"Spark needs Java {_REQUIRED} or newer, and no java was found. {_advice()}")
    if not Path(java).exists():
        raise EnvironmentNotReadyError(
            f"Spark needs Java {_REQUIRED} or newer; JAVA_HOME is set, and {java} does not exist. "
            f"Set it to a Java that is there, or unset it. {_advice()}"
        )
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = _VERSION.search(answer.stderr + answer.stdout)
    if version is not None and int(version.group(1)) < _REQUIRED:
        raise EnvironmentNotReadyError(
            f"Spark needs Java {_REQUIRED} or newer; {java} is version {version.group(1)}. {_advice()}"
        )


def java_executable() -> str | None:
    """The java that Spark starts; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _advice() -> str:
    system = platform.system()
    if system == "Darwin":
        command = "brew install openjdk@17"
    elif shutil.which("apt-get"):
        command = "sudo apt-get install openjdk-17-jre-headless"
    elif shutil.which("dnf"):
        command = "sudo dnf install java-17-openjdk-headless"
    else:
        command = "install a Java 17 runtime and set JAVA_HOME"
    return f"Install it: {command}. Without Java, the local engine works: set execution.engine to 'local'."
