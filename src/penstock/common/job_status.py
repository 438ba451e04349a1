"""`JobStatus`, under PyFlink's module path."""

from __future__ import annotations

from penstock.common.job import JobStatus

__all__ = ["JobStatus"]
