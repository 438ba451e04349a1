"""What expressions are to those who must not know them: something computed for many records at once."""

from __future__ import annotations


class ColumnComputation:
    """The base of `penstock.expressions.Expression`."""

    text: str
    """As the program has written it."""
