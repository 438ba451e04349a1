"""PyFlink's way to name a format."""

from __future__ import annotations

from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.text import TextLineFormat


class StreamFormat:
    """Makes formats that read record by record."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> FileFormat:
        """Each line is a string."""
        return TextLineFormat(charset_name)
