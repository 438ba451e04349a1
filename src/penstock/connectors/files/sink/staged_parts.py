"""Staged parts as they were written, or not at all."""

from __future__ import annotations

from penstock.common.errors import SinkError
from penstock.connectors.files.file_system import FileSystem
from penstock.connectors.sink import Token


def check_staged_parts(file_system: FileSystem, directory: str, token: Token) -> None:
    """Raises `SinkError` where the parts of a file are not as long as they were: a cut file is not shown to readers.

    Parts that are gone are for whoever opens them.
    """
    found = [file_system.status(f"{directory}/{part}") for part in token["parts"]]
    sizes = [part.size for part in found if part is not None]
    if len(sizes) == len(found) and sum(sizes) != token["bytes"]:
        parts = ", ".join(f"{directory}/{part}" for part in token["parts"])
        raise SinkError(
            f"{token['records']} records cannot be published: what was staged for {token['final']} has {sum(sizes)} "
            f"bytes instead of {token['bytes']}. Something has changed or cut it; restore it from a copy: {parts}"
        )
