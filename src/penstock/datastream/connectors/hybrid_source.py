"""`HybridSource`, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.hybrid import HybridSource, HybridSourceBuilder, SourceFactory, SourceSwitchContext

__all__ = ["HybridSource", "HybridSourceBuilder", "SourceFactory", "SourceSwitchContext"]
