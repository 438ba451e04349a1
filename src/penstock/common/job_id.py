"""`JobID`, under PyFlink's module path."""

from __future__ import annotations

from penstock.common.job import JobID

__all__ = ["JobID"]
