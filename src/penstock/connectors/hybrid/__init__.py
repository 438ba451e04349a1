"""Sources read one after the other as one: history first, then what is live."""

from penstock.connectors.hybrid.source import HybridSource, HybridSourceBuilder, SourceFactory, SourceSwitchContext

__all__ = ["HybridSource", "HybridSourceBuilder", "SourceFactory", "SourceSwitchContext"]
